//! OpenClaw gateways: one connection for all agents that stand before the same one, as long as one of them does.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use switchboard_agents::openclaw::{Device, Gateway, OpenClawAgent, Transport};
use switchboard_server::shutdown::Tasks;

use crate::config::{Config, OpenClaw};
use crate::trust;

/// How often it is looked whether someone still needs a gateway.
const LOOK: Duration = Duration::from_secs(5);

/// All gateways that are known.
#[derive(Debug, Default)]
pub(crate) struct Claws(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Who we are to all of them, once one is needed.
    device: Option<Arc<Device>>,
    gateways: Vec<One>,
}

#[derive(Debug)]
struct One {
    claw: OpenClaw,
    gateway: Weak<Gateway>,
    /// Its connection is kept.
    kept: bool,
}

impl Claws {
    /// An agent of a gateway. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// If the key of our device cannot be read or made, or the gateway could never be asked.
    pub(crate) fn agent(
        &self,
        claw: &OpenClaw,
        config: &Config,
        tasks: &Tasks,
    ) -> anyhow::Result<OpenClawAgent> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.gateways.retain(|one| one.gateway.strong_count() > 0);
        let same = known
            .gateways
            .iter()
            .position(|one| is_same(&one.claw, claw));
        let same = same.and_then(|at| Some((at, known.gateways[at].gateway.upgrade()?)));
        let (at, gateway) = match same {
            Some(same) => same,
            None => {
                let device = match &known.device {
                    Some(device) => Arc::clone(device),
                    None => Arc::clone(known.device.insert(Arc::new(trust::device(config)?))),
                };
                let gateway = Arc::new(Gateway::new(claw.place.clone(), device)?);
                known.gateways.push(One {
                    claw: claw.clone(),
                    gateway: Arc::downgrade(&gateway),
                    kept: false,
                });
                (known.gateways.len() - 1, gateway)
            }
        };
        // Who is asked over HTTP only needs no connection.
        if claw.settings.transport != Transport::Http && !known.gateways[at].kept {
            known.gateways[at].kept = true;
            keep(Arc::clone(&gateway), tasks);
        }
        drop(known);
        Ok(OpenClawAgent::new(claw.settings.clone(), gateway))
    }
}

/// Keeps the connection of a gateway until nobody needs it any more.
fn keep(gateway: Arc<Gateway>, tasks: &Tasks) {
    let over = tasks.stopping().child_token();
    let (watched, watch) = (Arc::downgrade(&gateway), over.clone());
    tasks.spawn(async move {
        // One of those who have it is the keeper.
        while watched.strong_count() > 1 {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = watch.cancelled() => return,
            }
        }
        watch.cancel();
    });
    tasks.spawn(async move { gateway.keep(&over).await });
}

/// Whether two agents share a gateway.
fn is_same(one: &OpenClaw, other: &OpenClaw) -> bool {
    let (one, other) = (&one.place, &other.place);
    one.url == other.url && one.token.reveal() == other.token.reveal() && one.roots == other.roots
}
