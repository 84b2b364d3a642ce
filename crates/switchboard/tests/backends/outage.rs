//! Upstreams that are down when a message is sent: the task waits for them, and says so. For every kind of backend.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::model::{Model, plain, stream};
use switchboard_testkit::openclaw::{Claw, Manner, TOKEN};
use switchboard_testkit::{Server, begin, events, eventually, text_of};
use tokio::time::Instant;

use crate::keeper::Keeper;
use crate::langgraph_server::LangGraph;

/// An address where nobody listens now.
async fn free_address() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// An upstream that is down, of one kind.
enum Upstream {
    A2a(SocketAddr, Option<Keeper>),
    OpenAi(SocketAddr, Option<Model>),
    LangGraph(SocketAddr, Option<LangGraph>),
    OpenClaw(Box<Claw>),
    OpenClawHttp(Box<Claw>),
}

impl Upstream {
    async fn all() -> [Self; 5] {
        let mut claws = Vec::new();
        for http in [false, true] {
            let manner = Manner {
                http,
                ..Manner::default()
            };
            let mut claw = Claw::with(manner).await;
            claw.die().await;
            claws.push(Box::new(claw));
        }
        let (by_http, by_socket) = (claws.pop().unwrap(), claws.pop().unwrap());
        [
            Self::A2a(free_address().await, None),
            Self::OpenAi(free_address().await, None),
            Self::LangGraph(free_address().await, None),
            Self::OpenClaw(by_socket),
            Self::OpenClawHttp(by_http),
        ]
    }

    /// The URL that callers see.
    fn shown(&self) -> String {
        match self {
            Self::A2a(at, _) | Self::LangGraph(at, _) => format!("http://{at}/"),
            Self::OpenAi(at, _) => format!("http://{at}/v1"),
            Self::OpenClaw(claw) | Self::OpenClawHttp(claw) => {
                format!("{}/", claw.url().replace("ws:", "http:"))
            }
        }
    }

    fn backend(&self) -> String {
        match self {
            Self::A2a(at, _) => format!("a2a: {{url: 'http://{at}'}}"),
            Self::OpenAi(at, _) => {
                let retry = "retry: {first: 20ms, longest: 200ms}";
                format!("openai: {{url: 'http://{at}/v1', model: m, {retry}}}")
            }
            Self::LangGraph(at, _) => {
                format!("langgraph: {{url: 'http://{at}', assistant: poet}}")
            }
            Self::OpenClaw(claw) => {
                format!("openclaw: {{url: '{}', token: '${{TOKEN}}'}}", claw.url())
            }
            Self::OpenClawHttp(claw) => {
                format!(
                    "openclaw: {{url: '{}', token: '${{TOKEN}}', transport: http}}",
                    claw.url()
                )
            }
        }
    }

    /// Ours before it. A cancel that is not obeyed at once takes longer than a call may.
    async fn front(&self, timeout: &str) -> Server {
        let yaml = format!(
            "timeouts: {{upstream: {timeout}, cancel_grace: 60s}}\nagents:\n  far: {{{}}}\n  \
             desk: {{script: [{{call: {{agent: far, text: '{{{{text}}}}'}}}}, {{complete: 'far is done'}}]}}\n",
            self.backend()
        );
        Server::serve_with(&yaml, &[], &[("TOKEN", TOKEN)]).await
    }

    async fn comes_up(&mut self) {
        match self {
            Self::A2a(at, up) => *up = Some(Keeper::at(&at.to_string(), false).await),
            Self::OpenAi(at, up) => {
                let listener = tokio::net::TcpListener::bind(*at).await.unwrap();
                *up = Some(Model::on(listener, |_, _| stream(&["hello"])));
            }
            Self::LangGraph(at, up) => *up = Some(LangGraph::at(&at.to_string(), false).await),
            Self::OpenClaw(claw) | Self::OpenClawHttp(claw) => claw.live().await,
        }
    }

    /// How many messages it was sent.
    fn came(&self) -> usize {
        match self {
            Self::A2a(_, up) => up.as_ref().map_or(0, |up| up.came().len()),
            Self::OpenAi(_, up) => up.as_ref().map_or(0, |up| up.asked().len()),
            Self::LangGraph(_, up) => up.as_ref().map_or(0, |up| up.runs().len()),
            Self::OpenClaw(claw) => claw.calls("agent").len(),
            Self::OpenClawHttp(claw) => claw.calls("/v1/chat/completions").len(),
        }
    }
}

/// Begins a task, and waits until it says that its upstream is down.
async fn waits(ours: &Server, upstream: &Upstream) -> Value {
    let task = ours.result("far", "message/send", begin("hello")).await;
    let text = format!("upstream {} is unreachable, retrying", upstream.shown());
    let found = ours.until_says("far", &task["id"], &text).await;
    assert_eq!(found["status"]["state"], "working", "{found}");
    found["id"].clone()
}

/// What all status events of a task say, from its beginning.
pub(crate) async fn said(ours: &Server, task: &Value) -> Vec<String> {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
    let request = ours.http.post(ours.url("/a2a/far"));
    let request = request.header("Last-Event-ID", "0").json(&body);
    let all = events(request).await.results().await;
    let all = all.iter().filter(|event| event["kind"] == "status-update");
    let all = all.map(|event| text_of(&event["status"]["message"]));
    all.filter(|text| !text.is_empty()).collect()
}

#[tokio::test]
async fn a_task_completes_once_its_upstream_is_up_and_is_sent_once() {
    for mut upstream in Upstream::all().await {
        let ours = upstream.front("2m").await;
        let task = waits(&ours, &upstream).await;
        upstream.comes_up().await;
        let done = ours.until("far", &task, &["completed", "failed"]).await;
        assert_eq!(done["status"]["state"], "completed", "{done}");
        assert_eq!(upstream.came(), 1, "{}", upstream.shown());
        let said = said(&ours, &task).await;
        let of = |text: &str| said.iter().filter(|said| said.contains(text)).count();
        assert_eq!(
            (of("retrying"), of("is reachable again")),
            (1, 1),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn a_task_fails_when_the_time_is_used_up_and_says_why() {
    for upstream in Upstream::all().await {
        let ours = upstream.front("1s").await;
        let task = ours.result("far", "message/send", begin("hello")).await;
        let failed = ours
            .until("far", &task["id"], &["completed", "failed"])
            .await;
        let text = text_of(&failed["status"]["message"]);
        let why = format!(
            "upstream {} is unreachable: Connection refused",
            upstream.shown()
        );
        assert!(text.starts_with(&why), "{text}");
        assert!(text.contains("; gave up after "), "{text}");
        assert!(
            text.contains(" attempts in 1 s: check that it runs"),
            "{text}"
        );
        assert!(text.contains("raise `timeouts.upstream`"), "{text}");
        warned_once(&ours, &task["id"]).await;
    }
}

/// All warnings of an outage: one of the task when it began and one when it failed, and one of the agent whose card
/// cannot be read. Each names who is concerned and where the upstream is.
pub(crate) async fn warned_once(ours: &Server, task: &Value) {
    eventually("the end of the task", async || {
        ours.logged().contains("task failed")
    })
    .await;
    let logged = ours.logged();
    let lines = logged.lines().map(serde_json::from_str::<Value>);
    let lines = lines.map(|line| line.unwrap());
    let is_warning = |line: &Value| line["level"] == "WARN" || line["level"] == "ERROR";
    let (of_task, others): (Vec<Value>, Vec<Value>) = lines
        .filter(is_warning)
        .partition(|line| line["task"] == *task);
    let messages: Vec<_> = of_task.iter().map(|line| &line["message"]).collect();
    assert_eq!(messages.len(), 2, "{logged}");
    let began = messages[0].as_str().unwrap();
    assert!(began.starts_with("upstream is un"), "{logged}");
    assert_eq!(messages[1], "task failed");
    assert_eq!(of_task[0]["agent"], "far");
    assert!(of_task[0]["url"].is_string(), "{logged}");
    let mut seen: Vec<&Value> = Vec::new();
    for line in &others {
        assert!(line["url"].is_string(), "{line}");
        assert!(!seen.contains(&&line["message"]), "twice: {line}");
        seen.push(&line["message"]);
        let is_card = line["message"].as_str().unwrap().contains("card");
        assert!(!is_card || line["agent"] == "far", "{line}");
    }
}

#[tokio::test]
async fn an_upstream_that_turns_messages_away_is_warned_of_once() {
    let keeper = Keeper::start().await;
    let yaml = format!(
        "timeouts: {{upstream: 2s}}\nagents: {{far: {{a2a: {{url: '{}'}}}}}}",
        keeper.base
    );
    let ours = Server::serve(&yaml).await;
    keeper.is_away(Some(axum::http::StatusCode::TOO_MANY_REQUESTS));
    let task = ours.result("far", "message/send", begin("hello")).await;
    let failed = ours.until("far", &task["id"], &["failed"]).await;
    let text = text_of(&failed["status"]["message"]);
    assert!(text.contains("; gave up after "), "{text}");
    warned_once(&ours, &task["id"]).await;

    let model = Model::open(|_, _| plain(503, "", "no server")).await;
    let retry = "retry: {first: 10ms, longest: 100ms}";
    let yaml = format!(
        "timeouts: {{upstream: 1s}}\nagents: {{far: {{openai: {{url: '{}', model: m, {retry}}}}}}}",
        model.url
    );
    let ours = Server::serve(&yaml).await;
    let task = ours.result("far", "message/send", begin("hello")).await;
    ours.until("far", &task["id"], &["failed"]).await;
    assert!(model.asked().len() > 4);
    warned_once(&ours, &task["id"]).await;
}

#[tokio::test]
async fn a_model_that_is_to_be_asked_once_is_asked_once() {
    for status in [429, 502, 503, 500] {
        let headers = "retry-after: 1\r\n";
        for headers in ["", headers] {
            let model = Model::open(move |_, _| plain(status, headers, "no")).await;
            let yaml = format!(
                "agents: {{far: {{openai: {{url: '{}', model: m, retry: {{attempts: 1}}}}}}}}",
                model.url
            );
            let ours = Server::serve(&yaml).await;
            let task = ours.result("far", "message/send", begin("hello")).await;
            let failed = ours
                .until("far", &task["id"], &["completed", "failed"])
                .await;
            assert_eq!(failed["status"]["state"], "failed", "{failed}");
            assert_eq!(model.asked().len(), 1, "{status} {headers:?}");
        }
    }
}

#[tokio::test]
async fn a_cancel_ends_the_wait_at_once() {
    for mut upstream in Upstream::all().await {
        let ours = upstream.front("2m").await;
        let task = waits(&ours, &upstream).await;
        let canceled = ours
            .result("far", "tasks/cancel", json!({"id": task}))
            .await;
        assert_eq!(canceled["status"]["state"], "canceled", "{canceled}");
        // What comes up later is not sent it.
        upstream.comes_up().await;
        let next = ours.result("far", "message/send", begin("another")).await;
        ours.until("far", &next["id"], &["completed"]).await;
        assert_eq!(upstream.came(), 1, "{}", upstream.shown());
    }
}

#[tokio::test]
async fn a_wait_goes_on_after_a_crash_of_ours_and_is_sent_once() {
    for mut upstream in Upstream::all().await {
        let mut ours = upstream.front("5m").await;
        let task = waits(&ours, &upstream).await;
        ours.kill().await;
        ours.restart().await;
        upstream.comes_up().await;
        let done = ours.until("far", &task, &["completed", "failed"]).await;
        assert_eq!(done["status"]["state"], "completed", "{done}");
        assert_eq!(upstream.came(), 1, "{}", upstream.shown());
        let said = said(&ours, &task).await;
        let reports = said.iter().filter(|said| said.contains("retrying")).count();
        assert_eq!(reports, 1, "{said:?}");
    }
}

#[tokio::test]
async fn a_crash_of_ours_does_not_extend_the_time() {
    let upstream = Upstream::A2a(free_address().await, None);
    let mut ours = upstream.front("9s").await;
    let began = Instant::now();
    let task = waits(&ours, &upstream).await;
    tokio::time::sleep_until(began + Duration::from_secs(6)).await;
    ours.kill().await;
    ours.restart().await;
    let restarted = Instant::now();
    let failed = ours.until("far", &task, &["completed", "failed"]).await;
    assert!(restarted.elapsed() < Duration::from_secs(8));
    let text = text_of(&failed["status"]["message"]);
    assert!(text.contains(" since the last restart in 9 s: "), "{text}");
}

#[tokio::test]
async fn a_delegating_task_waits_for_the_upstream_of_its_delegate() {
    let mut upstream = Upstream::A2a(free_address().await, None);
    let ours = upstream.front("2m").await;
    let task = ours.result("desk", "message/send", begin("hello")).await;
    eventually("a retry", async || {
        ours.logged().contains("upstream is unreachable, retrying")
    })
    .await;
    upstream.comes_up().await;
    let done = ours
        .until("desk", &task["id"], &["completed", "failed"])
        .await;
    assert_eq!(text_of(&done["status"]["message"]), "far is done", "{done}");
    assert_eq!(upstream.came(), 1);
}

#[tokio::test]
async fn an_agent_that_turns_messages_away_is_sent_them_again_also_after_a_crash_of_ours() {
    for crashes in [false, true] {
        let keeper = Keeper::start().await;
        keeper.is_away(Some(axum::http::StatusCode::TOO_MANY_REQUESTS));
        let yaml = format!("agents: {{far: {{a2a: {{url: '{}'}}}}}}", keeper.base);
        let mut ours = Server::serve(&yaml).await;
        let task = ours.result("far", "message/send", begin("hello")).await;
        let text = "is unavailable, retrying for up to 120 s: HTTP 429";
        ours.until_says("far", &task["id"], text).await;
        if crashes {
            ours.kill().await;
        }
        keeper.is_away(None);
        if crashes {
            ours.restart().await;
        }
        let done = ours
            .until("far", &task["id"], &["completed", "failed"])
            .await;
        assert_eq!(done["status"]["state"], "completed", "{done}");
        assert_eq!(keeper.came().len(), 1);
    }
}

#[tokio::test]
async fn a_model_behind_a_proxy_without_a_server_is_waited_for() {
    let model = Model::open(|_, n| match n {
        1..=6 => plain(502, "", "bad gateway"),
        _ => stream(&["hello"]),
    })
    .await;
    let yaml = format!(
        "agents: {{far: {{openai: {{url: '{}?key=s3cr3t', model: m, retry: {{attempts: 2, first: 10ms, longest: 20ms}}}}}}}}",
        model.url
    );
    let ours = Server::serve(&yaml).await;
    let done = ours.result("far", "message/send", begin("hello")).await;
    let done = ours
        .until("far", &done["id"], &["completed", "failed"])
        .await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    let said = said(&ours, &done["id"]).await;
    assert!(said[0].contains("/v1 is unavailable, retrying"), "{said:?}");
    assert!(said.iter().all(|said| !said.contains("s3cr3t")), "{said:?}");
}
