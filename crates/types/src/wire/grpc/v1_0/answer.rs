//! What is answered in `lf.a2a.v1`, both ways.

use std::sync::Arc;

use prost::Message as _;
use switchboard_proto::v1_0 as wire;
use wire::send_message_response::Payload;

use super::{card, read, write};
use crate::error::Error;
use crate::model::{Event, Task};
use crate::operation::{Method, PushConfigPage, Response, TaskPage, TaskView};
use crate::wire::grpc::field::{self, How};
use crate::wire::grpc::{FileBytes, parse, whole};
use crate::wire::path::Path;

/// What an agent says is read leniently.
const HOW: How = How {
    request: false,
    files: FileBytes::Raw,
};

/// Writes an answer.
pub(in crate::wire::grpc) fn encode(response: &Response) -> Vec<u8> {
    let sent = |payload| wire::SendMessageResponse {
        payload: Some(payload),
    };
    match response {
        Response::SentTask(view) => sent(Payload::Task(write::task_view(view))).encode_to_vec(),
        Response::SentMessage(said) => sent(Payload::Message(write::message(said))).encode_to_vec(),
        Response::Task(view) => write::task_view(view).encode_to_vec(),
        Response::Tasks(page) => wire::ListTasksResponse {
            tasks: page.tasks.iter().map(write::task_view).collect(),
            next_page_token: page.next_page_token.clone(),
            page_size: field::wire_count(page.page_size),
            total_size: field::wire_count(page.total_size),
        }
        .encode_to_vec(),
        Response::PushConfig(config) => write::push_config(config, None).encode_to_vec(),
        Response::PushConfigs(page) => {
            let configs = page.configs.iter();
            wire::ListTaskPushNotificationConfigsResponse {
                configs: configs
                    .map(|config| write::push_config(config, None))
                    .collect(),
                next_page_token: page.next_page_token.clone(),
            }
            .encode_to_vec()
        }
        Response::Deleted => Vec::new(),
        Response::Card(card) => card::write(card).encode_to_vec(),
    }
}

/// Writes a stream item.
pub(in crate::wire::grpc) fn encode_event(event: &Event) -> Vec<u8> {
    write::event(event).encode_to_vec()
}

/// Reads a stream item.
pub(in crate::wire::grpc) fn decode_event(bytes: &[u8]) -> Result<Event, Error> {
    read::event(parse(bytes)?, &Path::ROOT, HOW)
}

/// Reads the answer to `method`.
pub(in crate::wire::grpc) fn decode(method: Method, bytes: &[u8]) -> Result<Response, Error> {
    let at = Path::ROOT;
    match method {
        Method::Send | Method::Stream | Method::Subscribe => {
            let sent: wire::SendMessageResponse = parse(bytes)?;
            match sent.payload {
                Some(Payload::Task(task)) => read::task(task, &at.field("task"), HOW)
                    .map(whole)
                    .map(Response::SentTask),
                Some(Payload::Message(said)) => {
                    let said = read::message(said, &at.field("message"), HOW)?;
                    Ok(Response::SentMessage(Arc::new(said)))
                }
                None => Err(at.error("must have exactly one of task and message")),
            }
        }
        Method::Get | Method::Cancel => task(parse(bytes)?, &at).map(Response::Task),
        Method::List => {
            let page: wire::ListTasksResponse = parse(bytes)?;
            Ok(Response::Tasks(TaskPage {
                tasks: field::each(page.tasks, &at.field("tasks"), task)?,
                next_page_token: page.next_page_token,
                page_size: u32::try_from(page.page_size).unwrap_or(0),
                total_size: u64::try_from(page.total_size).unwrap_or(0),
            }))
        }
        Method::CreatePushConfig | Method::GetPushConfig => {
            read::push_config(parse(bytes)?, &at).map(Response::PushConfig)
        }
        Method::ListPushConfigs => {
            let page: wire::ListTaskPushNotificationConfigsResponse = parse(bytes)?;
            Ok(Response::PushConfigs(PushConfigPage {
                configs: field::each(page.configs, &at.field("configs"), read::push_config)?,
                next_page_token: page.next_page_token,
            }))
        }
        Method::DeletePushConfig => Ok(Response::Deleted),
        Method::ExtendedCard => {
            let card = card::read(parse(bytes)?, &at)?;
            Ok(Response::Card(Box::new(card)))
        }
    }
}

fn task(task: wire::Task, at: &Path<'_>) -> Result<TaskView, Error> {
    let task: Task = read::task(task, at, HOW)?;
    Ok(whole(task))
}
