//! Every operation, by every way, with every credential.

use std::collections::HashMap;
use std::path::Path;

use switchboard_types::model::TaskId;
use switchboard_types::operation::Method;

use crate::certificates::Authority;
use crate::credentials::{Header, QUALITIES, Quality, SORTS, Sort};
use crate::ways::{Answer, Kind, id, operation, ways};
use crate::world::World;

/// The rows of the table in the document: first column to the three others.
fn documented() -> HashMap<String, [String; 3]> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/authentication.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, shown, rpc, rest, grpc, _] = cells[..] else {
            return None;
        };
        Some((shown.to_owned(), [rpc, rest, grpc].map(str::to_owned)))
    });
    rows.collect()
}

fn row(quality: Quality) -> &'static str {
    match quality {
        Quality::None => "no credentials",
        Quality::Wrong => "invalid credentials",
        Quality::Expired => "expired credentials",
        Quality::Foreign => "credentials for another service or agent",
        Quality::Insufficient => "valid credentials without a required scope",
        Quality::Right => "valid credentials",
    }
}

/// What an answer is, in the words of the document.
fn told(kind: Kind, answer: &Answer) -> String {
    if answer.is_good() {
        return "succeeds".to_owned();
    }
    match kind {
        Kind::Grpc => answer
            .code
            .map_or_else(String::new, |code| code.to_string()),
        Kind::JsonRpc | Kind::Rest => answer.status.to_string(),
    }
}

/// What was looked at, and what was not as documented.
struct Seen {
    documented: HashMap<String, [String; 3]>,
    /// How many methods an agent takes.
    methods: usize,
    answers: usize,
    wrong: Vec<String>,
}

impl Seen {
    fn nothing(methods: usize) -> Self {
        Self {
            documented: documented(),
            methods,
            answers: 0,
            wrong: Vec::new(),
        }
    }

    /// Asks an agent for every operation by every way.
    async fn look(&mut self, world: &World, quality: Quality, agent: &str, shown: &[Header]) {
        for way in ways() {
            for method in Method::ALL.into_iter().filter(|method| way.has(*method)) {
                let task: TaskId = match quality {
                    // A task of one's own that can be cancelled, or lose its webhook.
                    Quality::Right => world.task(agent, shown).await,
                    _ => id("anything"),
                };
                let operation = operation(method, &task);
                let answer = way.ask(world, agent, shown, &operation).await;
                let expected = &self.documented[row(quality)][way.kind as usize];
                let told = told(way.kind, &answer);
                let challenged = answer.challenges() == self.methods;
                if told != *expected || (expected == "401" && !challenged) {
                    self.wrong.push(format!(
                        "{quality:?} {way:?} {method:?}: {told}, not {expected}"
                    ));
                }
                self.answers += 1;
            }
        }
    }

    fn is_all_right(&self, least: usize) {
        let (all, wrong) = (self.answers, &self.wrong);
        assert!(
            wrong.is_empty(),
            "{} of {all}:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        assert!(all > least, "{all} answers were looked at");
    }
}

async fn every_operation_with(sort: Sort) {
    let world = World::open().await;
    let mut seen = Seen::nothing(3);
    for quality in QUALITIES {
        if let Some(shown) = world.show(sort, quality) {
            seen.look(&world, quality, "scoped", &shown).await;
        }
    }
    seen.is_all_right(250);
}

#[tokio::test]
async fn every_operation_by_every_way_with_every_token() {
    every_operation_with(Sort::Token).await;
}

#[tokio::test]
async fn every_operation_by_every_way_with_every_key() {
    every_operation_with(Sort::Key).await;
}

#[tokio::test]
async fn every_operation_by_every_way_with_every_password() {
    every_operation_with(Sort::Password).await;
}

/// Nobody is granted anything by a certificate: it is insufficient where a scope is asked for.
#[tokio::test]
async fn every_operation_by_every_way_with_every_certificate() {
    let authority = Authority::new();
    let mut world = World::encrypted(&authority).await;
    let mut seen = Seen::nothing(4);
    for quality in QUALITIES {
        let agent = match quality {
            Quality::Insufficient => "scoped",
            _ => "closed",
        };
        if world.show_certificate(&authority, quality) {
            seen.look(&world, quality, agent, &[]).await;
        }
    }
    seen.is_all_right(200);
}

/// Credentials are for the head of a request.
#[tokio::test]
async fn s1_015_credentials_in_a_message_open_nothing() {
    let world = World::open().await;
    for sort in SORTS {
        let shown = world.show(sort, Quality::Right).unwrap();
        let shown: serde_json::Map<String, serde_json::Value> = shown
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        let body = serde_json::json!({"message": {
            "messageId": "1", "role": "ROLE_USER", "parts": [{"text": "hello"}],
            "metadata": shown.clone(),
        }, "metadata": shown});
        let answer = world
            .server
            .post_v1("/a2a/closed/message:send", &body)
            .await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
}
