//! Every operation, by every way, with every credential.

use std::collections::HashMap;
use std::path::Path;

use switchboard_types::model::TaskId;
use switchboard_types::operation::Method;

use crate::credentials::{QUALITIES, Quality, SORTS, Sort};
use crate::ways::{Answer, Kind, id, operation, ways};
use crate::world::World;

/// The rows of the table in the document: first column to the three others.
fn documented() -> HashMap<String, [String; 3]> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access.md");
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
        Quality::None => "nothing",
        Quality::Wrong => "something wrong",
        Quality::Expired => "something that has expired",
        Quality::Foreign => "something for another service or agent",
        Quality::Insufficient => "too few scopes",
        Quality::Right => "what is asked for",
    }
}

/// What an answer is, in the words of the document.
fn told(kind: Kind, answer: &Answer) -> String {
    if answer.is_good() {
        return "answered".to_owned();
    }
    match kind {
        Kind::Grpc => answer
            .code
            .map_or_else(String::new, |code| code.to_string()),
        Kind::JsonRpc | Kind::Rest => answer.status.to_string(),
    }
}

async fn every_operation_with(sort: Sort) {
    let world = World::open().await;
    let documented = documented();
    let right = world.show(sort, Quality::Right).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for quality in QUALITIES {
        let Some(shown) = world.show(sort, quality) else {
            continue;
        };
        for way in ways() {
            for method in Method::ALL.into_iter().filter(|method| way.has(*method)) {
                let task: TaskId = match quality {
                    // A task of one's own that can be cancelled, or lose its webhook.
                    Quality::Right => world.task("scoped", &right).await,
                    _ => id("anything"),
                };
                let operation = operation(method, &task);
                let answer = way.ask(&world, "scoped", &shown, &operation).await;
                let expected = &documented[row(quality)][way.kind as usize];
                let told = told(way.kind, &answer);
                let challenged = answer.challenges() == 3;
                if told != *expected || (expected == "401" && !challenged) {
                    wrong.push(format!(
                        "{quality:?} {way:?} {method:?}: {told}, not {expected}"
                    ));
                }
                seen += 1;
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {seen}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(seen > 250, "{seen} answers were looked at");
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
