//! Two gateways whose agents ask each other: no call goes round in a circle, and who asked is told why.

use std::net::SocketAddr;

use serde_json::{Value, json};
use switchboard_testkit::{Server, say, text_of};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::remote::tasks;
use crate::stranger::Stranger;

/// An address that is known before the server that will be there.
pub(crate) struct Socket {
    pub(crate) base: String,
    to: watch::Sender<Option<SocketAddr>>,
    _passing: JoinSet<()>,
}

impl Socket {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (to, there) = watch::channel(None);
        let mut passing = JoinSet::new();
        passing.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut from, _)) = listener.accept().await {
                let mut there = there.clone();
                connections.spawn(async move {
                    let to = there.wait_for(Option::is_some).await.unwrap().unwrap();
                    let mut to = TcpStream::connect(to).await.unwrap();
                    drop(tokio::io::copy_bidirectional(&mut from, &mut to).await);
                });
            }
        });
        Self {
            base,
            to,
            _passing: passing,
        }
    }

    pub(crate) fn leads_to(&self, server: &Server) {
        let address = server.base.strip_prefix("http://").unwrap();
        self.to.send_replace(Some(address.parse().unwrap()));
    }
}

fn said(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

#[tokio::test]
async fn agents_of_two_gateways_that_ask_each_other_are_stopped_with_a_clear_answer() {
    let socket = Socket::open().await;
    let here = Server::serve(&format!(
        "interfaces: [jsonrpc, http_json, grpc]\n\
         agents:\n  desk: {{ script: [{{ call: {{ agent: far }} }}, {{ complete: done }}] }}\n  \
         far: {{ a2a: {{ url: '{0}/a2a/office' }} }}\n  \
         mirror: {{ a2a: {{ url: '{0}/a2a/mirror' }} }}\n",
        socket.base
    ))
    .await;
    let there = Server::serve(&format!(
        "agents:\n  office: {{ script: [{{ call: {{ agent: back }} }}, {{ complete: done }}] }}\n  \
         back: {{ a2a: {{ url: '{0}/a2a/desk', binding: grpc }} }}\n  \
         mirror: {{ a2a: {{ url: '{0}/a2a/mirror' }} }}\n",
        here.base
    ))
    .await;
    socket.leads_to(&there);

    // Each only passes on what it is asked.
    let task = here.result("mirror", "message/send", say("x")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let text = said(&task);
    let why = "delegation loop: mirror → mirror → mirror; answer without calling mirror again";
    assert!(text.contains(why), "{text}");
    assert_eq!(tasks(&here, "mirror").await.len(), 1);
    assert_eq!(tasks(&there, "mirror").await.len(), 1);

    // A way over scripts and agents elsewhere, there and back.
    let task = here.result("desk", "message/send", say("x")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let text = said(&task);
    let why = "delegation loop: desk → far → office → back → desk";
    assert!(text.contains(why), "{text}");
    for (server, agent) in [
        (&here, "desk"),
        (&here, "far"),
        (&there, "office"),
        (&there, "back"),
    ] {
        assert_eq!(tasks(server, agent).await.len(), 1, "{agent}");
    }
}

/// Three gateways: whatever one is asked, it asks the next one. With a rule, or as that is all it is there for.
#[tokio::test]
async fn a_triangle_of_three_gateways_is_stopped_with_a_clear_answer() {
    let gateway = async |next: &str, more: &str| {
        Server::serve(&format!(
            "interfaces: [jsonrpc, http_json, grpc]\n\
             agents:\n  pass: {{ a2a: {{ url: '{next}/a2a/pass', {more} }} }}\n  \
             desk: {{ script: [{{ complete: done }}], routes: [{{ to: next }}] }}\n  \
             next: {{ a2a: {{ url: '{next}/a2a/desk', {more} }} }}\n\
             limits: {{ hops: 9 }}\n"
        ))
        .await
    };
    let socket = Socket::open().await;
    let first = gateway(&socket.base, "binding: jsonrpc").await;
    let third = gateway(&first.base, "binding: grpc").await;
    let second = gateway(&third.base, "version: '0.3'").await;
    socket.leads_to(&second);
    let all = [&first, &second, &third];
    for (agent, way) in [
        ("pass", "pass → pass → pass → pass"),
        ("desk", "desk → next → desk → next → desk → next → desk"),
    ] {
        let task = first.result(agent, "message/send", say("x")).await;
        assert_eq!(task["status"]["state"], "failed", "{task}");
        let text = said(&task);
        let why = format!("delegation loop: {way}");
        assert!(text.contains(&why), "{text}");
        // Each has worked on it once, and none of them still does.
        for (n, server) in all.iter().enumerate() {
            let tasks = tasks(server, agent).await;
            let [task] = tasks.as_slice() else {
                panic!("{agent} of {n}: {tasks:?}");
            };
            assert_eq!(
                task["status"]["state"], "TASK_STATE_FAILED",
                "{agent}: {task}"
            );
        }
    }
}

#[tokio::test]
async fn the_way_goes_along_in_the_message_and_in_a_header() {
    let stranger = Stranger::start().await;
    let yaml = format!(
        "agents: {{plain: {{a2a: {{url: '{}'}}, identity: {{headers: {{x-key: '${{KEY}}'}}}}}}}}",
        stranger.base
    );
    let ours = Server::serve_with(&yaml, &[], &[("KEY", "k")]).await;
    let mut send = say("x");
    send["message"]["metadata"] = json!({"a": 1, "switchboard/hops": ["desk@far"]});
    ours.result("plain", "message/send", send).await;
    let (headers, message) = stranger.asked().remove(0);
    let way = message["metadata"]["switchboard/hops"].as_array().unwrap();
    let way: Vec<&str> = way.iter().map(|hop| hop.as_str().unwrap()).collect();
    assert_eq!(way.len(), 2);
    assert_eq!(way[0], "desk@far");
    assert!(way[1].starts_with("plain@"), "{way:?}");
    assert_eq!(headers["x-switchboard-hops"], way.join(","));
    assert_eq!(message["metadata"]["a"], 1);
}
