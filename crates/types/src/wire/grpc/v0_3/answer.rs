//! What is answered in `a2a.v1`, both ways.

use std::sync::Arc;

use prost::Message as _;
use switchboard_proto::v0_3 as wire;
use wire::send_message_response::Payload;

use super::write::{self, Writer};
use super::{card, read};
use crate::error::Error;
use crate::model::Event;
use crate::operation::{Method, PushConfigPage, Response};
use crate::version::FileBytes;
use crate::wire::grpc::field::{self, How};
use crate::wire::grpc::{no_such_rpc, parse, whole};
use crate::wire::path::Path;

/// What an agent says is read leniently.
fn leniently(files: FileBytes) -> How {
    How {
        request: false,
        files,
    }
}

/// Writes an answer. A page of tasks has no message in 0.3, and nobody can ask for one.
pub(in crate::wire::grpc) fn encode(files: FileBytes, response: &Response) -> Vec<u8> {
    let writer = Writer(files);
    let sent = |payload| wire::SendMessageResponse {
        payload: Some(payload),
    };
    match response {
        Response::SentTask(view) => sent(Payload::Task(writer.task_view(view))).encode_to_vec(),
        Response::SentMessage(said) => sent(Payload::Msg(writer.message(said))).encode_to_vec(),
        Response::Task(view) => writer.task_view(view).encode_to_vec(),
        Response::PushConfig(config) => write::named_config(config).encode_to_vec(),
        Response::PushConfigs(page) => wire::ListTaskPushNotificationConfigResponse {
            configs: page.configs.iter().map(write::named_config).collect(),
            next_page_token: page.next_page_token.clone(),
        }
        .encode_to_vec(),
        Response::Card(card) => card::write(card).encode_to_vec(),
        Response::Deleted | Response::Tasks(_) => Vec::new(),
    }
}

/// Writes a stream item.
pub(in crate::wire::grpc) fn encode_event(files: FileBytes, event: &Event, last: bool) -> Vec<u8> {
    Writer(files).event(event, last).encode_to_vec()
}

/// Reads a stream item.
pub(in crate::wire::grpc) fn decode_event(files: FileBytes, bytes: &[u8]) -> Result<Event, Error> {
    read::event(parse(bytes)?, &Path::ROOT, leniently(files))
}

/// Whether a stream item is the last one of its stream.
pub(in crate::wire::grpc) fn says_final(bytes: &[u8]) -> bool {
    let item: Result<wire::StreamResponse, Error> = parse(bytes);
    match item.ok().and_then(|item| item.payload) {
        Some(wire::stream_response::Payload::StatusUpdate(update)) => update.r#final,
        _ => false,
    }
}

/// Reads the answer to `method`.
pub(in crate::wire::grpc) fn decode(
    files: FileBytes,
    method: Method,
    bytes: &[u8],
) -> Result<Response, Error> {
    let (at, how) = (Path::ROOT, leniently(files));
    match method {
        Method::Send | Method::Stream | Method::Subscribe => {
            let sent: wire::SendMessageResponse = parse(bytes)?;
            match sent.payload {
                Some(Payload::Task(task)) => {
                    let task = read::task(task, &at.field("task"), how)?;
                    Ok(Response::SentTask(whole(task)))
                }
                Some(Payload::Msg(said)) => {
                    let said = read::message(said, &at.field("message"), how)?;
                    Ok(Response::SentMessage(Arc::new(said)))
                }
                None => Err(at.error("must have exactly one of task and message")),
            }
        }
        Method::Get | Method::Cancel => {
            let task = read::task(parse(bytes)?, &at, how)?;
            Ok(Response::Task(whole(task)))
        }
        Method::List => Err(no_such_rpc()),
        Method::CreatePushConfig | Method::GetPushConfig => {
            read::named_config(parse(bytes)?, &at).map(Response::PushConfig)
        }
        Method::ListPushConfigs => {
            let page: wire::ListTaskPushNotificationConfigResponse = parse(bytes)?;
            Ok(Response::PushConfigs(PushConfigPage {
                configs: field::each(page.configs, &at.field("configs"), read::named_config)?,
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
