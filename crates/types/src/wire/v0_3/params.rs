//! The parameters of the operations of 0.x, as a caller writes them, in both spellings.
//!
//! `request` and `push` read them. The operations that REST names by path alone have no `ProtoJSON` body; their
//! parameters are those of JSON-RPC in either spelling.

use super::encode::Writer;
use super::push::with_id;
use crate::model::PushConfig;
use crate::operation::{Operation, SendConfiguration, SendMessage};
use crate::version::Dialect;
use crate::wire::path::Path;
use crate::wire::v1_0;
use crate::wire::write::{Members, object, string};

/// Writes the `params` of `operation`.
pub(crate) fn encode(dialect: Dialect, operation: &Operation, out: &mut Vec<u8>) {
    let writer = Writer::new(dialect);
    object(out, |o| match operation {
        Operation::Send(send) => send_members(writer, send, true, o),
        Operation::Stream(send) => send_members(writer, send, false, o),
        Operation::Get(get) => {
            o.str("id", get.id.as_str());
            o.opt_number("historyLength", get.history_length);
        }
        Operation::List(list) => v1_0::params::list_members(list, o),
        Operation::Cancel(cancel) => {
            o.str("id", cancel.id.as_str());
            o.opt_json("metadata", cancel.metadata.as_ref());
        }
        Operation::Subscribe(subscribe) => o.str("id", subscribe.id.as_str()),
        Operation::CreatePushConfig(config) if dialect.files().is_some() => {
            create_members(writer, config, o);
        }
        Operation::CreatePushConfig(config) => writer.push_config_members(config, o),
        Operation::GetPushConfig(get) => {
            o.str("id", get.task_id.as_str());
            let config = get.id.as_ref().map(|id| id.as_str());
            o.opt_str("pushNotificationConfigId", config);
        }
        Operation::ListPushConfigs(list) => o.str("id", list.task_id.as_str()),
        Operation::DeletePushConfig(delete) => {
            o.str("id", delete.task_id.as_str());
            o.str("pushNotificationConfigId", delete.id.as_str());
        }
        Operation::ExtendedCard => {}
    });
}

/// No default is stated for `blocking`, and agents differ: whoever waits says so.
fn send_members(writer: Writer, send: &SendMessage, waits: bool, o: &mut Members<'_>) {
    writer.message(&send.message, o.value("message"));
    if waits || send.configuration != SendConfiguration::default() {
        o.object("configuration", |o| {
            configuration(writer, &send.configuration, o);
        });
    }
    o.opt_json("metadata", send.metadata.as_ref());
}

fn configuration(writer: Writer, configuration: &SendConfiguration, o: &mut Members<'_>) {
    // Required here before 0.2.6, so written even when empty.
    o.array(
        "acceptedOutputModes",
        &configuration.accepted_output_modes,
        |mode, out| string(mode, out),
    );
    o.opt_number("historyLength", configuration.history_length);
    if let Some(push) = &configuration.push {
        o.object(writer.inline_push_config(), |o| {
            writer.bare_push_config(push, o);
        });
    }
    o.bool("blocking", !configuration.return_immediately);
}

/// `CreateTaskPushNotificationConfigRequest`, which must name the config.
fn create_members(writer: Writer, config: &PushConfig, o: &mut Members<'_>) {
    let named = with_id(config.clone(), &Path::ROOT);
    let config = named.as_ref().unwrap_or(config);
    let task = config.task_id.as_ref().map_or("", |id| id.as_str());
    o.str("parent", &format!("tasks/{task}"));
    o.opt_str("configId", config.id.as_ref().map(|id| id.as_str()));
    writer.push_config(config, o.value("config"));
}
