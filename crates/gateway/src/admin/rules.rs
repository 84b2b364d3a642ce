//! `/admin/rules`: rules by which messages go to other agents, those of the file and those that are stored here.

use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use switchboard_server::directory::Directory as _;
use switchboard_server::store;
use switchboard_server::store::access::RuleRecord;

use super::{Answer, Shows, in_json, wrong};
use crate::route::rules::stored::NotStored;
use crate::route::rules::{Action, Route};

/// The longest rule.
const LONGEST: usize = 64 << 10;

pub(super) async fn answer(
    shows: &Shows,
    method: &Method,
    below: &[&str],
    body: Incoming,
) -> Answer {
    let done = match (below, method) {
        ([], &Method::GET) => list(shows).await,
        ([], &Method::POST) => put(shows, None, body).await,
        ([id], &Method::GET) => one(shows, id).await,
        ([id], &Method::PUT) => put(shows, Some(id), body).await,
        ([id], &Method::DELETE) => delete(shows, id).await,
        ([], _) => Ok(only("GET, POST")),
        ([_], _) => Ok(only("GET, PUT, DELETE")),
        _ => Ok(no_such_rule()),
    };
    done.unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read or store routing rules");
        wrong(
            StatusCode::SERVICE_UNAVAILABLE,
            "rules cannot be read or stored now: try again later",
        )
    })
}

async fn list(shows: &Shows) -> Result<Answer, store::Error> {
    let mut rules = Vec::new();
    for listing in shows.table.list() {
        for rule in shows.stored.written(&listing.name) {
            rules.push(written(&listing.name, &rule));
        }
    }
    rules.sort_by_key(|rule| rule["agent"].as_str().map(str::to_owned));
    rules.extend(shows.stored.all().await?.iter().map(told));
    Ok(in_json(StatusCode::OK, &json!({ "rules": rules })))
}

async fn one(shows: &Shows, id: &str) -> Result<Answer, store::Error> {
    let rules = shows.stored.all().await?;
    let rule = rules.iter().find(|rule| rule.id == id);
    Ok(rule.map_or_else(no_such_rule, |rule| in_json(StatusCode::OK, &told(rule))))
}

/// A new rule, or another one in place of `before`.
async fn put(shows: &Shows, before: Option<&str>, body: Incoming) -> Result<Answer, store::Error> {
    let (agent, rule) = match read(shows, body).await {
        Ok(read) => read,
        Err(refused) => return Ok(*refused),
    };
    match shows.stored.put(before, &agent, Value::Object(rule)).await {
        Ok(record) => {
            let status = match before {
                None => StatusCode::CREATED,
                Some(_) => StatusCode::OK,
            };
            Ok(in_json(status, &told(&record)))
        }
        Err(NotStored::Store(error)) => Err(error),
        Err(NotStored::Gone) => Ok(no_such_rule()),
        Err(NotStored::Wrong(why)) => {
            let body = json!({ "error": why.to_string(), "hint": why.hint });
            Ok(in_json(StatusCode::BAD_REQUEST, &body))
        }
    }
}

async fn delete(shows: &Shows, id: &str) -> Result<Answer, store::Error> {
    if !shows.stored.delete(id).await? {
        return Ok(no_such_rule());
    }
    Ok(in_json(StatusCode::OK, &json!({ "deleted": id })))
}

/// Whose rule it is, and what it says.
async fn read(shows: &Shows, body: Incoming) -> Result<(String, Map<String, Value>), Box<Answer>> {
    let bad = |why: &str| Box::new(wrong(StatusCode::BAD_REQUEST, why));
    let body = Limited::new(body, LONGEST).collect().await;
    let body: Bytes = match body {
        Ok(body) => body.to_bytes(),
        Err(_) => return Err(bad("the rule is too large or incomplete")),
    };
    let mut rule: Map<String, Value> = serde_json::from_slice(&body).map_err(|error| {
        bad(&format!(
            "the body must be a rule as a JSON object: {error}"
        ))
    })?;
    let Some(Value::String(agent)) = rule.remove("agent") else {
        return Err(bad(
            "agent: must name the agent whose messages the rule is about",
        ));
    };
    let to = rule.get("to").and_then(Value::as_str);
    for (key, name) in [("agent", Some(agent.as_str())), ("to", to)] {
        if let Some(name) = name
            && shows.table.find(Some(name)).is_none()
        {
            return Err(bad(&format!("{key}: no agent named {name:?}")));
        }
    }
    if to == Some(&agent) {
        return Err(bad("to: the agent hands tasks off to itself"));
    }
    Ok((agent, rule))
}

/// A rule that is stored.
fn told(record: &RuleRecord) -> Value {
    let mut told = json!({
        "id": record.id,
        "agent": record.agent,
        "source": "stored",
        "made": record.made.to_string(),
    });
    if let (Value::Object(told), Value::Object(rule)) = (&mut told, &record.rule) {
        told.extend(rule.clone());
    }
    told
}

/// A rule of the file.
fn written(agent: &str, rule: &Route) -> Value {
    let mut told = json!({
        "agent": agent,
        "source": "file",
        "place": rule.place.to_string(),
        "name": &*rule.name,
        "priority": rule.priority,
        "enabled": rule.enabled,
    });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            told[name] = value;
        }
    };
    add("description", rule.description.as_deref().map(Value::from));
    add("text", rule.text.as_ref().map(|text| text.as_str().into()));
    add("when", rule.when.as_ref().map(|when| when.source().into()));
    let skills = (!rule.skills.is_empty()).then(|| rule.skills.clone().into());
    add("skill", skills);
    match &rule.action {
        Action::To(to) => add("to", Some(Value::from(&**to))),
        Action::Answer(text) => add("answer", Some(text.as_str().into())),
    }
    told
}

fn no_such_rule() -> Answer {
    wrong(StatusCode::NOT_FOUND, "no such stored rule")
}

fn only(methods: &'static str) -> Answer {
    let mut answer = wrong(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("method not allowed: use {methods}"),
    );
    answer
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(methods));
    answer
}
