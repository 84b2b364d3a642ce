//! Two gateways whose agents ask each other: no call goes round in a circle, and who asked is told why.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::remote::tasks;
use crate::stranger::Stranger;
use crate::support::{Server, say, text_of};

/// An address that is known before the server that will be there.
struct Socket {
    base: String,
    to: watch::Sender<Option<SocketAddr>>,
    _passing: JoinSet<()>,
}

impl Socket {
    async fn open() -> Self {
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

    fn leads_to(&self, server: &Server) {
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
        "agents:\n  desk: {{ script: [{{ call: {{ agent: far }} }}, {{ complete: done }}] }}\n  \
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
    let why = "this call goes round in a circle (mirror → mirror → mirror): answer it without asking mirror again";
    assert!(text.contains(why), "{text}");
    assert_eq!(tasks(&here, "mirror").await.len(), 1);
    assert_eq!(tasks(&there, "mirror").await.len(), 1);

    // A way over scripts and agents elsewhere, there and back.
    let task = here.result("desk", "message/send", say("x")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let text = said(&task);
    let why = "this call goes round in a circle (desk → far → office → back → desk)";
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
