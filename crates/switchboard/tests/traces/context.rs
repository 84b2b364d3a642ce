//! A trace is read, told, kept and passed on (S2 §W3C Trace Context).

use serde_json::{Value, json};
use switchboard_testkit::webhook::Receiver;
use switchboard_testkit::{Events, Server, events, message, say};

use crate::{AGENTS, SPAN, TRACE, look, traceparent};

async fn stream(server: &Server, agent: &str, headers: &[(&str, &str)]) -> Events {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": say("go")});
    let mut request = server
        .http
        .post(server.url(&format!("/a2a/{agent}")))
        .json(&body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    events(request).await
}

fn is_update(event: &&Value) -> bool {
    event["kind"] == "status-update" || event["kind"] == "artifact-update"
}

#[tokio::test]
async fn s2_103_105_events_tell_the_trace_of_the_request_and_our_part_in_it() {
    let server = Server::serve(AGENTS).await;
    let sent = stream(&server, "poet", &[("Traceparent", &traceparent())]).await;
    let events = sent.results().await;
    let updates: Vec<&Value> = events.iter().filter(is_update).collect();
    assert!(updates.len() >= 3, "{events:?}");
    let ours = updates[0]["metadata"]["spanId"].as_str().expect("a span");
    assert_eq!(ours.len(), 16);
    assert_ne!(ours, SPAN, "the caller's span is not ours");
    for update in updates {
        assert_eq!(update["metadata"]["traceId"], TRACE, "{update}");
        assert_eq!(update["metadata"]["spanId"], ours, "{update}");
    }
}

#[tokio::test]
async fn s2_103_every_binding_reads_the_trace() {
    let server = Server::serve(AGENTS).await;
    let body =
        json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let rest = server.http.post(server.url("/a2a/poet/message:stream"));
    let rest = rest
        .header("A2A-Version", "1.0")
        .header("traceparent", traceparent());
    let events = events(rest.json(&body)).await.rest().await;
    let last = &events.last().expect("events").data;
    assert_eq!(last["statusUpdate"]["metadata"]["traceId"], TRACE, "{last}");
    // gRPC, by our own client.
    let address = server.base.trim_start_matches("http://");
    let prefer = switchboard_client::Preference {
        bindings: vec![switchboard_types::model::Binding::Grpc],
        ..switchboard_client::Preference::default()
    };
    let client = switchboard_client::Client::builder()
        .only(prefer)
        .connect(format!("http://{address}/a2a/poet"))
        .await
        .expect("a client");
    let options = switchboard_client::CallOptions::new().traceparent(traceparent());
    let mut heard = client
        .stream_with(switchboard_client::text("x"), &options)
        .await
        .expect("a stream");
    let mut traces = Vec::new();
    while let Some(item) = heard.next().await {
        if let switchboard_types::model::Event::Status(update) = item.expect("an event").event {
            let metadata = update.metadata.expect("metadata");
            traces.push(metadata.get::<String>("traceId").expect("a trace"));
        }
    }
    assert!(!traces.is_empty());
    assert!(traces.iter().all(|trace| trace == TRACE), "{traces:?}");
}

#[tokio::test]
async fn s2_103_what_is_no_traceparent_is_passed_over_and_the_call_is_answered() {
    let server = Server::serve(AGENTS).await;
    let zero = format!("00-{}-{SPAN}-01", "0".repeat(32));
    for headers in [
        &[][..],
        &[("Traceparent", "nonsense")],
        &[("Traceparent", zero.as_str())],
        &[("Tracestate", "a=1")],
    ] {
        let sent = stream(&server, "poet", headers).await;
        assert_eq!(sent.status(), 200);
        let events = sent.results().await;
        let last = events.last().expect("events");
        assert_eq!(last["status"]["state"], "completed", "{headers:?}");
        assert_eq!(last["metadata"].get("traceId"), None, "{headers:?}");
    }
}

#[tokio::test]
async fn s2_106_the_trace_goes_on_in_the_task_of_a_delegated_call() {
    let server = Server::serve(AGENTS).await;
    let sent = stream(&server, "desk", &[("Traceparent", &traceparent())]).await;
    let events = sent.results().await;
    let task = events[0]["id"].as_str().expect("a task");
    let tree = look(&server, &format!("/admin/traces/{task}")).await.body;
    let child = &tree["children"][0];
    assert_eq!(child["agent"], "poet", "{tree}");
    assert_eq!(child["traceId"], TRACE);
    assert_eq!(tree["traceId"], TRACE);
    assert_ne!(child["spanId"], tree["spanId"]);
}

#[tokio::test]
async fn s2_104_webhooks_are_called_within_the_trace_and_with_its_state() {
    let server = Server::serve(AGENTS).await;
    let hook = Receiver::start().await;
    let params = json!({
        "message": message("go"),
        "configuration": {"pushNotificationConfig": {"url": format!("{}/hook", hook.origin)}},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
    let request = server.http.post(server.url("/a2a/poet")).json(&body);
    let request = request.header("traceparent", traceparent());
    let request = request.header("tracestate", "vendor=a,other=b");
    let request = request.header("baggage", "user=u1");
    let answer = switchboard_testkit::answer(request).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    let got = hook.until("/hook", |got| !got.is_empty()).await;
    let headers = &got[0].headers;
    let parent = headers["traceparent"].to_str().expect("a text");
    assert!(parent.starts_with(&format!("00-{TRACE}-")), "{parent}");
    assert!(!parent.contains(SPAN), "{parent}");
    assert_eq!(headers["tracestate"], "vendor=a,other=b");
    assert_eq!(headers["baggage"], "user=u1");
}

#[tokio::test]
async fn s2_103_a_turn_that_goes_on_after_a_crash_goes_on_in_its_trace() {
    let mut server = Server::serve(AGENTS).await;
    let mut sent = stream(&server, "slow", &[("Traceparent", &traceparent())]).await;
    let task = sent.next().await.expect("a task").data["result"]["id"].clone();
    // Its first words are stored: they were told.
    while let Some(event) = sent.next().await {
        if event.data["result"]["status"]["message"]["parts"][0]["text"] == "before" {
            break;
        }
    }
    server.kill().await;
    server.restart().await;
    let follow = json!({"id": task});
    let events = server.stream("slow", "tasks/resubscribe", follow).await;
    let events = events.results().await;
    let last = events.last().expect("events");
    assert_eq!(last["status"]["state"], "completed", "{events:?}");
    assert_eq!(last["metadata"]["traceId"], TRACE, "{last}");
}
