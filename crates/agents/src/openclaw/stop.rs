//! Stopping a run.

use std::time::Duration;

use serde_json::json;
use switchboard_server::agent::AgentError;
use tokio::time::{Instant, sleep};

use super::checkpoint::Checkpoint;
use super::events::successor;
use super::line::{Line, Unanswered};
use super::recover::{REVIVAL, history};

/// How soon a run that was not there yet is stopped again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long one may take to be there that the gateway was asked for.
const BEGINS: Duration = Duration::from_secs(15);

/// Stops a run, or the one by which a gateway that was started anew goes on with it.
///
/// # Errors
///
/// If the gateway has not heard of it, or can stop none.
pub(super) async fn stop(
    line: &Line,
    session: &str,
    run: &str,
    checkpoint: &Checkpoint,
) -> Result<(), AgentError> {
    let is_anew = checkpoint.boot != line.hello.boot;
    let patience = match (is_anew, checkpoint.known) {
        (true, _) => REVIVAL,
        (false, true) => Duration::ZERO,
        // It may be about to begin.
        (false, false) => BEGINS,
    };
    let mut run = run.to_owned();
    let mut by = Instant::now() + patience;
    while abort(line, session, &run).await? == Aborted::Nothing {
        if is_anew && let Some(next) = revived(line, session, &run).await? {
            // That one may have been cut off, too.
            run = next;
            by = Instant::now() + patience;
            continue;
        }
        if Instant::now() >= by {
            break;
        }
        sleep(AGAIN).await;
    }
    Ok(())
}

/// What a gateway did when it was to stop a run.
#[derive(PartialEq, Eq)]
enum Aborted {
    /// It stopped it.
    Heard,
    /// It knows no such run that goes on.
    Nothing,
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
async fn abort(line: &Line, session: &str, run: &str) -> Result<Aborted, AgentError> {
    let newer = json!({ "key": session, "runId": run });
    let older = json!({ "sessionKey": session, "runId": run });
    for (method, params) in [("sessions.abort", newer), ("chat.abort", older)] {
        match line.call(method, params).await {
            Ok(answer) if answer["status"] == "no-active-run" || answer["aborted"] == false => {
                return Ok(Aborted::Nothing);
            }
            Ok(_) => return Ok(Aborted::Heard),
            Err(Unanswered::No(fault)) if fault.code != "UNAVAILABLE" => {}
            Err(why) => return Err(unheard(&why)),
        }
    }
    let reason = "the OpenClaw gateway cannot stop runs: it may be too old for that";
    tracing::warn!(run, reason, "OpenClaw run not stopped");
    Err(AgentError::over().cancel_refused(reason))
}

fn unheard(why: &Unanswered) -> AgentError {
    let why = match why {
        // What it says then is its own.
        Unanswered::No(_) => "its gateway is not ready".to_owned(),
        why => why.to_string(),
    };
    AgentError::unavailable(format!("a run of OpenClaw was not stopped: {why}")).release_pending()
}
