//! What is asked in `lf.a2a.v1`: an operation and its tenant, both ways.

use prost::Message as _;
use switchboard_proto::v1_0 as wire;

use super::{read, write};
use crate::error::Error;
use crate::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Method,
    Operation, SendConfiguration, SendMessage, Subscribe,
};
use crate::version::ProtocolVersion;
use crate::wire::Request;
use crate::wire::grpc::count::{self, Shape};
use crate::wire::grpc::field::{self, How};
use crate::wire::grpc::{FileBytes, json, parse};
use crate::wire::path::Path;

/// Requests are read strictly.
const HOW: How = How {
    request: true,
    files: FileBytes::Raw,
};

/// Reads the request message of `method`.
pub(in crate::wire::grpc) fn decode(method: Method, bytes: &[u8]) -> Result<Request, Error> {
    let at = Path::ROOT;
    match method {
        Method::Send => send(bytes, Operation::Send),
        Method::Stream => send(bytes, Operation::Stream),
        Method::Get => {
            let get: wire::GetTaskRequest = parse(bytes)?;
            let operation = Operation::Get(GetTask {
                id: field::id(get.id, &at.field("id"))?,
                history_length: field::count(get.history_length, &at.field("historyLength"))?,
            });
            Ok(request(operation, get.tenant))
        }
        Method::List => list(parse(bytes)?),
        Method::Cancel => {
            count::check(Shape::CancelV1, bytes)?;
            let cancel: wire::CancelTaskRequest = parse(bytes)?;
            let metadata = cancel.metadata.as_ref();
            let operation = Operation::Cancel(CancelTask {
                id: field::id(cancel.id, &at.field("id"))?,
                metadata: json::from_optional_struct(metadata, &at.field("metadata"))?,
            });
            Ok(request(operation, cancel.tenant))
        }
        Method::Subscribe => {
            let subscribe: wire::SubscribeToTaskRequest = parse(bytes)?;
            let id = field::id(subscribe.id, &at.field("id"))?;
            let operation = Operation::Subscribe(Subscribe { id });
            Ok(request(operation, subscribe.tenant))
        }
        Method::ExtendedCard => {
            let card: wire::GetExtendedAgentCardRequest = parse(bytes)?;
            Ok(request(Operation::ExtendedCard, card.tenant))
        }
        Method::CreatePushConfig
        | Method::GetPushConfig
        | Method::ListPushConfigs
        | Method::DeletePushConfig => decode_push(method, bytes),
    }
}

fn decode_push(method: Method, bytes: &[u8]) -> Result<Request, Error> {
    let at = Path::ROOT;
    let (at_task, at_id) = (at.field("taskId"), at.field("id"));
    match method {
        Method::GetPushConfig => {
            let get: wire::GetTaskPushNotificationConfigRequest = parse(bytes)?;
            let operation = Operation::GetPushConfig(GetPushConfig {
                task_id: field::id(get.task_id, &at_task)?,
                id: Some(field::id(get.id, &at_id)?),
            });
            Ok(request(operation, get.tenant))
        }
        Method::ListPushConfigs => {
            let list: wire::ListTaskPushNotificationConfigsRequest = parse(bytes)?;
            let size = field::count(Some(list.page_size), &at.field("pageSize"))?;
            let operation = Operation::ListPushConfigs(ListPushConfigs {
                task_id: field::id(list.task_id, &at_task)?,
                page_size: size.filter(|size| *size > 0),
                page_token: field::set(list.page_token),
            });
            Ok(request(operation, list.tenant))
        }
        Method::DeletePushConfig => {
            let delete: wire::DeleteTaskPushNotificationConfigRequest = parse(bytes)?;
            let operation = Operation::DeletePushConfig(DeletePushConfig {
                task_id: field::id(delete.task_id, &at_task)?,
                id: field::id(delete.id, &at_id)?,
            });
            Ok(request(operation, delete.tenant))
        }
        _ => {
            let mut create: wire::TaskPushNotificationConfig = parse(bytes)?;
            let tenant = std::mem::take(&mut create.tenant);
            let config = read::push_config(create, &at)?;
            if config.task_id.is_none() {
                return Err(at_task.missing());
            }
            Ok(request(Operation::CreatePushConfig(config), tenant))
        }
    }
}

fn send(bytes: &[u8], operation: fn(Box<SendMessage>) -> Operation) -> Result<Request, Error> {
    count::check(Shape::Send(ProtocolVersion::V1_0), bytes)?;
    let send: wire::SendMessageRequest = parse(bytes)?;
    let at = Path::ROOT;
    let at_message = at.field("message");
    let message = send.message.ok_or_else(|| at_message.missing())?;
    let configuration = match send.configuration {
        Some(wanted) => configuration(wanted, &at.field("configuration"))?,
        None => SendConfiguration::default(),
    };
    let send_message = SendMessage {
        message: read::message(message, &at_message, HOW)?,
        configuration,
        metadata: json::from_optional_struct(send.metadata.as_ref(), &at.field("metadata"))?,
    };
    Ok(request(operation(Box::new(send_message)), send.tenant))
}

fn configuration(
    wanted: wire::SendMessageConfiguration,
    at: &Path<'_>,
) -> Result<SendConfiguration, Error> {
    let at_push = at.field("taskPushNotificationConfig");
    let push = wanted.task_push_notification_config;
    Ok(SendConfiguration {
        accepted_output_modes: wanted.accepted_output_modes,
        push: push
            .map(|push| read::push_config(push, &at_push))
            .transpose()?,
        history_length: field::count(wanted.history_length, &at.field("historyLength"))?,
        return_immediately: wanted.return_immediately,
    })
}

fn list(list: wire::ListTasksRequest) -> Result<Request, Error> {
    let at = Path::ROOT;
    // A2A 1.0 §3.1.4: 1 to 100, and nothing is clamped.
    let within = |size: i32| {
        let size = u32::try_from(size).ok();
        size.filter(|size| (1..=100).contains(size))
            .ok_or_else(|| at.field("pageSize").error("must be between 1 and 100"))
    };
    let operation = Operation::List(ListTasks {
        context_id: field::optional_id(list.context_id, &at.field("contextId"))?,
        status: field::wanted_state(list.status, &at.field("status"))?,
        page_size: list.page_size.map(within).transpose()?,
        page_token: field::set(list.page_token),
        history_length: field::count(list.history_length, &at.field("historyLength"))?,
        status_timestamp_after: list.status_timestamp_after.as_ref().map(field::time),
        include_artifacts: list.include_artifacts.unwrap_or(false),
    });
    Ok(request(operation, list.tenant))
}

fn request(operation: Operation, tenant: String) -> Request {
    Request {
        operation,
        tenant: field::set(tenant),
    }
}

/// Writes the request message of an operation.
pub(in crate::wire::grpc) fn encode(operation: &Operation, tenant: Option<&str>) -> Vec<u8> {
    let tenant = field::unset(tenant);
    match operation {
        Operation::Send(send) | Operation::Stream(send) => {
            send_request(send, tenant).encode_to_vec()
        }
        Operation::Get(get) => wire::GetTaskRequest {
            tenant,
            id: get.id.as_str().to_owned(),
            history_length: get.history_length.map(field::wire_count),
        }
        .encode_to_vec(),
        Operation::List(list) => list_request(list, tenant).encode_to_vec(),
        Operation::Cancel(cancel) => wire::CancelTaskRequest {
            tenant,
            id: cancel.id.as_str().to_owned(),
            metadata: json::to_optional_struct(cancel.metadata.as_ref()),
        }
        .encode_to_vec(),
        Operation::Subscribe(subscribe) => wire::SubscribeToTaskRequest {
            tenant,
            id: subscribe.id.as_str().to_owned(),
        }
        .encode_to_vec(),
        Operation::CreatePushConfig(config) => {
            write::push_config(config, Some(&tenant)).encode_to_vec()
        }
        Operation::GetPushConfig(get) => wire::GetTaskPushNotificationConfigRequest {
            tenant,
            task_id: get.task_id.as_str().to_owned(),
            id: field::unset_id(get.id.as_ref()),
        }
        .encode_to_vec(),
        Operation::ListPushConfigs(list) => wire::ListTaskPushNotificationConfigsRequest {
            tenant,
            task_id: list.task_id.as_str().to_owned(),
            page_size: list.page_size.map_or(0, field::wire_count),
            page_token: field::unset(list.page_token.as_deref()),
        }
        .encode_to_vec(),
        Operation::DeletePushConfig(delete) => wire::DeleteTaskPushNotificationConfigRequest {
            tenant,
            task_id: delete.task_id.as_str().to_owned(),
            id: delete.id.as_str().to_owned(),
        }
        .encode_to_vec(),
        Operation::ExtendedCard => wire::GetExtendedAgentCardRequest { tenant }.encode_to_vec(),
    }
}

fn send_request(send: &SendMessage, tenant: String) -> wire::SendMessageRequest {
    let wanted = &send.configuration;
    wire::SendMessageRequest {
        tenant,
        message: Some(write::message(&send.message)),
        configuration: Some(wire::SendMessageConfiguration {
            accepted_output_modes: wanted.accepted_output_modes.clone(),
            task_push_notification_config: wanted
                .push
                .as_ref()
                .map(|push| write::push_config(push, None)),
            history_length: wanted.history_length.map(field::wire_count),
            return_immediately: wanted.return_immediately,
        }),
        metadata: json::to_optional_struct(send.metadata.as_ref()),
    }
}

fn list_request(list: &ListTasks, tenant: String) -> wire::ListTasksRequest {
    wire::ListTasksRequest {
        tenant,
        context_id: field::unset_id(list.context_id.as_ref()),
        status: field::state_number(list.status),
        page_size: list.page_size.map(field::wire_count),
        page_token: field::unset(list.page_token.as_deref()),
        history_length: list.history_length.map(field::wire_count),
        status_timestamp_after: list.status_timestamp_after.map(field::wire_time),
        include_artifacts: list.include_artifacts.then_some(true),
    }
}
