//! `GET /admin/health`: whether the server is well, what stands behind its agents, and what became of the configuration that
//! was read last.

use http::StatusCode;
use serde_json::{Value, json};
use switchboard_server::backend::{Drift, Health, HealthState};

use super::{Answer, Shows, in_json, upstreams};
use crate::reload::{Outcome, Reload};

pub(super) async fn answer(shows: &Shows) -> Answer {
    let checked = upstreams::all(&shows.table).await;
    let down = checked.iter().any(|(_, h)| h.state == HealthState::Down);
    let agents = checked.iter().map(|(name, health)| {
        let mut told = json!({ "name": &**name });
        tell(&mut told, health);
        if let Some(drift) = shows.table.drift(name) {
            told["drift"] = changed(&drift);
        }
        told
    });
    let agents: Vec<Value> = agents.collect();
    let refused = shows.log.store_status().error();
    let mut body = json!({
        "status": if down || refused.is_some() { "degraded" } else { "ok" },
        "version": env!("CARGO_PKG_VERSION"),
        "agents": agents,
    });
    if let Some(error) = refused {
        body["store"] = json!({ "state": "refusing", "detail": error });
    }
    if let Some(reload) = shows.reloads.latest() {
        body["configuration"] = read(&reload);
    }
    in_json(StatusCode::OK, &body)
}

fn tell(told: &mut Value, health: &Health) {
    told["state"] = match health.state {
        HealthState::Up => "up",
        HealthState::Down => "down",
        HealthState::Unknown => "unknown",
    }
    .into();
    told["detail"] = health.detail.as_str().into();
    told["checked"] = health.checked.to_string().into();
}

fn changed(drift: &Drift) -> Value {
    let changes: Vec<String> = drift.changes.iter().map(ToString::to_string).collect();
    json!({ "noticed": drift.noticed.to_string(), "changes": changes })
}

fn read(reload: &Reload) -> Value {
    let mut told = json!({
        "file": reload.file.display().to_string(),
        "read": reload.at.to_string(),
    });
    match &reload.outcome {
        Outcome::Taken {
            changes,
            needs_restart,
        } => {
            let names = |names: &[std::sync::Arc<str>]| -> Value {
                names.iter().map(|name| Value::from(&**name)).collect()
            };
            told["taken"] = true.into();
            told["added"] = names(&changes.added);
            told["changed"] = names(&changes.changed);
            told["removed"] = names(&changes.removed);
            told["needsRestart"] = needs_restart.as_slice().into();
        }
        Outcome::Refused(why) => {
            told["taken"] = false.into();
            told["problems"] = why.as_str().into();
        }
    }
    told
}
