//! What goes wrong, and what is said of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_client::{
    CallOptions, CardCache, Client, Kind, Limits, Reference, Retry, Wait, answer_text, text,
};
use switchboard_types::model::TaskId;

use crate::support::{Asked, House, Odd, Then, json, nowhere, sse, status};

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let error = Client::connect(nowhere().await).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
}

#[tokio::test]
async fn no_card_anywhere_lists_every_address_that_was_tried() {
    let odd = Odd::serve(async |_| status(404)).await;
    let error = Client::connect(format!("{}/a2a/x", odd.base))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::CardNotFound);
    assert_eq!(
        error.to_string().matches("status 404").count(),
        8,
        "{error}"
    );
}

#[tokio::test]
async fn a_card_is_found_in_every_place_agents_keep_it() {
    for place in [
        "/x/.well-known/agent-card.json",
        "/x/.well-known/agent.json",
        "/x/agent-card",
        "/x/.well-known/agent",
        "/x",
        "/x/v1/card",
    ] {
        let odd = Odd::serve(move |asked: Asked| async move {
            if asked.path == place {
                asked.card("0.2.5")
            } else {
                status(404)
            }
        })
        .await;
        let agent = Client::connect(format!("{}/x", odd.base)).await.unwrap();
        assert_eq!(agent.card().name, "odd", "{place}");
    }
}

#[tokio::test]
async fn a_card_at_the_origin_counts_only_if_it_speaks_of_the_agent() {
    let odd = Odd::serve(async |asked: Asked| match asked.path.as_str() {
        "/.well-known/agent-card.json" => asked.card("1.0"),
        _ => status(404),
    })
    .await;
    assert!(Client::connect(format!("{}/rpc", odd.base)).await.is_ok());
    let error = Client::connect(format!("{}/other", odd.base))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::CardNotFound);
    assert!(
        error.to_string().contains("the card of another agent"),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_no_card_is_said_to_be_none() {
    let odd = Odd::serve(async |_| json(200, "<html>welcome</html>")).await;
    let error = Client::connect(format!("{}/card.json", odd.base))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::CardInvalid);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.json");
    std::fs::write(&path, "[]").unwrap();
    let error = Client::connect(path.clone()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::CardInvalid);
    std::fs::remove_file(&path).unwrap();
    let error = Client::connect(path).await.unwrap_err();
    assert_eq!(error.kind(), Kind::CardNotFound);
}

#[tokio::test]
async fn s1_046_a_card_is_read_from_a_file_or_given_as_it_is() {
    let house = House::open().await;
    let card = Client::connect(house.base.as_str()).await.unwrap().card();
    let mut written = Vec::new();
    let shape = switchboard_types::wire::card::CardShape::Union;
    switchboard_types::wire::card::encode_card(shape, &card, &mut written);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.json");
    std::fs::write(&path, &written).unwrap();
    let references = [
        Reference::from(path.to_str().unwrap()),
        Reference::from(format!("file://{}", path.display())),
        Reference::from((*card).clone()),
        Reference::from(String::from_utf8(written).unwrap()),
        Reference::from(format!("{}/.well-known/agent-card.json", house.base)),
        Reference::from(house.base.trim_start_matches("http://")),
    ];
    for reference in references {
        let agent = Client::connect(reference).await.unwrap();
        assert_eq!(answer_text(&agent.send(text("x")).await.unwrap()), "x");
    }
    house.close().await;
}

#[tokio::test]
async fn the_cards_of_real_agents_can_be_connected_to() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../types/tests/card/peers");
    let mut count = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        // The others are what we make of them.
        let name = path.to_string_lossy();
        if [".v0.", ".v1.", ".union."]
            .iter()
            .any(|made| name.contains(made))
        {
            continue;
        }
        let agent = Client::connect(path.clone()).await;
        let agent = agent.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(agent.address().has_host(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 8, "{count} cards");
}

/// An agent that answers every call by that.
async fn answering(version: &'static str, code: u16, body: &'static str) -> (Odd, Client) {
    let odd = Odd::serve(move |asked: Asked| async move {
        if asked.method == "GET" {
            asked.card(version)
        } else {
            json(code, body)
        }
    })
    .await;
    let builder = Client::builder().retry(Retry::never());
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    (odd, agent)
}

#[tokio::test]
async fn answers_that_are_none_are_told_apart() {
    for (code, body, kind, said) in [
        (200, "{oops", Kind::Unintelligible, "cannot be understood"),
        (200, "[]", Kind::Unintelligible, "cannot be understood"),
        (200, "", Kind::Unintelligible, "cannot be understood"),
        (500, "", Kind::Protocol, "A2A agent returned error"),
        (
            502,
            "<html>bad gateway</html>",
            Kind::Protocol,
            "A2A agent returned error",
        ),
        (
            401,
            r#"{"detail":"who are you"}"#,
            Kind::Refused,
            "who are you",
        ),
        (403, "", Kind::Refused, ""),
        (400, r#"{"error":"no Accept"}"#, Kind::Protocol, "no Accept"),
    ] {
        let (_odd, agent) = answering("0.3", code, body).await;
        let error = agent.send(text("x")).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{code} {body}: {error:?}");
        assert_eq!(error.status(), Some(code), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[tokio::test]
async fn answers_are_limited_in_size() {
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            asked.card("0.3")
        } else {
            json(200, &"x".repeat(5000))
        }
    })
    .await;
    let limits = Limits {
        body: 4000,
        ..Limits::default()
    };
    let agent = Client::builder()
        .limits(limits)
        .connect(odd.base.as_str())
        .await
        .unwrap();
    let error = agent.send(text("x")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TooLarge);
    let limits = Limits {
        card: 100,
        ..Limits::default()
    };
    let error = Client::builder()
        .limits(limits)
        .connect(odd.base.as_str())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("larger than 100 bytes"),
        "{error}"
    );
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            return asked.card("0.3");
        }
        std::future::pending().await
    })
    .await;
    let agent = Client::connect(odd.base.as_str()).await.unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(100));
    let error = agent.send_with(text("x"), &options).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
}

#[tokio::test]
async fn a_task_that_is_answered_by_a_stream_without_end_is_not_waited_for() {
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            return asked.card("0.3");
        }
        let frame = |result: &str| {
            format!("data: {{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{result}}}\n\n")
        };
        let working = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}"#;
        let silent = asked.json().to_string().contains("silent");
        let frames = if silent {
            vec![": nothing\n\n".to_owned()]
        } else {
            vec![frame(working)]
        };
        sse(frames, Then::Hang)
    })
    .await;
    let builder = Client::builder().timeout(Duration::from_millis(300));
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    let task = agent.get(&TaskId::new("t").unwrap(), None).await.unwrap();
    assert_eq!(task.id.as_str(), "t", "as it stood when time was up");
    let silent = TaskId::new("silent").unwrap();
    let error = agent.get(&silent, None).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout, "{error}");
    let patient = Client::connect(odd.base.as_str()).await.unwrap();
    let wait = Wait {
        timeout: Some(Duration::from_millis(300)),
        ..Wait::default()
    };
    let error = patient.wait(&silent, &wait).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout, "{error}");
}

#[tokio::test]
async fn c_018_a_card_is_kept_as_long_as_its_agent_allows() {
    let fetched = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fetched);
    let odd = Odd::serve(move |asked: Asked| {
        let count = Arc::clone(&count);
        async move {
            let seen = count.fetch_add(1, Ordering::SeqCst);
            if asked.header("if-none-match") == Some("\"one\"") {
                return status(304);
            }
            let mut response = asked.card("1.0");
            let age = if seen == 0 {
                "max-age=0"
            } else {
                "max-age=600"
            };
            response
                .headers_mut()
                .insert("cache-control", age.parse().unwrap());
            if asked.path.ends_with("etag.json") {
                response
                    .headers_mut()
                    .insert("etag", "\"one\"".parse().unwrap());
            }
            response
        }
    })
    .await;
    let cache = CardCache::new();
    let connect = |path: &str| {
        let builder = Client::builder().cache(cache.clone());
        builder.connect(format!("{}/{path}", odd.base))
    };
    for _ in 0..3 {
        assert_eq!(connect("etag.json").await.unwrap().card().name, "odd");
    }
    assert_eq!(
        fetched.load(Ordering::SeqCst),
        3,
        "asked whether it is still good"
    );
    for _ in 0..3 {
        connect("fresh.json").await.unwrap();
    }
    assert_eq!(
        fetched.load(Ordering::SeqCst),
        4,
        "not asked while it is fresh"
    );
}
