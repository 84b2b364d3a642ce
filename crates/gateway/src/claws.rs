//! OpenClaw gateways: one connection for all agents that stand before the same one, as long as one of them does.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use switchboard_agents::openclaw::{Device, Gateway, OpenClawAgent, Transport};
use switchboard_server::shutdown::Tasks;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, OpenClaw};
use crate::trust;

/// How often it is looked whether someone still needs a gateway.
const LOOK: Duration = Duration::from_secs(5);

/// All gateways that are known.
#[derive(Debug, Default)]
pub(crate) struct Claws {
    known: Arc<Mutex<Known>>,
}

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
    /// Fires when its connection is kept no more; nothing, if it never was.
    over: Option<CancellationToken>,
}

impl One {
    /// Whether agents can still be put behind it.
    fn is_of_use(&self) -> bool {
        let is_over = self
            .over
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled);
        self.gateway.strong_count() > 0 && !is_over
    }
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
        let mut known = self.known.lock();
        known.gateways.retain(One::is_of_use);
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
                    over: None,
                });
                (known.gateways.len() - 1, gateway)
            }
        };
        // Who is asked over HTTP only needs no connection.
        if claw.settings.transport != Transport::Http && known.gateways[at].over.is_none() {
            let over = tasks.stopping().child_token();
            known.gateways[at].over = Some(over.clone());
            self.keep(Arc::clone(&gateway), over, tasks);
        }
        drop(known);
        Ok(OpenClawAgent::new(claw.settings.clone(), gateway))
    }

    /// Keeps the connection of a gateway until nobody needs it any more.
    fn keep(&self, gateway: Arc<Gateway>, over: CancellationToken, tasks: &Tasks) {
        let (known, watched) = (Arc::clone(&self.known), Arc::downgrade(&gateway));
        let watch = over.clone();
        tasks.spawn(async move {
            while !is_over(&known, &watched, &watch) {
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = watch.cancelled() => return,
                }
            }
        });
        tasks.spawn(async move { gateway.keep(&over).await });
    }
}

/// Whether nobody needs the gateway any more. From then on it is given to nobody: who wants it then gets another.
fn is_over(known: &Mutex<Known>, watched: &Weak<Gateway>, over: &CancellationToken) -> bool {
    let _nobody_takes_it = known.lock();
    // One of those who have it is the keeper.
    let is_over = watched.strong_count() <= 1;
    if is_over {
        over.cancel();
    }
    is_over
}

/// Whether two agents share a gateway.
fn is_same(one: &OpenClaw, other: &OpenClaw) -> bool {
    let (one, other) = (&one.place, &other.place);
    one.url == other.url && one.token.reveal() == other.token.reveal() && one.roots == other.roots
}

#[cfg(test)]
mod tests {
    use switchboard_agents::openclaw::{Place, Settings};
    use switchboard_types::model::Secret;

    use super::*;
    use crate::config::{Env, Flags, Source, load};

    #[tokio::test]
    async fn a_gateway_whose_connection_is_kept_no_more_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("switchboard.yaml");
        let yaml = "store: {kind: memory}\nagents: {a: {script: [{complete: x}]}}\n";
        std::fs::write(&file, yaml).unwrap();
        let config = load(&Source::File(file), &Env::default(), &Flags::default());
        let config = config.unwrap_or_else(|problems| panic!("{}", problems.report()));
        let claw = OpenClaw {
            place: Place {
                // Nobody is there.
                url: "ws://127.0.0.1:1".parse().unwrap(),
                token: Secret::new("t"),
                roots: None,
            },
            settings: Settings::new("main"),
            reconnect: None,
        };
        let (claws, tasks) = (Claws::default(), Tasks::default());
        let one = |claws: &Claws| {
            let known = claws.known.lock();
            let over = known.gateways[0].over.clone().unwrap();
            (known.gateways[0].gateway.clone(), over)
        };
        let first = claws.agent(&claw, &config, &tasks).unwrap();
        let (gateway, over) = one(&claws);
        assert!(!is_over(&claws.known, &gateway, &over), "somebody has it");
        let second = claws.agent(&claw, &config, &tasks).unwrap();
        assert!(one(&claws).0.ptr_eq(&gateway), "they share it");
        drop((first, second));
        assert!(is_over(&claws.known, &gateway, &over), "nobody has it");
        // Its keeper still does, and is about to go.
        let kept = gateway.upgrade();
        assert!(kept.is_some());
        let _third = claws.agent(&claw, &config, &tasks).unwrap();
        let (another, goes_on) = one(&claws);
        assert!(!another.ptr_eq(&gateway));
        assert!(!goes_on.is_cancelled());
        drop(kept);
        tasks.stop();
        assert!(tasks.drain(Duration::from_secs(10)).await);
    }
}
