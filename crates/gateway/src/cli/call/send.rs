//! `switchboard send`: one message, and what comes of it.

use std::sync::Arc;

use switchboard_client::{CallOptions, Sent, parts};
use switchboard_types::model::{ContextId, Event, Json, MessageId, Object, Task, TaskId};
use switchboard_types::operation::SendMessage;
use switchboard_types::printable;

use super::args::{BelongsFlags, SendArgs};
use super::follow::{Followed, Follower};
use super::task::task_id;
use super::{Connected, End, Failure, print_event_json, print_task, print_text};
use crate::cli::err;

/// How much of the reason of a failure goes into the warning, in bytes. The whole of it is in the output.
const MAX_REASON: usize = 300;

pub(super) async fn run(args: &SendArgs, connected: &Connected) -> Result<End, Failure> {
    let mut asked = parts(args.parts.read(args.message.as_deref())?);
    belongs(&mut asked, &args.belongs)?;
    let options = keyed(&mut asked, args, connected)?;
    asked.configuration.history_length = args.history;
    let streams = connected.client.card().capabilities.streaming == Some(true);
    asked.configuration.return_immediately = args.no_wait || !streams;
    for warning in connected.client.warnings(&asked) {
        err(format_args!("warning: {warning}\n"))?;
    }
    let followed = if asked.configuration.return_immediately {
        let sent = connected
            .ask(connected.client.send_with(asked, &options))
            .await?;
        match sent {
            Sent::Task(task) if !args.no_wait => {
                Follower::new(connected, args.stream, args.history)
                    .poll(task)
                    .await?
            }
            sent => {
                if args.stream {
                    return print_alone(connected, &sent);
                }
                Followed::To(sent)
            }
        }
    } else {
        let events = connected
            .ask(connected.client.stream_with(asked, &options))
            .await?;
        Follower::new(connected, args.stream, args.history)
            .stream(events)
            .await?
    };
    conclude(connected, followed, args.stream)
}

/// Prints how it ended.
pub(super) fn conclude(
    connected: &Connected,
    followed: Followed,
    printed: bool,
) -> Result<End, Failure> {
    match followed {
        Followed::To(sent) => {
            if let Sent::Task(task) = &sent {
                warn(connected, task);
            }
            if !printed {
                print_sent(connected, &sent)?;
            }
            Ok(End::Done)
        }
        Followed::Unheard => Ok(End::Done),
        Followed::Left(task) => {
            if let Some(task) = task {
                let mut page = connected.page();
                page.stands(&task);
                connected.resume(&mut page, &task);
                // The result of a command that was left is no result: programs find it where people do.
                drop(err(format_args!("{}", page.into_text())));
            }
            Ok(End::Interrupted)
        }
    }
}

/// What the agent decided is no failure of the command, but must not be overlooked.
fn warn(connected: &Connected, task: &Task) {
    let state = task.status.state;
    let resume = connected.resume_command(task);
    let told = match state {
        _ if state.is_interrupted() => format!("the task waits: {}", state.name()),
        _ if state.is_terminal() && state.name() != "completed" => {
            let reason = reason(task).map(|reason| format!(": {reason}"));
            let reason = reason.unwrap_or_default();
            format!("the task ended: {}{reason}", state.name())
        }
        _ => return,
    };
    let resume = resume
        .map(|command| format!("\n  hint: {command}"))
        .unwrap_or_default();
    drop(err(format_args!("warning: {told}{resume}\n")));
}

/// Why a task ended as it did, on one line.
fn reason(task: &Task) -> Option<String> {
    let message = task.status.message.as_ref()?;
    let text = message.parts.iter().find_map(|part| part.as_text())?;
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(printable::line(
        &line[..line.floor_char_boundary(MAX_REASON)],
    ))
}

fn print_sent(connected: &Connected, sent: &Sent) -> Result<(), Failure> {
    match sent {
        Sent::Task(task) if connected.json() => print_event_json(&Event::Task(Arc::clone(task))),
        Sent::Task(task) => print_task(connected, task),
        Sent::Message(message) if connected.json() => {
            print_event_json(&Event::Message(Arc::clone(message)))
        }
        Sent::Message(message) => {
            let mut page = connected.page();
            page.message(message);
            print_text(page)
        }
    }
}

/// What came at once, as the only event of a stream.
fn print_alone(connected: &Connected, sent: &Sent) -> Result<End, Failure> {
    print_sent(connected, sent)?;
    Ok(End::Done)
}

/// With an idempotency key, a repetition must be the same message, so the message id is made from the key.
fn keyed(
    asked: &mut SendMessage,
    args: &SendArgs,
    connected: &Connected,
) -> Result<CallOptions, Failure> {
    let mut parameters = connected.settings.service_parameters.iter();
    let header = parameters.find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"));
    let header = header.map(|(_, value)| value.reveal());
    let Some(key) = args.idempotency_key.as_deref().or(header) else {
        return Ok(CallOptions::new());
    };
    let wrong = |error| Failure::usage(&format!("--idempotency-key {error}"), "give another key");
    asked.message.id = MessageId::new(key).map_err(wrong)?;
    Ok(match &args.idempotency_key {
        Some(key) => CallOptions::new().idempotency_key(key),
        None => CallOptions::new(),
    })
}

/// Puts a message where it belongs.
fn belongs(asked: &mut SendMessage, flags: &BelongsFlags) -> Result<(), Failure> {
    let task: Option<TaskId> = flags.task_id.as_deref().map(task_id).transpose()?;
    asked.message.task_id = task;
    asked.message.context_id = flags.context_id.as_deref().map(context_id).transpose()?;
    asked.metadata = flags.metadata.as_deref().map(metadata).transpose()?;
    Ok(())
}

/// A conversation by its id.
pub(super) fn context_id(text: &str) -> Result<ContextId, Failure> {
    ContextId::new(text)
        .map_err(|error| Failure::usage(&format!("--context-id {error}"), "give a context id"))
}

fn metadata(text: &str) -> Result<Object, Failure> {
    let wrong = |why: String| Failure::usage(&format!("--metadata: {why}"), "give a JSON object");
    let json = Json::parse(text).map_err(|error| wrong(error.to_string()))?;
    Object::try_from(json).map_err(|error| wrong(error.to_string()))
}
