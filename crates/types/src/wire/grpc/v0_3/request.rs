//! What is asked in `a2a.v1`, both ways.
//!
//! Nothing here has presence: `history_length` 0 is unset, and `blocking` false cannot be told from unset. It is taken
//! for false, as the official SDK takes it; callers who wait say so, or send no configuration at all.

use prost::Message as _;
use switchboard_proto::v0_3 as wire;

use super::read;
use super::write::{self, Writer};
use crate::error::Error;
use crate::model::{PushConfig, PushConfigId, TaskId};
use crate::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, Method, Operation,
    SendConfiguration, SendMessage, Subscribe,
};
use crate::version::{FileBytes, ProtocolVersion};
use crate::wire::grpc::count::{self, Shape};
use crate::wire::grpc::field::{self, How};
use crate::wire::grpc::{json, no_such_rpc, parse};
use crate::wire::path::Path;
use crate::wire::v0_3::push;

/// Reads the request message of `method`.
pub(in crate::wire::grpc) fn decode(
    files: FileBytes,
    method: Method,
    bytes: &[u8],
) -> Result<Operation, Error> {
    match method {
        Method::Send => send(files, bytes).map(Operation::Send),
        Method::Stream => send(files, bytes).map(Operation::Stream),
        Method::Get => {
            let get: wire::GetTaskRequest = parse(bytes)?;
            Ok(Operation::Get(GetTask {
                id: task_named(&get.name, "name")?,
                history_length: history_length(get.history_length, &Path::ROOT)?,
            }))
        }
        Method::List => Err(no_such_rpc()),
        Method::Cancel => {
            let cancel: wire::CancelTaskRequest = parse(bytes)?;
            Ok(Operation::Cancel(CancelTask {
                id: task_named(&cancel.name, "name")?,
                metadata: None,
            }))
        }
        Method::Subscribe => {
            let subscribe: wire::TaskSubscriptionRequest = parse(bytes)?;
            let id = task_named(&subscribe.name, "name")?;
            Ok(Operation::Subscribe(Subscribe { id }))
        }
        Method::CreatePushConfig => create(parse(bytes)?).map(Operation::CreatePushConfig),
        Method::GetPushConfig => {
            let get: wire::GetTaskPushNotificationConfigRequest = parse(bytes)?;
            let (task_id, id) = config_named(&get.name)?;
            Ok(Operation::GetPushConfig(GetPushConfig { task_id, id }))
        }
        Method::ListPushConfigs => {
            let list: wire::ListTaskPushNotificationConfigRequest = parse(bytes)?;
            let size = field::count(Some(list.page_size), &Path::ROOT.field("pageSize"))?;
            Ok(Operation::ListPushConfigs(ListPushConfigs {
                task_id: task_named(&list.parent, "parent")?,
                page_size: size.filter(|size| *size > 0),
                page_token: field::set(list.page_token),
            }))
        }
        Method::DeletePushConfig => {
            let delete: wire::DeleteTaskPushNotificationConfigRequest = parse(bytes)?;
            let (task_id, id) = config_named(&delete.name)?;
            let id = id.ok_or_else(|| not_a_config(&Path::ROOT.field("name")))?;
            Ok(Operation::DeletePushConfig(DeletePushConfig {
                task_id,
                id,
            }))
        }
        Method::ExtendedCard => Ok(Operation::ExtendedCard),
    }
}

fn send(files: FileBytes, bytes: &[u8]) -> Result<Box<SendMessage>, Error> {
    count::check(Shape::Send(ProtocolVersion::V0_3), bytes)?;
    let send: wire::SendMessageRequest = parse(bytes)?;
    let how = How {
        request: true,
        files,
    };
    let at = Path::ROOT;
    let at_message = at.field("message");
    let message = send.request.ok_or_else(|| at_message.missing())?;
    let configuration = match send.configuration {
        Some(wanted) => configuration(wanted, &at.field("configuration"))?,
        None => SendConfiguration::default(),
    };
    Ok(Box::new(SendMessage {
        message: read::message(message, &at_message, how)?,
        configuration,
        metadata: json::from_optional_struct(send.metadata.as_ref(), &at.field("metadata"))?,
    }))
}

fn configuration(
    wanted: wire::SendMessageConfiguration,
    at: &Path<'_>,
) -> Result<SendConfiguration, Error> {
    let at_push = at.field("pushNotification");
    let push = wanted
        .push_notification
        .map(|config| push::with_id(read::push_config(config, &at_push)?, &at_push));
    Ok(SendConfiguration {
        accepted_output_modes: wanted.accepted_output_modes,
        push: push.transpose()?,
        history_length: history_length(wanted.history_length, at)?,
        return_immediately: !wanted.blocking,
    })
}

fn create(create: wire::CreateTaskPushNotificationConfigRequest) -> Result<PushConfig, Error> {
    let at = Path::ROOT;
    let at_config = at.field("config");
    let named = create.config.ok_or_else(|| at_config.missing())?;
    let mut config = read::named_config(named, &at_config)?;
    let parent = push::task_of(&create.parent, &at.field("parent"))?;
    config.task_id = parent.or(config.task_id);
    if config.task_id.is_none() {
        return Err(not_a_task(&at.field("parent")));
    }
    if config.id.is_none() {
        config.id = field::optional_id(create.config_id, &at.field("configId"))?;
    }
    push::with_id(config, &at)
}

/// The task of a name such as `tasks/t1`.
fn task_named(name: &str, field: &'static str) -> Result<TaskId, Error> {
    let at = Path::ROOT.field(field);
    push::task_of(name, &at)?.ok_or_else(|| not_a_task(&at))
}

/// The two ids of a name such as `tasks/t1/pushNotificationConfigs/c1`; without the second half the server picks one.
fn config_named(name: &str) -> Result<(TaskId, Option<PushConfigId>), Error> {
    let at = Path::ROOT.field("name");
    let (task, id) = push::split_name(name, "");
    let task = push::task_of(task, &at)?.ok_or_else(|| not_a_config(&at))?;
    Ok((task, field::optional_id(id.to_owned(), &at)?))
}

fn not_a_task(at: &Path<'_>) -> Error {
    at.error("must be tasks/{id}")
}

fn not_a_config(at: &Path<'_>) -> Error {
    at.error("must be tasks/{id}/pushNotificationConfigs/{id}")
}

fn history_length(number: i32, at: &Path<'_>) -> Result<Option<u32>, Error> {
    let length = field::count(Some(number), &at.field("historyLength"))?;
    Ok(length.filter(|length| *length > 0))
}

/// Writes the request message of an operation.
///
/// # Errors
///
/// `UnsupportedOperation` for the one that 0.3 does not have.
pub(in crate::wire::grpc) fn encode(
    files: FileBytes,
    operation: &Operation,
) -> Result<Vec<u8>, Error> {
    let length = |length: Option<u32>| length.map_or(0, field::wire_count);
    let task_name = |id: &TaskId| format!("tasks/{id}");
    Ok(match operation {
        Operation::Send(send) | Operation::Stream(send) => {
            let wanted = &send.configuration;
            wire::SendMessageRequest {
                request: Some(Writer(files).message(&send.message)),
                configuration: Some(wire::SendMessageConfiguration {
                    accepted_output_modes: wanted.accepted_output_modes.clone(),
                    push_notification: wanted.push.as_ref().map(write::push_config),
                    history_length: length(wanted.history_length),
                    blocking: !wanted.return_immediately,
                }),
                metadata: json::to_optional_struct(send.metadata.as_ref()),
            }
            .encode_to_vec()
        }
        Operation::Get(get) => wire::GetTaskRequest {
            name: task_name(&get.id),
            history_length: length(get.history_length),
        }
        .encode_to_vec(),
        Operation::List(_) => return Err(no_such_rpc()),
        Operation::Cancel(cancel) => wire::CancelTaskRequest {
            name: task_name(&cancel.id),
        }
        .encode_to_vec(),
        Operation::Subscribe(subscribe) => wire::TaskSubscriptionRequest {
            name: task_name(&subscribe.id),
        }
        .encode_to_vec(),
        Operation::CreatePushConfig(config) => wire::CreateTaskPushNotificationConfigRequest {
            parent: config.task_id.as_ref().map(task_name).unwrap_or_default(),
            config_id: field::unset_id(config.id.as_ref()),
            config: Some(write::named_config(config)),
        }
        .encode_to_vec(),
        Operation::GetPushConfig(get) => wire::GetTaskPushNotificationConfigRequest {
            name: match &get.id {
                Some(id) => write::config_name(get.task_id.as_str(), id.as_str()),
                None => task_name(&get.task_id),
            },
        }
        .encode_to_vec(),
        Operation::ListPushConfigs(list) => wire::ListTaskPushNotificationConfigRequest {
            parent: task_name(&list.task_id),
            page_size: length(list.page_size),
            page_token: field::unset(list.page_token.as_deref()),
        }
        .encode_to_vec(),
        Operation::DeletePushConfig(delete) => wire::DeleteTaskPushNotificationConfigRequest {
            name: write::config_name(delete.task_id.as_str(), delete.id.as_str()),
        }
        .encode_to_vec(),
        Operation::ExtendedCard => wire::GetAgentCardRequest {}.encode_to_vec(),
    })
}
