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

/// `card get` of a signed card in a file, with these flags.
async fn signed(more: &[&str]) -> crate::agent::Ran {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("card.json", include_str!("signed/card.json")),
        ("keys.json", include_str!("signed/keys.json")),
        ("other_keys.json", include_str!("signed/other_keys.json")),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let mut args = vec!["card", "get", "-a", "./card.json"];
    args.extend_from_slice(more);
    ran(bare(&dir, &args)).await
}

#[tokio::test]
async fn a_card_says_whether_its_signature_is_good() {
    for (flags, text, json) in [
        (&[][..], "not checked: give --card-keys", "unchecked"),
        (&["--card-keys", "keys.json"], "good", "good"),
        (
            &["--card-keys", "other_keys.json"],
            "bad: none is good, or of a key in --card-keys",
            "bad",
        ),
    ] {
        let shown = signed(flags).await;
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert_eq!(shown.field("Signature"), text);
        let shown = signed(&[flags, &["-o", "json"]].concat()).await;
        let card: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!(card["signatureStatus"], json);
        assert_eq!(card["name"], "signed");
    }
    let agent = Agent::start().await;
    assert_eq!(
        agent.run(&["card", "get"]).await.field("Signature"),
        "absent"
    );
    let card = agent.json(&["card", "get"]).await;
    assert_eq!(card["signatureStatus"], "absent");
}

#[tokio::test]
async fn a_card_that_is_signed_by_others_is_not_valid_and_not_spoken_to() {
    let other = ["--card-keys", "other_keys.json"];
    let checked = signed(&[&other[..], &["--validate"]].concat()).await;
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.err.contains("no signature is good"), "{checked:?}");
    let good = signed(&["--card-keys", "keys.json", "--validate"]).await;
    assert_eq!(good.code, Some(0), "{good:?}");

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("card.json"),
        include_str!("signed/card.json"),
    )
    .unwrap();
    std::fs::write(
        dir.path().join("keys.json"),
        include_str!("signed/other_keys.json"),
    )
    .unwrap();
    let sent = ran(bare(
        &dir,
        &[
            "send",
            "-a",
            "./card.json",
            "--card-keys",
            "keys.json",
            "hello",
        ],
    ))
    .await;
    assert!(sent.err.contains("A2ACLI_ERR_CARD_INVALID"), "{sent:?}");

    let useless = signed(&["--card-keys", "card.json"]).await;
    assert_eq!(useless.code, Some(2), "{useless:?}");
    assert!(useless.err.contains("this is no JWKS"), "{useless:?}");
}

#[tokio::test]
async fn a_signature_can_be_required() {
    let keys = ["--card-keys", "keys.json", "--require-signature"];
    let good = signed(&keys).await;
    assert_eq!(good.code, Some(0), "{good:?}");
    assert_eq!(good.field("Signature"), "good");
    let other = signed(&["--card-keys", "other_keys.json", "--require-signature"]).await;
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.err.contains("no signature of the card is good"),
        "{other:?}"
    );
    let without = signed(&["--require-signature"]).await;
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(without.err.contains("--card-keys"), "{without:?}");

    let agent = Agent::start().await;
    let file = agent.dir.path().join("keys.json");
    std::fs::write(file, include_str!("signed/keys.json")).unwrap();
    let unsigned = agent.run(&[&["card", "get"], &keys[..]].concat()).await;
    assert_eq!(unsigned.code, Some(1), "{unsigned:?}");
    assert!(
        unsigned.err.contains("the card is not signed"),
        "{unsigned:?}"
    );
    let sent = agent.run(&[&["send", "hello"], &keys[..]].concat()).await;
    assert!(sent.err.contains("A2ACLI_ERR_CARD_INVALID"), "{sent:?}");
    let taken = agent
        .run(&["send", "hello", "--card-keys", "keys.json"])
        .await;
    assert_eq!(taken.code, Some(0), "{taken:?}");
}

#[tokio::test]
async fn an_agent_can_be_named_by_its_entry_in_a_catalogue() {
    let agent = Agent::start().await;
    let card = agent.json(&["card", "get"]).await;
    let url = agent.server.url("/a2a/desk");
    let listed = serde_json::json!({"specVersion": "1.0", "entries": [
        {"displayName": "other", "url": "http://127.0.0.1:9/"},
        {"displayName": "the desk", "url": url},
        {"displayName": "inline", "agentCard": card},
    ]});
    let text = listed.to_string();
    let route = axum::routing::get(move || async move { text });
    let app = axum::Router::new().route("/.well-known/ai-catalog.json", route);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move { axum::serve(listener, app).await });
    for reference in [
        format!("{host}#the desk"),
        format!("http://{host}#inline"),
        format!("http://{host}/.well-known/ai-catalog.json#the desk"),
    ] {
        let got = ran(bare(&agent.dir, &["send", "-a", &reference, "hello"])).await;
        assert_eq!(got.code, Some(0), "{got:?}");
        assert!(got.out.contains("You said: hello"), "{got:?}");
    }
    let missing = format!("{host}#nobody");
    let got = ran(bare(&agent.dir, &["card", "get", "-a", &missing])).await;
    assert!(
        got.err.contains("it has other, the desk, inline"),
        "{got:?}"
    );
}
