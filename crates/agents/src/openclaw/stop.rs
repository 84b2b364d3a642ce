//! Stopping a run.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::agent::AgentError;
use tokio::time::sleep;

use super::events::successor;
use super::line::{Line, Unanswered};
use super::note::Note;
use super::recover::{REVIVAL, history};

/// How soon a run that was not there yet is stopped again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long one may take to be there that the gateway was asked for.
const BEGINS: Duration = Duration::from_secs(15);

/// Stops a run, or the one by which a gateway that was started anew goes on with it.
///
/// # Errors
///
/// If the gateway has not heard of it.
pub(super) async fn stop(
    line: &Line,
    session: &str,
    run: &str,
    note: &Note,
) -> Result<(), AgentError> {
    let is_anew = note.boot != line.hello.boot;
    let patience = match (is_anew, note.known) {
        (true, _) => REVIVAL,
        (false, true) => Duration::ZERO,
        // It may be about to begin.
        (false, false) => BEGINS,
    };
    let mut waited = Duration::ZERO;
    loop {
        let aborted = abort(line, session, run).await?;
        if aborted["status"] != "no-active-run" {
            return Ok(());
        }
        if is_anew && let Some(run) = revived(line, session, run).await? {
            return abort(line, session, &run).await.map(drop);
        }
        if waited >= patience {
            return Ok(());
        }
        sleep(AGAIN).await;
        waited += AGAIN;
    }
}

/// The run by which the gateway goes on with that one.
async fn revived(line: &Line, session: &str, run: &str) -> Result<Option<String>, AgentError> {
    match history(line, session).await {
        Ok(history) => Ok(successor(&history, run)),
        Err(Unanswered::No(_)) => Ok(None),
        Err(why) => Err(unheard(&why)),
    }
}

/// Says it, in the way that is known to newer gateways, or to older ones.
async fn abort(line: &Line, session: &str, run: &str) -> Result<Value, AgentError> {
    let newer = json!({ "key": session, "runId": run });
    let older = json!({ "sessionKey": session, "runId": run });
    for (method, params) in [("sessions.abort", newer), ("chat.abort", older)] {
        match line.call(method, params).await {
            Ok(answer) => return Ok(answer),
            Err(Unanswered::No(fault)) if fault.code != "UNAVAILABLE" => {}
            Err(why) => return Err(unheard(&why)),
        }
    }
    tracing::warn!(
        run,
        "OpenClaw did not stop a run: its gateway may be too old for that"
    );
    Ok(Value::Null)
}

fn unheard(why: &Unanswered) -> AgentError {
    AgentError::unavailable(format!("a run of OpenClaw was not stopped: {why}")).untold()
}
