//! Two servers, one behind the other: one trace through both.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_testkit::collector::{Collector, Span};
use switchboard_testkit::{Server, events, say};

use crate::view::trace;
use crate::{SPAN, TRACE, look, traceparent};

async fn server(collector: &Collector, name: &str, yaml: &str) -> Server {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("OTEL_SERVICE_NAME", name),
    ];
    Server::serve_with(yaml, &[], &variables).await
}

/// Whose spans they are, by server, name and kind.
fn sorted(collector: &[Span]) -> BTreeMap<(String, String, u64), Span> {
    let spans = collector.iter().map(|span| {
        let service = span.resource["service.name"].clone();
        ((service, span.name.clone(), span.kind), span.clone())
    });
    spans.collect()
}

#[tokio::test]
async fn one_trace_goes_through_two_servers_and_each_shows_its_part() {
    let collector = Collector::start().await;
    let agents = "
agents:
  desk: { script: [{ call: { agent: poet } }, { complete: '{{call.poet.text}}' }] }
  poet: { script: [{ artifact: { name: poem, text: 'roses' } }, { complete: 'done' }] }
";
    let behind = server(&collector, "behind", agents).await;
    let front = format!(
        "agents: {{ far: {{ a2a: {{ url: '{}/a2a/desk' }} }} }}",
        behind.base
    );
    let front = server(&collector, "front", &front).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": say("go")});
    let request = front.http.post(front.url("/a2a/far")).json(&body);
    let request = request
        .header("traceparent", traceparent())
        .header("tracestate", "vendor=a")
        .header("baggage", "user=u1,tier=gold");
    let told = events(request).await.results().await;
    let last = told.last().expect("events");
    assert_eq!(last["status"]["state"], "completed", "{last}");
    let updates = told.iter().filter(|event| {
        event
            .get("status")
            .is_none_or(|_| event["kind"] == "status-update")
    });
    for update in updates.filter(|event| event["kind"] != "task") {
        assert_eq!(update["metadata"]["traceId"], TRACE, "{update}");
    }

    let spans = collector.wait(7).await;
    let spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
    assert_eq!(spans.len(), 7, "{spans:#?}");
    let by_name = sorted(&spans);
    let span = |service: &str, name: &str, kind: u64| {
        let key = (service.to_owned(), name.to_owned(), kind);
        by_name
            .get(&key)
            .unwrap_or_else(|| panic!("no {key:?} in {spans:#?}"))
    };
    // From the caller down to the last agent.
    let line = [
        span("front", "SendStreamingMessage", 2),
        span("front", "invoke_agent far", 1),
        span("front", "SendStreamingMessage", 3),
        span("behind", "SendStreamingMessage", 2),
        span("behind", "invoke_agent desk", 1),
        span("behind", "SendStreamingMessage", 3),
        span("behind", "invoke_agent poet", 1),
    ];
    let mut above = SPAN;
    for span in line {
        assert_eq!((&*span.trace, &*span.parent), (TRACE, above), "{span:#?}");
        assert_eq!(span.status, 0, "{span:#?}");
        above = &span.id;
    }
    let port = behind.base.rsplit(':').next().expect("a port");
    for (name, value) in [
        ("a2a.method.name", "SendStreamingMessage"),
        ("a2a.protocol.version", "1.0"),
        ("gen_ai.agent.name", "desk"),
        ("server.address", "127.0.0.1"),
        ("server.port", port),
    ] {
        let told = line[2].attributes.get(name).map(String::as_str);
        assert_eq!(told, Some(value), "{name} of {:#?}", line[2]);
    }

    // Each server shows its own tasks, the first one where it goes on.
    let ours = told[0]["id"].as_str().expect("an id");
    let tree = look(&front, &format!("/admin/traces/{ours}")).await.body;
    let child = &tree["children"][0];
    let theirs = child["taskId"].as_str().expect("an id");
    assert_eq!(line[2].attributes["a2a.task.id"], theirs);
    assert_eq!(child["agent"], "desk", "{tree}");
    assert_eq!(child["name"], "delegation:far->desk");
    let url = child["url"].as_str().expect("an address");
    assert!(url.starts_with(&behind.base), "{url}");
    assert_eq!(tree["traceId"], TRACE);
    let (ok, text, _) = trace(&front, &[ours]);
    let expected = format!("└─ desk  unknown  {theirs}  at {url}\n");
    assert!(ok && text.contains(&expected), "{text}");
    assert!(text.starts_with(&format!("trace {TRACE}\n")), "{text}");
    let tree = look(&behind, &format!("/admin/traces/{theirs}")).await.body;
    assert_eq!(tree["traceId"], TRACE, "{tree}");
    assert_eq!(tree["children"][0]["agent"], "poet", "{tree}");
    let (ok, text, _) = trace(&behind, &[theirs]);
    assert!(
        ok && text.starts_with(&format!("trace {TRACE}\ndesk  completed  ")),
        "{text}"
    );
    // It is told to operators only.
    let told = Value::from(told).to_string();
    assert!(!told.contains(theirs) && !told.contains(port), "{told}");

    let numbers = look(&front, "/metrics").await.body;
    let line = r#"a2a_client_operation_duration_seconds_count{agent="far",operation="SendStreamingMessage"} 1"#;
    let numbers = numbers.as_str().expect("text");
    assert!(numbers.lines().any(|known| known == line), "{numbers}");
}

#[tokio::test]
async fn what_a_server_behind_refuses_is_a_failed_span_here() {
    let collector = Collector::start().await;
    let yaml =
        "{ timeouts: { upstream: 0s }, agents: { far: { a2a: { url: 'http://127.0.0.1:9/' } } } }";
    let front = server(&collector, "front", yaml).await;
    let task = front.result("far", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let spans = collector.wait(3).await;
    let asked = spans
        .iter()
        .map(|(_, span)| span)
        .find(|span| span.kind == 3);
    let asked = asked.expect("a span");
    assert_eq!(asked.status, 2, "{asked:#?}");
    assert_eq!(asked.attributes["error.type"], "unavailable");
}
