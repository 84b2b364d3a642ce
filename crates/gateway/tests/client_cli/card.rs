//! `card get`

use crate::agent::{Agent, bare, ran};

#[tokio::test]
async fn a_card_is_shown_line_by_line() {
    let agent = Agent::start().await;
    let ran = agent.run(&["card", "get"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.field("Agent"), "desk");
    assert_eq!(ran.field("Description"), "Does as it is told");
    assert!(
        ran.out.contains("Interface: JSONRPC 1.0 http://127.0.0.1:"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("Capability: streaming: yes"),
        "{}",
        ran.out
    );
    assert_eq!(ran.err, "");
}

#[tokio::test]
async fn a_card_can_come_from_a_file_and_be_checked() {
    let agent = Agent::start().await;
    let card = agent.json(&["card", "get"]).await;
    assert_eq!(card["name"], "desk");
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    let file = agent.dir.path().join("card.json");
    std::fs::write(&file, card.to_string()).unwrap();
    let checked = ran(bare(
        &agent.dir,
        &["card", "get", "-a", "./card.json", "--validate"],
    ))
    .await;
    assert_eq!(checked.code, Some(0), "{checked:?}");

    let mut wrong = card;
    wrong["skills"] = serde_json::json!([]);
    wrong["description"] = serde_json::json!("");
    std::fs::write(&file, wrong.to_string()).unwrap();
    let checked = ran(bare(
        &agent.dir,
        &["card", "get", "-a", "./card.json", "--validate"],
    ))
    .await;
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(
        checked.err.contains("description is missing"),
        "{}",
        checked.err
    );
    assert!(checked.err.contains("skills is empty"), "{}", checked.err);
    assert!(
        checked.err.contains("A2ACLI_ERR_CARD_INVALID"),
        "{}",
        checked.err
    );
    let args = [
        "card",
        "get",
        "-a",
        "./card.json",
        "--validate",
        "-o",
        "json",
    ];
    let told = ran(bare(&agent.dir, &args)).await;
    let error: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(error["error"]["code"], "A2ACLI_ERR_CARD_INVALID");
}
