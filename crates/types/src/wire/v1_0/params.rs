//! The parameters of the eleven operations of 1.0, as a caller writes them.
//!
//! `request` reads them. REST writes some of them into the path and the query instead (`wire::rest`).

use super::encode;
use crate::model::PushConfig;
use crate::operation::{ListTasks, Operation, SendConfiguration, SendMessage};
use crate::wire::write::{Members, object};

/// Writes the `params` of `operation`.
pub(crate) fn encode(operation: &Operation, tenant: Option<&str>, out: &mut Vec<u8>) {
    object(out, |o| {
        o.opt_str("tenant", tenant);
        match operation {
            Operation::Send(send) | Operation::Stream(send) => send_members(send, o),
            Operation::Get(get) => {
                o.str("id", get.id.as_str());
                o.opt_number("historyLength", get.history_length);
            }
            Operation::List(list) => list_members(list, o),
            Operation::Cancel(cancel) => {
                o.str("id", cancel.id.as_str());
                o.opt_json("metadata", cancel.metadata.as_ref());
            }
            Operation::Subscribe(subscribe) => o.str("id", subscribe.id.as_str()),
            Operation::CreatePushConfig(config) => encode::push_config_members(config, o),
            Operation::GetPushConfig(get) => {
                o.str("taskId", get.task_id.as_str());
                o.opt_str("id", get.id.as_ref().map(|id| id.as_str()));
            }
            Operation::ListPushConfigs(list) => {
                o.str("taskId", list.task_id.as_str());
                o.opt_number("pageSize", list.page_size);
                o.opt_str("pageToken", list.page_token.as_deref());
            }
            Operation::DeletePushConfig(delete) => {
                o.str("taskId", delete.task_id.as_str());
                o.str("id", delete.id.as_str());
            }
            Operation::ExtendedCard => {}
        }
    });
}

fn send_members(send: &SendMessage, o: &mut Members<'_>) {
    encode::message(&send.message, o.value("message"));
    if send.configuration != SendConfiguration::default() {
        o.object("configuration", |o| configuration(&send.configuration, o));
    }
    o.opt_json("metadata", send.metadata.as_ref());
}

fn configuration(configuration: &SendConfiguration, o: &mut Members<'_>) {
    o.strings("acceptedOutputModes", &configuration.accepted_output_modes);
    if let Some(push) = &configuration.push {
        // The task is the one of the message, or not there yet: the proto wants none named.
        let push = PushConfig {
            task_id: None,
            ..push.clone()
        };
        encode::push_config(&push, o.value("taskPushNotificationConfig"));
    }
    o.opt_number("historyLength", configuration.history_length);
    if configuration.return_immediately {
        o.bool("returnImmediately", true);
    }
}

/// Also the parameters of 0.x, which has this operation from drafts only.
pub(crate) fn list_members(list: &ListTasks, o: &mut Members<'_>) {
    o.opt_str("contextId", list.context_id.as_ref().map(|id| id.as_str()));
    o.opt_str("status", list.status.map(encode::state_name));
    o.opt_number("pageSize", list.page_size);
    o.opt_str("pageToken", list.page_token.as_deref());
    o.opt_number("historyLength", list.history_length);
    if let Some(time) = list.status_timestamp_after {
        o.time("statusTimestampAfter", time);
    }
    if list.include_artifacts {
        o.bool("includeArtifacts", true);
    }
}
