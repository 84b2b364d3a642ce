//! What is answered, streams apart: from the wire, leniently.
//!
//! Agents mix the shapes of versions, so the versions share this: a task may stand in a `{"task": …}` or alone, a
//! list may be a page or an array. What 1.0 cannot make sense of is read once more as 0.x.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::card::decode_card;
use super::object::{IntoModel, Reading};
use super::path::Path;
use super::read::{self, Int, Obj, Text};
use super::v0_3::push::NamedConfig;
use super::{answered, decode_event, member, v0_3, v1_0};
use crate::error::Error;
use crate::model::{self, Event, PushConfig};
use crate::operation::{Method, PushConfigPage, Response, TaskPage, TaskView};
use crate::version::Dialect;

/// A task in its wrapper.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Wrapped<'a> {
    #[serde(default, borrow)]
    task: Option<&'a RawValue>,
}

/// A page of tasks or of webhooks.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object", bound = "T: Deserialize<'de>")]
struct Page<'a, T> {
    #[serde(default, alias = "tasks", alias = "configs")]
    items: Option<Vec<Obj<T>>>,
    #[serde(default, borrow, rename = "nextPageToken", alias = "next_page_token")]
    next_page_token: Option<Text<'a>>,
    #[serde(default, rename = "pageSize", alias = "page_size")]
    page_size: Option<Int>,
    #[serde(default, borrow, rename = "totalSize", alias = "total_size")]
    total_size: Option<&'a RawValue>,
}

/// Reads the answer to `method`.
pub(super) fn decode(dialect: Dialect, method: Method, json: &str) -> Result<Response, Error> {
    match method {
        Method::Send | Method::Stream | Method::Subscribe => sent(decode_event(dialect, json)?),
        Method::Get | Method::Cancel => task(dialect, json).map(Response::Task),
        Method::List => tasks(dialect, json).map(Response::Tasks),
        Method::CreatePushConfig => {
            let config: NamedConfig<'_> = read::decode(json)?;
            let config = config.into_model(&Path::ROOT, answered(dialect))?;
            Ok(Response::PushConfig(config))
        }
        Method::GetPushConfig => push_config(dialect, json).map(Response::PushConfig),
        Method::ListPushConfigs => push_configs(dialect, json).map(Response::PushConfigs),
        // Empty, null or an object: that there is an answer says it all.
        Method::DeletePushConfig => Ok(Response::Deleted),
        Method::ExtendedCard => {
            decode_card(json.as_bytes()).map(|card| Response::Card(Box::new(card)))
        }
    }
}

fn sent(event: Event) -> Result<Response, Error> {
    match event {
        Event::Task(task) => Ok(Response::SentTask(whole(task))),
        Event::Message(message) => Ok(Response::SentMessage(message)),
        Event::Status(_) | Event::Artifact(_) => {
            Err(Path::ROOT.error("must be a task or a message"))
        }
    }
}

fn whole(task: Arc<model::Task>) -> TaskView {
    TaskView {
        task,
        history_length: None,
        artifacts: true,
    }
}

fn task(dialect: Dialect, json: &str) -> Result<TaskView, Error> {
    let wrapped: Wrapped<'_> = read::decode(json)?;
    let json = wrapped.task.map_or(json, RawValue::get);
    in_either(
        dialect,
        |how| read::decode::<v1_0::object::Task<'_>>(json)?.into_model(&Path::ROOT, how),
        |how| read::decode::<v0_3::object::Task<'_>>(json)?.into_model(&Path::ROOT, how),
    )
    .map(|task| whole(Arc::new(task)))
}

fn tasks(dialect: Dialect, json: &str) -> Result<TaskPage, Error> {
    in_either(
        dialect,
        |how| page::<v1_0::object::Task<'_>>(json)?.tasks(how),
        |how| page::<v0_3::object::Task<'_>>(json)?.tasks(how),
    )
}

/// Reads as the dialect says; what 1.0 cannot read, as 0.x.
fn in_either<T>(
    dialect: Dialect,
    newer: impl FnOnce(Reading) -> Result<T, Error>,
    older: impl FnOnce(Reading) -> Result<T, Error>,
) -> Result<T, Error> {
    match dialect {
        Dialect::V1 => newer(answered(dialect)).or_else(|error| {
            let older = older(answered(Dialect::V0Json));
            older.map_err(|_| error)
        }),
        Dialect::V0Json | Dialect::V0Proto(_) => older(answered(dialect)),
    }
}

/// A page, or an array that is all of it.
fn page<'a, T: Deserialize<'a>>(json: &'a str) -> Result<Page<'a, T>, Error> {
    if !json.trim_start().starts_with('[') {
        return read::decode(json);
    }
    Ok(Page {
        items: Some(read::decode_array(json)?),
        next_page_token: None,
        page_size: None,
        total_size: None,
    })
}

impl<T: IntoModel<Model = model::Task>> Page<'_, T> {
    fn tasks(self, how: Reading) -> Result<TaskPage, Error> {
        let at = Path::ROOT;
        let tasks: Vec<Arc<model::Task>> = member::list(self.items, &at.field("tasks"), how)?;
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        let size = self.page_size.and_then(|size| u32::try_from(size.0).ok());
        Ok(TaskPage {
            tasks: tasks.into_iter().map(whole).collect(),
            next_page_token: member::not_empty(self.next_page_token).unwrap_or_default(),
            page_size: size.unwrap_or(count),
            total_size: self.total_size.and_then(total).unwrap_or(count.into()),
        })
    }
}

/// A number, or a string that holds one: `ProtoJSON` writes large numbers so.
fn total(raw: &RawValue) -> Option<u64> {
    raw.get().trim_matches('"').parse().ok()
}

/// A webhook; of a list, which is what REST answers when none is named, the first.
fn push_config(dialect: Dialect, json: &str) -> Result<PushConfig, Error> {
    let alone = read::decode::<NamedConfig<'_>>(json)
        .and_then(|config| config.into_model(&Path::ROOT, answered(dialect)));
    alone.or_else(|error| {
        let page = push_configs(dialect, json).ok();
        page.and_then(|page| page.configs.into_iter().next())
            .ok_or(error)
    })
}

fn push_configs(dialect: Dialect, json: &str) -> Result<PushConfigPage, Error> {
    let page = page::<NamedConfig<'_>>(json)?;
    let at = Path::ROOT;
    Ok(PushConfigPage {
        configs: member::list(page.items, &at.field("configs"), answered(dialect))?,
        next_page_token: member::not_empty(page.next_page_token).unwrap_or_default(),
    })
}
