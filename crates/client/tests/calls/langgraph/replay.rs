//! A LangGraph server that says what a real one said. The recorded answers are in `recorded/`, one file for a release;
//! it refuses what the real one refuses.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use http::Response;
use serde_json::Value;
use switchboard_client::{Client, Retry};

use crate::support::{Asked, Body, Odd, Then, json, plain, sse};

/// A server, and what it was asked.
pub(crate) struct Replay {
    pub(crate) odd: Odd,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// One recorded answer.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    status: u16,
    media_type: &'static str,
    body: &'static str,
}

/// The answers of a release by their names.
fn recorded(release: &str) -> HashMap<&'static str, Recorded> {
    let file = match release {
        "0.16.7" => include_str!("recorded/langgraph_0.16.7.txt"),
        "0.6.39" => include_str!("recorded/langgraph_0.6.39.txt"),
        other => panic!("nothing was recorded of {other}"),
    };
    let mut all = HashMap::new();
    for section in file.split("=== ").skip(1) {
        let (head, body) = section.split_once('\n').unwrap();
        let [name, status, media_type] = head.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{head}");
        };
        let status = status.parse().unwrap();
        let body = body.trim_end();
        all.insert(
            name,
            Recorded {
                status,
                media_type,
                body,
            },
        );
    }
    all
}

impl Recorded {
    fn answers(self, asked: &Asked) -> Response<Body> {
        let id = format!("\"id\":{}", asked.json()["id"]);
        let body = self.body.replace("BASE", &asked.base);
        let body = body.replace("\"id\":\"1\"", &id);
        match self.media_type {
            "text/event-stream" => {
                let frames = body.split("\n\n");
                let frames = frames.map(|frame| format!("{}\r\n\r\n", frame.replace('\n', "\r\n")));
                sse(frames.collect(), Then::Close)
            }
            "application/json" => json(self.status, &body),
            _ => plain(self.status, &body),
        }
    }
}

impl Replay {
    /// A server of that release. `script` names the answers to each method, in order; the last one is given again.
    pub(crate) async fn start(
        release: &'static str,
        script: &[(&'static str, &'static str)],
    ) -> Self {
        let answers = recorded(release);
        let mut queues: HashMap<&str, VecDeque<Recorded>> = HashMap::new();
        for (method, name) in script {
            queues.entry(method).or_default().push_back(answers[name]);
        }
        let queues = Arc::new(Mutex::new(queues));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&seen);
        let odd = Odd::serve(move |asked: Asked| {
            if asked.method == "GET" {
                let found = answers["card"].answers(&asked);
                let at = if release == "0.6.39" {
                    asked.path == "/.well-known/agent-card.json"
                        && asked.query.starts_with("assistant_id=")
                } else {
                    asked.path.starts_with("/a2a/") && asked.path.ends_with("/agent-card.json")
                };
                return std::future::ready(if at { found } else { json(404, "{}") });
            }
            heard.lock().unwrap().push(asked.clone());
            let accepted = asked.header("accept").unwrap_or_default();
            if !accepted.contains("application/json") {
                return std::future::ready(answers["no-accept"].answers(&asked));
            }
            if asked.json()["params"].is_array() {
                return std::future::ready(answers["list-params"].answers(&asked));
            }
            let mut queues = queues.lock().unwrap();
            let method = asked.rpc();
            let Some(queue) = queues.get_mut(method.as_str()) else {
                return std::future::ready(json(404, "{}"));
            };
            let next = match queue.len() {
                1 => queue[0],
                _ => queue.pop_front().unwrap(),
            };
            std::future::ready(next.answers(&asked))
        })
        .await;
        Self { odd, asked: seen }
    }

    /// Where its agent is.
    pub(crate) fn url(&self) -> String {
        format!("{}/a2a/046b5dc7-2108-582c-9c6c-31d556d138f0", self.odd.base)
    }

    pub(crate) async fn client(&self) -> Client {
        let builder = Client::builder().retry(Retry::never());
        builder.connect(self.url()).await.unwrap()
    }

    /// Every request but those for the card.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The messages that were sent.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let asked = self.asked();
        let messages = asked
            .iter()
            .map(|one| one.json()["params"]["message"].clone());
        messages.filter(Value::is_object).collect()
    }
}
