//! Rules, asked as the server asks them.

use std::sync::Arc;

use serde_json::json;
use switchboard_server::auth::{About, Action, Ask, Policy, TaskFacts, Verdict};
use switchboard_server::call::Origin;
use switchboard_server::clock;
use switchboard_server::principal::{Identity, Kind, Principal};
use switchboard_types::model::{ContextId, TaskId, TaskState};
use switchboard_types::operation::Method;

use super::*;
use crate::config::Place;

fn rule(effect: Effect, when: &str) -> Rule {
    Rule::new(when, Place::Default, effect, when).unwrap()
}

fn rules(rules: Vec<Rule>) -> Rules {
    let skills = ["haiku", "epic", "ode"].map(Arc::from).to_vec();
    Rules::new(rules.into_iter().map(Arc::new).collect(), skills)
}

fn ann() -> Principal {
    let claims = json!({"dept": "poetry"});
    let identity = Identity {
        scheme: "bearer".into(),
        kind: Kind::Token,
        realm: "tests".into(),
        subject: "ann".into(),
        tenant: Some("corp".into()),
        scopes: vec!["read".into()],
        claims: claims.as_object().cloned().unwrap(),
        ..Identity::default()
    };
    Principal::known(vec![Arc::new(identity)]).at("10.0.0.7".parse().unwrap())
}

fn ask<'a>(caller: &'a Principal, method: Method, task: About<'a>) -> Ask<'a> {
    Ask {
        caller,
        agent: "poet",
        action: Action::Call(method),
        skill: Some("haiku"),
        task,
        origin: &Origin::Network,
        now: clock::now(),
    }
}

fn decide(all: Vec<Rule>, method: Method) -> Result<(), String> {
    match rules(all).decide(&ask(&ann(), method, About::Nothing)) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(denial) => Err(denial.rule.to_string()),
    }
}

#[test]
fn one_rule_that_denies_is_enough_and_of_those_that_allow_one_must() {
    let (allow, deny) = (
        |when: &str| rule(Effect::Allow, when),
        |when: &str| rule(Effect::Deny, when),
    );
    let nobody = Err("no rule allows it".to_owned());
    for (all, decision) in [
        (vec![], Ok(())),
        (vec![allow("true")], Ok(())),
        (vec![allow("false")], nobody.clone()),
        (vec![allow("false"), allow("true")], Ok(())),
        (vec![deny("false")], Ok(())),
        (vec![deny("true")], Err("true".to_owned())),
        // The order does not matter: whoever denies, denies.
        (vec![allow("true"), deny("true")], Err("true".to_owned())),
        (vec![deny("true"), allow("true")], Err("true".to_owned())),
        (vec![deny("false"), allow("false")], nobody.clone()),
        // What cannot be told opens nothing.
        (vec![allow("caller.claims.none == 1")], nobody.clone()),
        (
            vec![allow("caller.claims.none == 1"), allow("true")],
            Ok(()),
        ),
        (
            vec![deny("caller.claims.none == 1"), allow("true")],
            Err("caller.claims.none == 1".to_owned()),
        ),
    ] {
        let shown = format!("{all:?}");
        assert_eq!(decide(all, Method::Get), decision, "{shown}");
    }
}

#[test]
fn rules_know_the_caller_the_agent_and_the_call() {
    for when in [
        r#"caller.authenticated && caller.subject == "ann" && caller.tenant == "corp""#,
        r#"caller.method == "bearer" && caller.kind == "token" && caller.address == "10.0.0.7""#,
        r#""read" in caller.scopes && caller.claims.dept == "poetry""#,
        r#"agent.name == "poet" && "epic" in agent.skills"#,
        r#"operation == "CancelTask" && skill == "haiku" && via == "" && now > 1700000000"#,
        "!has(task.id)",
    ] {
        let decided = decide(vec![rule(Effect::Allow, when)], Method::Cancel);
        assert_eq!(decided, Ok(()), "{when}");
    }
    let nobody = Principal::known(Vec::new());
    let when = r#"!caller.authenticated && caller.subject == "" && caller.tenant == "" && caller.kind == ""
        && caller.scopes.size() == 0 && caller.address == "" && !has(caller.claims.sub)"#;
    let verdict =
        rules(vec![rule(Effect::Allow, when)]).decide(&ask(&nobody, Method::Get, About::Nothing));
    assert_eq!(verdict, Verdict::Allow);
}

#[test]
fn a_rule_about_tasks_waits_until_the_task_is_known_to_be_the_callers() {
    let all = rules(vec![
        rule(Effect::Deny, r#"operation == "CancelTask""#),
        rule(
            Effect::Allow,
            r#"task.state == "working" && task.context == "c" && task.id == "t""#,
        ),
    ]);
    assert!(all.looks_at_tasks());
    let ann = ann();
    let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
    let own = |state| {
        About::Own(TaskFacts {
            id: &id,
            context: &context,
            state,
            updated: None,
        })
    };
    let allows = |method, task| all.decide(&ask(&ann, method, task)) == Verdict::Allow;
    // What can be said without the task is said at once.
    assert!(!allows(Method::Cancel, About::Unseen));
    assert!(allows(Method::Get, About::Unseen));
    assert!(allows(Method::Get, own(TaskState::Working)));
    assert!(!allows(Method::Get, own(TaskState::Completed)));
    assert!(!allows(Method::List, About::Nothing));
}

#[test]
fn a_rule_is_about_callers_unless_it_says_so() {
    let with = |on| {
        let mut rule = rule(Effect::Deny, "true");
        rule.on = on;
        rules(vec![rule])
    };
    let ann = ann();
    let origin = Origin::Agent("desk".into());
    let direct = ask(&ann, Method::Send, About::Nothing);
    let errand = Ask {
        origin: &origin,
        ..direct
    };
    for (on, called, delegated) in [
        (On::Caller, false, true),
        (On::Delegation, true, false),
        (On::Both, false, false),
    ] {
        let all = with(on);
        assert_eq!(all.decide(&direct) == Verdict::Allow, called, "{on:?}");
        assert_eq!(all.decide(&errand) == Verdict::Allow, delegated, "{on:?}");
    }
    let mut via = rule(Effect::Deny, r#"via == "desk""#);
    via.on = On::Both;
    let all = rules(vec![via]);
    assert_eq!(all.decide(&direct), Verdict::Allow);
    assert_ne!(all.decide(&errand), Verdict::Allow);
    // An allow rule for callers does not shut agents out.
    let all = rules(vec![rule(Effect::Allow, "false")]);
    assert_eq!(all.decide(&errand), Verdict::Allow);
}

#[test]
fn a_skill_is_restricted_by_the_rules_that_name_it() {
    let restricted = |when: &str| {
        let all = rules(vec![rule(Effect::Deny, when)]);
        ["haiku", "epic", "ode"].map(|skill| all.restricts(skill))
    };
    assert_eq!(restricted(r#"skill == "epic""#), [false, true, false]);
    assert_eq!(
        restricted(r#"skill in ["epic", "ode"]"#),
        [false, true, true]
    );
    assert_eq!(restricted(r#"skill.startsWith("e")"#), [true, true, true]);
    assert_eq!(restricted(r#"caller.tenant == "epic""#), [false; 3]);
}

#[test]
fn only_a_rule_that_tells_its_name_does() {
    for tell in [false, true] {
        let mut rule = rule(Effect::Deny, "true");
        rule.tell = tell;
        let Verdict::Deny(denial) =
            rules(vec![rule]).decide(&ask(&ann(), Method::Get, About::Nothing))
        else {
            panic!("it must deny");
        };
        let error = switchboard_types::Error::from(denial);
        let told = error
            .facts()
            .iter()
            .any(|(key, value)| key == "rule" && value == "true");
        assert_eq!(told, tell);
        assert_eq!(error.message(), "this is not allowed");
    }
}
