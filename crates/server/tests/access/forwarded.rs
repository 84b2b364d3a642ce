//! Headers that an agent asks for reach it by every binding; others get none.

use hyper::header::HeaderMap;
use serde_json::{Value, json};
use switchboard_proto::{v0_3, v1_0};

use crate::house::{House, open};
use crate::wire::{WAYS, Way, bearer};

impl House {
    /// Sends a message to that agent by one of the ways, with these headers.
    async fn send(&self, way: Way, agent: &str, mut headers: Vec<(&'static str, String)>) {
        let base = format!("/a2a/{agent}");
        let call = |method, message: Value| {
            let params = json!({"message": message});
            json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
        };
        let new = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
        let old = json!({"kind": "message", "messageId": "m", "role": "user",
            "parts": [{"kind": "text", "text": "x"}]});
        if matches!(way, Way::Rpc10 | Way::Rest10) {
            headers.push(("a2a-version", "1.0".to_owned()));
        }
        let answer = match way {
            Way::Rpc10 => {
                let body = call("SendMessage", new);
                self.ask("POST", &base, &headers, body).await
            }
            Way::Rpc03 => {
                let body = call("message/send", old);
                self.ask("POST", &base, &headers, body).await
            }
            Way::Rest10 => {
                let (path, body) = (format!("{base}/message:send"), json!({"message": new}));
                self.ask("POST", &path, &headers, body.to_string()).await
            }
            Way::Rest03 => {
                let (path, body) = (format!("{base}/v1/message:send"), json!({"message": old}));
                self.ask("POST", &path, &headers, body.to_string()).await
            }
            Way::Grpc10 => {
                let part = v1_0::Part {
                    content: Some(v1_0::part::Content::Text("x".to_owned())),
                    ..Default::default()
                };
                let send = v1_0::SendMessageRequest {
                    message: Some(v1_0::Message {
                        message_id: "m".to_owned(),
                        role: v1_0::Role::User.into(),
                        parts: vec![part],
                        ..Default::default()
                    }),
                    ..Default::default()
                };
                let path = "/lf.a2a.v1.A2AService/SendMessage";
                self.rpc_of(path, agent, headers, &send).await
            }
            Way::Grpc03 => {
                let part = v0_3::Part {
                    part: Some(v0_3::part::Part::Text("x".to_owned())),
                    metadata: None,
                };
                let send = v0_3::SendMessageRequest {
                    request: Some(v0_3::Message {
                        message_id: "m".to_owned(),
                        role: v0_3::Role::User.into(),
                        content: vec![part],
                        ..Default::default()
                    }),
                    ..Default::default()
                };
                let path = "/a2a.v1.A2AService/SendMessage";
                self.rpc_of(path, agent, headers, &send).await
            }
        };
        way.expect(&answer, 200, 0, false);
    }
}

#[tokio::test]
async fn an_agent_sees_the_headers_it_asks_for_and_no_others() {
    let house = open(&["porter", "desk"]).await;
    let headers = || {
        let mut headers = bearer("ann");
        for (name, value) in [
            ("x-trace", "one"),
            ("x-trace", "two"),
            ("x-secret", "no"),
            ("cookie", "session=no"),
        ] {
            headers.push((name, value.to_owned()));
        }
        headers
    };
    let mut expected = HeaderMap::new();
    expected.append("authorization", "Bearer ann".parse().unwrap());
    expected.append("x-trace", "one".parse().unwrap());
    expected.append("x-trace", "two".parse().unwrap());
    for way in WAYS {
        house.send(way, "porter", headers()).await;
        house.send(way, "desk", headers()).await;
        let callers = std::mem::take(&mut *house.callers.lock().unwrap());
        let [porter, desk] = &callers[..] else {
            panic!("{way:?}: {callers:?}");
        };
        assert_eq!(porter.forwarded(), Some(&expected), "{way:?}");
        assert_eq!(desk.forwarded(), None, "{way:?}");
        let shown = format!("{callers:?}");
        assert!(!shown.contains("Bearer"), "{shown}");
    }
}
