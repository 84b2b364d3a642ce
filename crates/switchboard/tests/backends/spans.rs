//! What operators see of what agents ask of what stands behind them: in the view of a trace, and at a collector.

use std::process::Command;

use axum::http::HeaderMap;
use serde_json::{Value, json};
use switchboard_client::{Client, Preference};
use switchboard_testkit::collector::{Collector, Span};
use switchboard_testkit::model::{Model, plain, stream};
use switchboard_testkit::openclaw::{Claw, Manner, TOKEN};
use switchboard_testkit::{Server, answer, events, look, say};
use switchboard_types::model::Binding;

use crate::langgraph_server::LangGraph;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A server whose spans go to a collector.
async fn told_to(collector: &Collector, yaml: &str) -> Server {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("TOKEN", TOKEN),
    ];
    Server::serve_with(yaml, &[], &variables).await
}

/// Says something to an agent, as part of a trace. The task as it ends.
async fn send(ours: &Server, agent: &str, text: &str) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say(text)});
    let request = ours.http.post(ours.url(&format!("/a2a/{agent}")));
    let request = request
        .header("traceparent", format!("00-{TRACE}-{CALLER}-01"))
        .header("tracestate", "vendor=1")
        .header("baggage", "user=u1");
    answer(request.json(&body)).await.body["result"].clone()
}

/// The spans of one call: the call, the turn, and what was asked for, in the order they ended.
async fn spans(collector: &Collector, agent: &str, asked: usize) -> Vec<Span> {
    let spans: Vec<(HeaderMap, Span)> = collector.wait(2 + asked).await;
    let mut spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
    assert_eq!(spans.len(), 2 + asked, "{spans:#?}");
    let name = format!("invoke_agent {agent}");
    let turn = spans
        .iter()
        .find(|s| s.name == name && s.kind == 1)
        .unwrap();
    let (turn, below) = (turn.clone(), spans.iter().filter(|s| s.parent == turn.id));
    let below: Vec<Span> = below.cloned().collect();
    assert_eq!(below.len(), asked, "{spans:#?}");
    spans.retain(|span| span.id != turn.id && span.parent != turn.id);
    let call = &spans[0];
    assert_eq!((&*call.parent, &*call.id), (CALLER, &*turn.parent));
    assert_eq!(call.resource["service.name"], "switchboard");
    for span in &below {
        assert!(span.links.is_empty(), "{span:?}");
        assert_eq!(span.trace, TRACE);
        assert!(turn.began <= span.began && span.ended <= turn.ended);
    }
    below
}

fn has(span: &Span, attributes: &[(&str, &str)]) {
    for (name, value) in attributes {
        let told = span.attributes.get(*name).map(String::as_str);
        assert_eq!(told, Some(*value), "{name} of {span:#?}");
    }
}

/// The parent that a request names must be this span.
fn named_by(traceparent: Option<&str>, span: &Span) {
    let expected = format!("00-{TRACE}-{}-01", span.id);
    assert_eq!(traceparent, Some(&*expected));
}

fn port(url: &str) -> &str {
    let rest = url.rsplit(':').next().unwrap();
    rest.split('/').next().unwrap()
}

#[tokio::test]
async fn a_model_is_asked_in_a_span_of_its_own_each_time() {
    let model = Model::open(|_, nth| match nth {
        1 => plain(503, "", "busy"),
        _ => stream(&["Hel", "lo"]),
    })
    .await;
    let collector = Collector::start().await;
    let ours = told_to(
        &collector,
        &format!(
            "agents: {{chat: {{openai: {{url: '{}', model: test-model, retry: {{first: 10ms}}}}}}}}",
            model.url
        ),
    )
    .await;
    let task = send(&ours, "chat", "hi").await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
    let asked = spans(&collector, "chat", 2).await;
    for span in &asked {
        assert_eq!((&*span.name, span.kind), ("chat test-model", 3));
        let known = [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "test-model"),
            ("server.address", "127.0.0.1"),
            ("server.port", port(&model.url)),
        ];
        has(span, &known);
    }
    assert_eq!((asked[0].status, asked[1].status), (2, 0));
    has(&asked[0], &[("error.type", "503")]);
    let known = [
        ("gen_ai.response.model", "m-1"),
        ("gen_ai.response.finish_reasons", "stop"),
        ("gen_ai.usage.input_tokens", "7"),
        ("gen_ai.usage.output_tokens", "3"),
    ];
    has(&asked[1], &known);
    let requests = model.asked();
    for (request, span) in requests.iter().zip(&asked) {
        named_by(request.header("traceparent"), span);
        // What others wrote is not for vendors.
        assert_eq!(request.header("tracestate"), None);
        assert_eq!(request.header("baggage"), None);
    }
    let numbers = look(&ours, "/metrics").await.body;
    let numbers = numbers.as_str().unwrap();
    let labels = r#"agent="chat",operation="chat",model="test-model""#;
    for line in [
        format!("gen_ai_client_operation_duration_seconds_count{{{labels}}} 2"),
        format!("gen_ai_client_token_usage_sum{{{labels},token_type=\"input\"}} 7"),
        format!("gen_ai_client_token_usage_bucket{{{labels},token_type=\"output\",le=\"4\"}} 1"),
    ] {
        assert!(numbers.lines().any(|l| l == line), "{line}\n{numbers}");
    }
}

#[tokio::test]
async fn calls_to_a_model_are_shown_to_operators_and_never_leave_by_a2a() {
    let model = Model::open(|_, nth| match nth {
        1 => plain(503, "", "busy"),
        _ => stream(&["Hel", "lo"]),
    })
    .await;
    let yaml = format!(
        "interfaces: [jsonrpc, http_json, grpc]\n\
         agents: {{chat: {{openai: {{url: '{}', model: test-model, retry: {{first: 10ms}}}}}}}}",
        model.url
    );
    let ours = Server::serve(&yaml).await;
    let sent = ours.stream("chat", "message/stream", say("hi")).await;
    let mut told = vec![Value::from(sent.results().await)];
    let id = told[0][0]["id"].as_str().unwrap().to_owned();
    let tree = look(&ours, &format!("/admin/traces/{id}")).await.body;
    let internal = tree["internal"].as_array().unwrap();
    assert_eq!(internal.len(), 2, "{tree}");
    let (first, second) = (&internal[0]["value"], &internal[1]["value"]);
    assert_eq!(internal[0]["name"], "internal:llm-call");
    assert_eq!(
        (&first["attempt"], &first["model"]),
        (&1.into(), &"test-model".into())
    );
    let why = first["error"].as_str().unwrap();
    assert!(why.contains("failed with 503"), "{first}");
    assert_eq!(second["attempt"], 2);
    assert_eq!(
        second["usage"],
        json!({"inputTokens": 7, "outputTokens": 3})
    );
    assert!(second["durationMs"].is_u64() && second.get("error").is_none());
    let shown = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["trace", &id, "--data"])
        .arg(ours.data())
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("├─ internal:llm-call  test-model  "),
        "{shown}"
    );
    assert!(shown.contains("  7 tokens in, 3 tokens out"), "{shown}");

    // Nothing of it by any way to read a task.
    told.push(ours.result("chat", "tasks/get", json!({"id": id})).await);
    for (method, params) in [
        ("GetTask", json!({"id": id})),
        (
            "ListTasks",
            json!({"includeArtifacts": true, "historyLength": 9}),
        ),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        told.push(ours.post_v1("/a2a/chat", &body).await.body);
    }
    for path in [
        format!("/a2a/chat/tasks/{id}?A2A-Version=1.0"),
        "/a2a/chat/tasks?A2A-Version=1.0&includeArtifacts=true".to_owned(),
        format!("/a2a/chat/v1/tasks/{id}?A2A-Version=0.3"),
    ] {
        told.push(ours.get(&path).await.body);
    }
    let message = json!({"messageId": "s", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let rest = ours.http.post(ours.url("/a2a/chat/message:stream"));
    let rest = rest
        .header("A2A-Version", "1.0")
        .json(&json!({"message": message}));
    let rest = events(rest).await.rest().await;
    told.extend(rest.into_iter().map(|event| event.data));
    for told in &told {
        let text = told.to_string();
        assert!(text.contains(&id) || text.contains("taskId") || text.contains("\"id\""));
        assert!(
            !text.contains("llm-call") && !text.contains("durationMs"),
            "{text}"
        );
        assert!(
            !text.contains("internal:") && !text.contains("attempt"),
            "{text}"
        );
    }
    let client = Client::builder()
        .only(Preference {
            bindings: vec![Binding::Grpc],
            ..Preference::default()
        })
        .connect(ours.url("/a2a/chat"))
        .await
        .unwrap();
    let mut heard = client.stream(switchboard_client::text("x")).await.unwrap();
    while let Some(item) = heard.next().await {
        let text = format!("{:?}", item.unwrap().event);
        assert!(
            !text.contains("llm-call") && !text.contains("attempt"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_assistant_of_langgraph_is_asked_in_a_span_and_its_run_is_shown() {
    let graph = LangGraph::release(false).await;
    let collector = Collector::start().await;
    let yaml = format!(
        "agents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}}}}}",
        graph.base
    );
    let ours = told_to(&collector, &yaml).await;
    let task = send(&ours, "poet", "hello").await;
    let [span] = &spans(&collector, "poet", 1).await[..] else {
        panic!("one span");
    };
    assert_eq!(
        (&*span.name, span.kind, span.status),
        ("invoke_agent poet", 3, 0)
    );
    let known = [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.provider.name", "langgraph"),
        ("gen_ai.agent.name", "poet"),
        ("server.port", port(&graph.base)),
    ];
    has(span, &known);
    for (path, headers, _) in graph.asked() {
        let told = headers
            .get("traceparent")
            .and_then(|value| value.to_str().ok());
        if path.starts_with("/a2a/") {
            named_by(told, span);
            assert_eq!(headers["baggage"], "user=u1");
        }
    }
    let id = task["id"].as_str().unwrap();
    let tree = look(&ours, &format!("/admin/traces/{id}")).await.body;
    let child = &tree["children"][0];
    assert_eq!(child["name"], "delegation:poet->poet", "{tree}");
    assert_eq!(child["url"], format!("{}/", graph.base));
    assert_eq!(
        span.attributes.get("a2a.task.id").map(String::as_str),
        child["taskId"].as_str()
    );
    assert!(
        !task.to_string().contains(child["taskId"].as_str().unwrap()),
        "{task}"
    );
}

#[tokio::test]
async fn an_agent_of_openclaw_is_asked_in_a_span_by_both_ways() {
    for http in [false, true] {
        let claw = Claw::with(Manner {
            http,
            ..Manner::default()
        })
        .await;
        let collector = Collector::start().await;
        let way = if http { "http" } else { "websocket" };
        let yaml = format!(
            "agents: {{bot: {{openclaw: {{url: '{}', token: '${{TOKEN}}', transport: {way}}}}}}}",
            claw.url()
        );
        let ours = told_to(&collector, &yaml).await;
        let task = send(&ours, "bot", "hello").await;
        assert_eq!(task["status"]["state"], "completed", "{task}");
        let [span] = &spans(&collector, "bot", 1).await[..] else {
            panic!("one span");
        };
        assert_eq!((&*span.name, span.kind), ("invoke_agent main", 3));
        let known = [
            ("gen_ai.provider.name", "openclaw"),
            ("server.address", "127.0.0.1"),
        ];
        has(span, &known);
        if http {
            let asked = &claw.calls("/v1/chat/completions")[0];
            named_by(asked["traceparent"].as_str(), span);
        }
    }
}

#[tokio::test]
async fn a_command_is_run_in_a_span_and_told_of_it() {
    let collector = Collector::start().await;
    let yaml = "agents: {env: {exec: {command: [/bin/sh, -c, 'echo $TRACEPARENT']}}, \
                bad: {exec: {command: [sh, -c, 'exit 3']}}, none: {exec: {command: [./no-such-program]}}}";
    let ours = told_to(&collector, yaml).await;
    let task = send(&ours, "env", "x").await;
    let told = switchboard_testkit::text_of(&task["artifacts"][0]);
    let [span] = &spans(&collector, "env", 1).await[..] else {
        panic!("one span");
    };
    assert_eq!((&*span.name, span.kind, span.status), ("exec sh", 1, 0));
    has(span, &[("process.executable.name", "sh")]);
    named_by(Some(told.trim()), span);
    ours.result("bad", "message/send", say("x")).await;
    let spans = collector.wait(6).await;
    let mut failed = spans.iter().map(|(_, span)| span);
    let failed = failed.rfind(|span| span.name == "exec sh").unwrap();
    assert_eq!(failed.status, 2);
    has(failed, &[("error.type", "failed")]);
    // One that cannot be started fails, too: nobody has canceled it.
    ours.result("none", "message/send", say("x")).await;
    let spans = collector.wait(9).await;
    let mut spans = spans.iter().map(|(_, span)| span);
    let failed = spans.find(|span| span.name == "exec no-such-program");
    let failed = failed.unwrap();
    assert_eq!(failed.status, 2);
    has(failed, &[("error.type", "unavailable")]);
}
