//! How a LangGraph server is asked: its A2A endpoint, and beside it what only its own interface can tell.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Client, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_client::CONTENT_LOG;
use switchboard_server::agent::AgentError;
use switchboard_server::trace::Trace;
use tokio::time::{Instant, timeout};
use url::Url;

use super::events::{Run, State};
use crate::fetch::{self, CONNECT, quoted, without};
use crate::upstream::{Down, root_cause};

/// The longest answer of the server's own interface; the state of a thread is all of its conversation.
const LONGEST: usize = 32 << 20;
/// How long a question of its own interface may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many runs of a thread are looked at.
const RUNS: u32 = 20;
/// How many assistants are asked for at once, and how many there may be.
const PAGE: usize = 100;
const MOST: usize = 10_000;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// Nothing was sent, for this cause.
    #[error("it cannot be reached: {0}")]
    Unreached(String),
    /// It was sent, and nothing came back.
    #[error("the connection was lost")]
    Lost,
    /// It does not take who we are.
    #[error("it rejected the agent's credentials")]
    Unknown,
    /// There is no such thing.
    #[error("not found: {0}")]
    Missing(String),
    /// It said no.
    #[error("it answered with {0}{1}")]
    Refused(u16, String),
    /// What it says cannot be understood.
    #[error("it returned an invalid response")]
    Unreadable,
}

impl Fault {
    /// Whether it may be otherwise a little later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreached(_) | Self::Lost => true,
            Self::Refused(status, _) => *status >= 500 || *status == 429,
            Self::Unknown | Self::Missing(_) | Self::Unreadable => false,
        }
    }

    /// The upstream is down, if that is what it means.
    pub(super) fn down(&self) -> Option<Down> {
        match self {
            Self::Unreached(cause) => Some(Down::unreachable(cause.clone())),
            Self::Lost => Some(Down::unreachable("the connection was lost")),
            Self::Refused(status @ (429 | 502..=504), _) => Some(Down::status(*status, None)),
            Self::Refused(..) | Self::Unknown | Self::Missing(_) | Self::Unreadable => None,
        }
    }

    /// What callers are told.
    pub(super) fn told(&self) -> AgentError {
        match self {
            Self::Unreached(cause) => AgentError::unavailable(format!(
                "the LangGraph server cannot be reached: check that it runs, and that the agent's `url` is right: {cause}"
            )),
            Self::Lost => AgentError::unavailable(
                "the connection to the LangGraph server was lost and could not be re-established in time",
            ),
            Self::Unknown => AgentError::new(
                "the LangGraph server rejected the agent's credentials: set valid ones with `identity`",
            ),
            Self::Missing(said) => AgentError::new(format!(
                "not found on the LangGraph server: check the agent's `url`, and that A2A is not disabled{}",
                behind(said)
            )),
            Self::Refused(status, said) if self.may_pass() => AgentError::unavailable(format!(
                "the LangGraph server failed with {status}: try again later{said}"
            )),
            Self::Refused(status, said) => AgentError::new(format!(
                "the LangGraph server refused the request with {status}{said}"
            )),
            Self::Unreadable => AgentError::new(
                "the LangGraph server returned an invalid response: check the agent's `url`",
            ),
        }
    }
}

fn behind(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

/// An assistant: a graph with its settings, which can be talked to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Assistant {
    /// A UUID.
    #[serde(rename = "assistant_id")]
    pub id: String,
    /// The graph's name.
    #[serde(rename = "graph_id")]
    pub graph: String,
    /// For people.
    #[serde(default)]
    pub name: String,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
    /// How often it was changed.
    #[serde(default)]
    pub version: Option<u64>,
    #[serde(default)]
    pub(super) metadata: Option<Value>,
}

impl Assistant {
    /// Whether the server made it for its graph.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let metadata = self.metadata.as_ref();
        metadata.is_some_and(|m| m["created_by"] == "system")
    }
}

/// A LangGraph server. It is not to be shown: the URL may have a key in it.
#[derive(Clone)]
pub(super) struct Server {
    http: Client,
    base: Url,
    /// What stands in every request: which trace it belongs to.
    trace: HeaderMap,
}

impl Server {
    pub(super) fn new(http: Client, base: Url) -> Self {
        Self {
            http,
            base,
            trace: HeaderMap::new(),
        }
    }

    /// The same server; what it is asked belongs to this trace.
    pub(super) fn traced(&self, trace: Option<&Trace>) -> Self {
        Self {
            trace: trace.into_iter().flat_map(Trace::headers).collect(),
            ..self.clone()
        }
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        // A base without segments is refused when the agent is made.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        for (name, value) in query {
            url.query_pairs_mut().append_pair(name, value);
        }
        url
    }

    /// Sends a request, and gives the answer if it is none of a failure. All requests are made here.
    async fn ask(
        &self,
        shown: &HeaderMap,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Response, Fault> {
        let began = Instant::now();
        let shown_url = fetch::place(url.as_str());
        // Without `Accept`, A2A is refused there.
        let mut request = self
            .http
            .request(method.clone(), url)
            .header(ACCEPT, "application/json, text/event-stream")
            .headers(self.trace.clone())
            .headers(shown.clone());
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let response = request.send().await.map_err(|error| {
            let connecting = error.is_connect();
            let error = error.without_url();
            let chain = fetch::chain(&error);
            tracing::debug!(%method, url = shown_url, error = chain, "upstream request failed");
            match connecting {
                true => Fault::Unreached(root_cause(&error)),
                false => Fault::Lost,
            }
        })?;
        let status = response.status();
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(%method, url = shown_url, status = status.as_u16(), duration_ms, "upstream request");
        if status.is_success() {
            return Ok(response);
        }
        let body = timeout(CONNECT, fetch::whole(response, 64 << 10)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let said = quoted(&without(shown, refusal(&body)));
        tracing::debug!(
            url = shown_url,
            status = status.as_u16(),
            reason = said,
            "LangGraph server refused a request"
        );
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Fault::Unknown,
            StatusCode::NOT_FOUND => Fault::Missing(said),
            status => Fault::Refused(status.as_u16(), behind(&said)),
        })
    }

    async fn json<T: DeserializeOwned>(
        &self,
        shown: &HeaderMap,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<T, Fault> {
        let asked = async {
            let body = body.map(|body| body.to_string().into_bytes());
            let response = self.ask(shown, method, url, body).await?;
            let read = fetch::whole(response, LONGEST).await;
            read.map_err(|unread| match unread {
                fetch::Unread::TooLong => Fault::Unreadable,
                fetch::Unread::CutOff => Fault::Lost,
            })
        };
        let body = timeout(PATIENCE, asked).await.map_err(|_| Fault::Lost)??;
        serde_json::from_slice(&body).map_err(|error| {
            tracing::warn!(%error, "LangGraph server sent an unreadable answer");
            Fault::Unreadable
        })
    }

    /// The A2A endpoint of an assistant.
    pub(super) async fn a2a(
        &self,
        shown: &HeaderMap,
        assistant: &str,
        call: Vec<u8>,
    ) -> Result<Response, Fault> {
        if tracing::enabled!(target: CONTENT_LOG, tracing::Level::DEBUG) {
            tracing::debug!(target: CONTENT_LOG, "A2A Request: {}", indented(shown, &call));
        }
        let url = self.url(&["a2a", assistant], &[]);
        let asked = self.ask(shown, Method::POST, url, Some(call)).await;
        asked.inspect_err(|fault| tracing::debug!("HTTP error invoking agent: {fault}"))
    }

    /// The card that the server makes for an assistant.
    pub(super) async fn card(&self, shown: &HeaderMap, assistant: &str) -> Result<Value, Fault> {
        let path = ["a2a", assistant, ".well-known", "agent-card.json"];
        let url = self.url(&path, &[]);
        self.json(shown, Method::GET, url, None).await
    }

    /// Whether it runs. All releases say so.
    pub(super) async fn is_up(&self, shown: &HeaderMap) -> Result<(), Fault> {
        let url = self.url(&["ok"], &[]);
        self.ask(shown, Method::GET, url, None).await.map(drop)
    }

    /// The release of the server.
    pub(super) async fn release(&self, shown: &HeaderMap) -> Result<String, Fault> {
        let url = self.url(&["info"], &[]);
        let info: Value = self.json(shown, Method::GET, url, None).await?;
        Ok(info["version"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) async fn assistant(&self, shown: &HeaderMap, id: &str) -> Result<Assistant, Fault> {
        let url = self.url(&["assistants", id], &[]);
        self.json(shown, Method::GET, url, None).await
    }

    /// All assistants, or all of a graph.
    pub(super) async fn assistants(
        &self,
        shown: &HeaderMap,
        graph: Option<&str>,
    ) -> Result<Vec<Assistant>, Fault> {
        let mut all: Vec<Assistant> = Vec::new();
        while all.len() < MOST {
            let mut query = json!({"limit": PAGE, "offset": all.len()});
            if let Some(graph) = graph {
                query["graph_id"] = graph.into();
            }
            let url = self.url(&["assistants", "search"], &[]);
            let page = self.json(shown, Method::POST, url, Some(&query)).await;
            let page: Vec<Assistant> = page?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// The latest runs of a thread, newest first; none, if there is no such thread.
    pub(super) async fn runs(&self, shown: &HeaderMap, thread: &str) -> Result<Vec<Run>, Fault> {
        let limit = RUNS.to_string();
        let url = self.url(&["threads", thread, "runs"], &[("limit", &limit)]);
        match self.json(shown, Method::GET, url, None).await {
            Err(Fault::Missing(_)) => Ok(Vec::new()),
            runs => runs,
        }
    }

    pub(super) async fn run(
        &self,
        shown: &HeaderMap,
        thread: &str,
        run: &str,
    ) -> Result<Run, Fault> {
        let url = self.url(&["threads", thread, "runs", run], &[]);
        self.json(shown, Method::GET, url, None).await
    }

    pub(super) async fn state(&self, shown: &HeaderMap, thread: &str) -> Result<State, Fault> {
        let url = self.url(&["threads", thread, "state"], &[]);
        self.json(shown, Method::GET, url, None).await
    }

    /// Brings a thread to its end: what it asks is asked no more.
    pub(super) async fn end(&self, shown: &HeaderMap, thread: &str) -> Result<(), Fault> {
        let url = self.url(&["threads", thread, "state"], &[]);
        let body = json!({"values": null, "as_node": "__end__"});
        let ended: Result<Value, Fault> = self.json(shown, Method::POST, url, Some(&body)).await;
        ended.map(drop)
    }

    /// Answers a question by the server's own interface: releases before 0.7.12 know no other way.
    pub(super) async fn resume(
        &self,
        shown: &HeaderMap,
        thread: &str,
        assistant: &str,
        value: &Value,
    ) -> Result<Run, Fault> {
        let url = self.url(&["threads", thread, "runs"], &[]);
        let body = json!({"assistant_id": assistant, "command": {"resume": value}});
        self.json(shown, Method::POST, url, Some(&body)).await
    }

    /// Stops a run, and waits until it has stopped. One that is over is left as it is.
    pub(super) async fn cancel(
        &self,
        shown: &HeaderMap,
        thread: &str,
        run: &str,
    ) -> Result<(), Fault> {
        let path = ["threads", thread, "runs", run, "cancel"];
        let url = self.url(&path, &[("wait", "true")]);
        let asked = self.ask(shown, Method::POST, url, Some(b"{}".to_vec()));
        match timeout(PATIENCE, asked).await {
            Ok(Ok(_) | Err(Fault::Missing(_))) => Ok(()),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(Fault::Lost),
        }
    }
}

/// What is sent or answered, for a log that is read by people who look for a fault.
pub(super) fn indented(shown: &HeaderMap, json: &[u8]) -> String {
    let value: Value = serde_json::from_slice(json).unwrap_or_default();
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    without(shown, text)
}

/// What a refusal says, in any of its forms.
fn refusal(body: &[u8]) -> String {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = said.get("error").or_else(|| said.get("detail"));
    let error = error.unwrap_or(&Value::Null);
    let text = error.as_str().or_else(|| error["message"].as_str());
    match text {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(body).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_002_the_path_is_put_behind_the_base() {
        for (base, url) in [
            ("http://localhost:2024", "http://localhost:2024/a2a/x%2Fy"),
            ("https://h/deep/", "https://h/deep/a2a/x%2Fy"),
        ] {
            let server = Server::new(fetch::client().unwrap(), base.parse().unwrap());
            assert_eq!(server.url(&["a2a", "x/y"], &[]).as_str(), url);
        }
    }

    #[test]
    fn a_refusal_is_read_in_every_form() {
        for (body, text) in [
            (
                r#"{"error":"Accept header must include application/json"}"#,
                "Accept header must include application/json",
            ),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (
                r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}"#,
                "no",
            ),
            ("Internal Server Error", "Internal Server Error"),
        ] {
            assert_eq!(refusal(body.as_bytes()), text);
        }
    }
}
