//! Spans for a collector, by the standard variables.

use axum::http::HeaderMap;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use switchboard_testkit::collector::{Collector, Span};
use switchboard_testkit::webhook::Receiver;
use switchboard_testkit::{Server, answer, events, eventually, message, say};

use crate::{AGENTS, SPAN, TRACE, admin, traceparent};

async fn server(endpoint: &str, more: &[(&str, &str)]) -> Server {
    let mut variables = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    variables.extend(more);
    Server::serve_with(AGENTS, &[], &variables).await
}

async fn stream(server: &Server, agent: &str, parent: &str) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": say("go")});
    let request = server
        .http
        .post(server.url(&format!("/a2a/{agent}")))
        .json(&body);
    events(request.header("traceparent", parent))
        .await
        .rest()
        .await;
}

fn named<'a>(spans: &'a [(HeaderMap, Span)], name: &str, kind: u64) -> &'a Span {
    let found = spans.iter().map(|(_, span)| span);
    let mut found = found.filter(|span| span.name == name && span.kind == kind);
    let span = found
        .next()
        .unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
    assert!(found.next().is_none(), "{name} twice");
    span
}

#[tokio::test]
async fn s2_106_spans_of_a_delegated_call_are_one_tree_below_the_callers_span() {
    let collector = Collector::start().await;
    let more = [
        ("OTEL_SERVICE_NAME", "line"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret%21"),
    ];
    let server = server(&collector.url, &more).await;
    stream(&server, "desk", &traceparent()).await;
    let spans = collector.wait(4).await;
    assert_eq!(spans.len(), 4, "{spans:#?}");
    let (headers, first) = &spans[0];
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(headers["x-key"], "s3cret!");
    assert_eq!(first.resource["service.name"], "line");
    assert_eq!(first.resource["deployment.environment"], "test");

    let call = named(&spans, "SendStreamingMessage", 2);
    let desk = named(&spans, "invoke_agent desk", 1);
    let asks = named(&spans, "SendStreamingMessage", 3);
    let poet = named(&spans, "invoke_agent poet", 1);
    assert_eq!(call.parent, SPAN);
    assert_eq!(desk.parent, call.id);
    assert_eq!(asks.parent, desk.id);
    assert_eq!(poet.parent, asks.id);
    for (_, span) in &spans {
        assert_eq!(span.trace, TRACE);
        assert!(span.began <= span.ended, "{span:?}");
        assert_eq!(span.status, 0, "{span:?}");
    }
    assert!(call.began <= desk.began && poet.ended <= call.ended);
    for (name, value) in [
        ("a2a.method.name", "SendStreamingMessage"),
        ("a2a.protocol.version", "0.3"),
        ("a2a.message.id", "m-2"),
        ("gen_ai.agent.name", "desk"),
    ] {
        assert_eq!(
            call.attributes.get(name).map(String::as_str),
            Some(value),
            "{name}"
        );
    }
    assert_eq!(desk.attributes["gen_ai.operation.name"], "invoke_agent");
    assert_eq!(desk.attributes["a2a.task.state"], "TASK_STATE_COMPLETED");
    assert_eq!(
        desk.attributes["a2a.task.id"],
        call.attributes["a2a.task.id"]
    );
    assert_eq!(asks.attributes["gen_ai.agent.name"], "poet");
}

#[tokio::test]
async fn what_fails_says_so_and_a_call_without_a_trace_begins_one() {
    let collector = Collector::start().await;
    let server = server(&collector.url, &[]).await;
    server
        .error("desk", "tasks/get", json!({"id": "nothing"}))
        .await;
    let spans = collector.wait(1).await;
    let get = named(&spans, "GetTask", 2);
    assert_eq!((get.status, get.parent.as_str()), (2, ""));
    assert_eq!(get.attributes["error.type"], "TASK_NOT_FOUND");
    assert_eq!(get.attributes["a2a.task.id"], "nothing");
    server.result("failing", "message/send", say("go")).await;
    let spans = collector.wait(3).await;
    assert_eq!(named(&spans, "invoke_agent failing", 1).status, 2);
    let text = answer(server.http.get(format!("{}/metrics", admin(&server))))
        .await
        .body;
    let text = text.as_str().expect("text");
    assert!(
        text.contains("switchboard_spans_total{outcome=\"exported\"} 3"),
        "{text}"
    );
}

#[tokio::test]
async fn whoever_asks_for_a_task_later_is_linked_to_the_call_that_made_it() {
    let collector = Collector::start().await;
    let server = server(&collector.url, &[]).await;
    stream(&server, "poet", &traceparent()).await;
    let spans = collector.wait(2).await;
    let made = named(&spans, "SendStreamingMessage", 2);
    let task = &made.attributes["a2a.task.id"];
    let later = format!("00-{}-{SPAN}-01", "a".repeat(32));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": task}});
    let request = server.http.post(server.url("/a2a/poet")).json(&body);
    answer(request.header("traceparent", later)).await;
    let spans = collector.wait(3).await;
    let asked = named(&spans, "GetTask", 2);
    assert_eq!(asked.trace, "a".repeat(32));
    assert_eq!(asked.links, [(TRACE.to_owned(), made.id.clone())]);
    assert!(made.links.is_empty());
}

#[tokio::test]
async fn a_trace_that_nobody_records_is_carried_on_and_not_told() {
    let collector = Collector::start().await;
    let server = server(&collector.url, &[]).await;
    let hook = Receiver::start().await;
    let params = json!({
        "message": message("go"),
        "configuration": {"pushNotificationConfig": {"url": format!("{}/hook", hook.origin)}},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
    let request = server.http.post(server.url("/a2a/poet")).json(&body);
    let quiet = traceparent().replace("-01", "-00");
    answer(request.header("traceparent", quiet)).await;
    let told = hook.until("/hook", |got| !got.is_empty()).await[0].headers["traceparent"].clone();
    let told = told.to_str().expect("text");
    assert!(
        told.starts_with(&format!("00-{TRACE}-")) && told.ends_with("-00"),
        "{told}"
    );
    // What comes later has come, and this has not.
    stream(&server, "poet", &format!("00-{}-{SPAN}-01", "a".repeat(32))).await;
    let spans = collector.wait(2).await;
    assert!(
        spans.iter().all(|(_, span)| span.trace == "a".repeat(32)),
        "{spans:#?}"
    );
}

#[tokio::test]
async fn the_last_spans_leave_before_the_process_ends() {
    let collector = Collector::start().await;
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "600000"),
    ];
    let server = Server::serve_with(AGENTS, &[], &variables).await;
    stream(&server, "poet", &traceparent()).await;
    assert!(collector.spans().is_empty());
    let pid = i32::try_from(server.pid()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::TERM).expect("a signal");
    let spans = collector.wait(2).await;
    named(&spans, "invoke_agent poet", 1);
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_spans_and_nothing_else() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = format!("http://{}", gone.local_addr().expect("an address"));
    drop(gone);
    let more = [
        ("OTEL_BSP_EXPORT_TIMEOUT", "200"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "4"),
    ];
    let server = server(&address, &more).await;
    for _ in 0..20 {
        let task = server.result("poet", "message/send", say("go")).await;
        assert_eq!(task["status"]["state"], "completed");
    }
    eventually("40 lost spans in the metrics", async || {
        let text = answer(server.http.get(format!("{}/metrics", admin(&server))))
            .await
            .body;
        let lost = |outcome: &str| {
            let name = format!("switchboard_spans_total{{outcome=\"{outcome}\"}} ");
            let mut lines = text.as_str().unwrap_or_default().lines();
            let line = lines.find_map(|line| line.strip_prefix(&name));
            line.and_then(|number| number.parse::<u64>().ok())
                .expect("a number")
        };
        lost("failed") > 0 && lost("failed") + lost("dropped") == 40
    })
    .await;
}
