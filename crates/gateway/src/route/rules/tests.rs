//! Which rule takes which message.

use serde_json::json;
use switchboard_server::principal::{Identity, Principal};
use switchboard_types::model::{Json, Message, MessageId, Object, Part, Role};
use switchboard_types::operation::{SendConfiguration, SendMessage};

use super::*;

fn to(agent: &str) -> Action {
    Action::To(agent.into())
}

fn rule(name: &str, action: Action) -> Route {
    Route::new(name, Place::Default, action)
}

fn pattern(text: &str) -> Option<Pattern> {
    serde_json::from_value(json!(text)).ok()
}

fn heard<'a>(text: &str, caller: &'a Principal) -> Heard<'a> {
    Heard {
        text: text.to_owned(),
        skill: None,
        caller,
        metadata: serde_json::Map::new(),
        unread: None,
        parts: vec!["text"],
    }
}

fn chosen(rules: &[Arc<Route>], heard: &Heard<'_>) -> Option<String> {
    let walk = Rules::new(rules.to_vec()).walk(heard);
    walk.chosen.map(|rule| rule.name.to_string())
}

#[test]
fn the_highest_priority_goes_first_and_then_the_order_of_the_file() {
    let rules = [("a", 0), ("b", 5), ("c", 5), ("d", -1)].map(|(name, priority)| {
        Arc::new(Route {
            priority,
            ..rule(name, to("x"))
        })
    });
    let rules = Rules::new(rules.to_vec());
    let order: Vec<&str> = rules.all().iter().map(|rule| &*rule.name).collect();
    assert_eq!(order, ["b", "c", "a", "d"]);
}

#[test]
fn all_that_a_rule_says_must_hold() {
    let nobody = Principal::known(Vec::new());
    let ann = Principal::from(Identity {
        subject: "ann".into(),
        ..Identity::default()
    });
    let full = Route {
        text: pattern(r"^invoice \d+"),
        skills: vec!["billing".to_owned(), "sums".to_owned()],
        ..rule("r", to("x"))
    };
    let full = full.when("caller.subject == 'ann' && metadata.lang == 'de'");
    let rules = [Arc::new(full.unwrap())];
    let right = || Heard {
        skill: Some("sums".to_owned()),
        metadata: json!({"lang": "de"}).as_object().unwrap().clone(),
        ..heard("Invoice 12", &ann)
    };
    assert_eq!(chosen(&rules, &right()).as_deref(), Some("r"));
    let outcome = |heard: Heard<'_>| Rules::new(rules.to_vec()).walk(&heard).outcomes.remove(0);
    let other = Heard {
        text: "an invoice 12".to_owned(),
        ..right()
    };
    assert_eq!(outcome(other), Outcome::OtherText);
    let other = Heard {
        skill: None,
        ..right()
    };
    assert_eq!(outcome(other), Outcome::OtherSkill);
    let other = Heard {
        caller: &nobody,
        ..right()
    };
    assert_eq!(outcome(other), Outcome::False);
    let other = Heard {
        metadata: serde_json::Map::new(),
        ..right()
    };
    assert!(matches!(outcome(other), Outcome::Failed(_)));
}

#[test]
fn the_first_that_matches_decides_and_what_is_off_is_not_asked() {
    let nobody = Principal::known(Vec::new());
    let rules = [
        Route {
            enabled: false,
            ..rule("off", to("x"))
        },
        Route {
            text: pattern("poem"),
            ..rule("poems", to("poet"))
        },
        rule("rest", Action::answer("no {{text}} here").unwrap()),
    ];
    let rules = rules.map(Arc::new);
    let poem = heard("A POEM, please", &nobody);
    assert_eq!(chosen(&rules, &poem).as_deref(), Some("poems"));
    let walk = Rules::new(rules.to_vec()).walk(&poem);
    let outcomes = [Outcome::Off, Outcome::Matches, Outcome::NotReached];
    assert_eq!(walk.outcomes, outcomes);
    let other = heard("a song", &nobody);
    assert_eq!(chosen(&rules, &other).as_deref(), Some("rest"));
    assert_eq!(chosen(&rules[..2], &other), None);
}

#[test]
fn decisions_of_older_data_directories_are_read() {
    let answer = Action::answer("hello {{text}}").unwrap();
    for (action, stored) in [
        (to("poet"), json!({"rule": "r", "to": "poet"})),
        (answer, json!({"rule": "r", "answer": "hello {{text}}"})),
    ] {
        assert_eq!(action.to_json("r"), stored);
        assert_eq!(Action::from_json(&stored), Some(action));
    }
    assert!(Action::answer("{{what}}").is_err());
    assert_eq!(Action::from_json(&json!({"rule": "r"})), None);
}

#[test]
fn metadata_that_cannot_be_read_is_not_taken_for_empty() {
    let nobody = Principal::known(Vec::new());
    // Kept from a time when requests could nest this deep.
    let deep = format!(
        r#"{{"restricted":true,"x":{}{}}}"#,
        "[".repeat(127),
        "]".repeat(127)
    );
    let deep = Object::try_from(Json::parse_answer(deep).unwrap()).unwrap();
    let parts = vec![Part::text("hello")];
    let mut message = Message::new(MessageId::new("m").unwrap(), Role::User, parts);
    message.metadata = Some(deep);
    let send = SendMessage {
        message,
        configuration: SendConfiguration::default(),
        metadata: None,
    };
    let heard = Heard::new(&send, &nobody);
    for expression in ["metadata.restricted == true", "!has(metadata.restricted)"] {
        let rules = [Arc::new(rule("r", to("x")).when(expression).unwrap())];
        let outcome = Rules::new(rules.to_vec()).walk(&heard).outcomes.remove(0);
        let failed = Outcome::Failed("the metadata cannot be read".to_owned());
        assert_eq!(outcome, failed, "{expression}");
    }
    let rules = [Arc::new(
        rule("r", to("x")).when("text == 'hello'").unwrap(),
    )];
    assert_eq!(chosen(&rules, &heard).as_deref(), Some("r"));
}

#[test]
fn a_text_that_takes_too_long_to_search_fails_the_rule() {
    let nobody = Principal::known(Vec::new());
    let slow = Route {
        text: pattern(r"(.*\b){8}z"),
        ..rule("slow", to("x"))
    };
    let fast = Route {
        text: pattern("invoice|poem"),
        ..rule("fast", to("x"))
    };
    let outcome = |rule: &Route, text: &str| rule.ask(&heard(text, &nobody));
    // The engine is slow only with word boundaries in a text that is not ASCII.
    for (text, repeated) in [("é ", 10_000), ("é poem ", 40_000)] {
        let text = text.repeat(repeated);
        assert!(matches!(outcome(&slow, &text), Outcome::Failed(_)));
        let expected = match text.contains("poem") {
            true => Outcome::Matches,
            false => Outcome::OtherText,
        };
        assert_eq!(outcome(&fast, &text), expected);
    }
    assert_eq!(outcome(&slow, &"e ".repeat(10_000)), Outcome::OtherText);
    assert_eq!(outcome(&slow, "é z"), Outcome::Matches);
}
