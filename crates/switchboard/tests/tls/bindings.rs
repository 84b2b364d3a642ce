//! Every binding, plain and as a stream, with our own client.

use serde_json::{Value, json};
use switchboard_client::{Client, Tls};
use switchboard_testkit::{events, say};

use crate::world::Safe;

#[tokio::test]
async fn every_binding_is_spoken_by_our_own_commands() {
    let safe = Safe::open("default_agent: counter", "").await;
    for transport in ["jsonrpc", "http+json", "grpc"] {
        for version in ["1.0", "0.3"] {
            let how = [
                "--transport",
                transport,
                "--a2a-version",
                version,
                "-o",
                "json",
            ];
            let sent = safe
                .cli("counter", &[&["send", "hello"], &how[..]].concat())
                .await;
            assert_eq!(sent.code, Some(0), "{transport} {version}: {sent:?}");
            let sent: Value = serde_json::from_str(&sent.out).expect("JSON");
            assert!(sent.to_string().contains("three"), "{sent}");

            let stream = [&["send", "--stream", "hello"], &how[..]].concat();
            let stream = safe.cli("counter", &stream).await;
            assert_eq!(stream.code, Some(0), "{transport} {version}: {stream:?}");
            for word in ["one", "two", "three"] {
                assert!(
                    stream.out.contains(word),
                    "{transport} {version}: {stream:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn cards_say_https_to_those_who_came_by_it() {
    let safe = Safe::open("", "").await;
    let tls = Tls::new().trust(safe.files.authority.pem());
    let base = safe.server.url("/a2a/echo");
    let client = Client::builder().tls(tls).connect(base.as_str()).await;
    let card = client.expect("a client").card();
    let port = safe.server.base.rsplit(':').next().expect("a port");
    for interface in &card.interfaces {
        let url = &interface.url;
        let grpc = format!("https://127.0.0.1:{port}");
        assert!(*url == base || *url == grpc, "{url}");
    }
    let unknown = Client::builder().connect(base.as_str()).await;
    assert!(
        unknown
            .expect_err("nobody vouches")
            .to_string()
            .contains("certificate")
    );
}

#[tokio::test]
async fn a_stream_flows_and_goes_on_where_it_was() {
    let safe = Safe::open("", "").await;
    for client in [safe.client(), safe.client().http1_only()] {
        let client = client.build().expect("a client");
        let call = |method: &str, params: Value| {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            client.post(safe.server.url("/a2a/counter")).json(&body)
        };
        let mut stream = events(call("message/stream", say("go"))).await;
        let first = stream.next().await.expect("an event");
        let task = first.data["result"]["id"].clone();
        drop(stream);
        let again = call("tasks/resubscribe", json!({"id": task}));
        let rest = events(again.header("Last-Event-ID", "1"))
            .await
            .rest()
            .await;
        let last = &rest.last().expect("events").data["result"];
        assert_eq!(last["status"]["state"], "completed", "{rest:?}");
        assert_eq!(rest[0].id, Some(2));
    }
}
