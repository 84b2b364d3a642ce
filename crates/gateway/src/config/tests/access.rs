//! What callers may do: what is right, and what is wrong.

use super::{Written, good};
use crate::policy::{Effect, On};

const METHODS: &str = "auth: {methods: {keys: {api_key: {}}}}\n";

fn problems(yaml: &str) -> String {
    Written::new(&format!("{METHODS}{yaml}")).problems(&[])
}

#[test]
fn rules_of_all_agents_come_before_an_agents_own() {
    let config = good(&format!(
        r#"{METHODS}
access:
  rules:
    - deny: 'operation == "CancelTask"'
      name: nobody-cancels
      tell: true
agents:
  poet:
    scopes: [poet:use]
    visible: false
    skills: [{{id: haiku, description: short}}, {{id: epic, description: long, scopes: [epics], listed: true}}]
    extended_card: {{skills: [{{id: ode, description: solemn, scopes: [odes]}}]}}
    access:
      rules:
        - allow: 'caller.tenant == "corp"'
          on: both
    script: [complete: x]
  plain: {{script: [complete: x]}}
"#
    ));
    let [poet, plain] = config.agents.as_slice() else {
        panic!("{config:?}");
    };
    let rules = |agent: &crate::config::Agent| {
        let rules = agent.rights.rules.iter();
        let told = rules.map(|rule| (rule.name.to_string(), rule.effect, rule.tell, rule.on));
        told.collect::<Vec<_>>()
    };
    let first = ("nobody-cancels".to_owned(), Effect::Deny, true, On::Caller);
    let own = "agents.poet.access.rules[0]".to_owned();
    let own = (own, Effect::Allow, false, On::Both);
    assert_eq!(rules(poet), [first.clone(), own]);
    assert_eq!(rules(plain), [first]);
    assert_eq!(poet.rights.scopes, ["poet:use".into()]);
    assert!(!poet.rights.visible && plain.rights.visible);
    let skills = poet.rights.skills.iter();
    let skills: Vec<_> = skills.map(|s| (&*s.id, s.scopes.len(), s.listed)).collect();
    assert_eq!(
        skills,
        [("haiku", 0, false), ("epic", 1, true), ("ode", 1, false)]
    );
    let skills = plain.rights.skills.iter().map(|skill| &*skill.id);
    assert_eq!(skills.collect::<Vec<_>>(), ["plain"]);
}

#[test]
fn what_is_wrong_with_a_rule_is_told_with_its_place() {
    let agent = |rule: &str| {
        format!(
            "agents:\n  a:\n    script: [complete: x]\n    access:\n      rules:\n        - {rule}\n"
        )
    };
    for (rule, problem) in [
        (
            "allow: 'callr.tenant == \"x\"'",
            "switchboard.yaml:7:11: agents.a.access.rules[0].allow: there is no variable `callr`\n  hint: did you mean `caller`?",
        ),
        (
            "deny: 'caller.tennant == \"x\"'",
            "switchboard.yaml:7:11: agents.a.access.rules[0].deny: there is no `caller.tennant`\n  hint: did you mean `tenant`?",
        ),
        (
            "deny: 'operation.startWith(\"Get\")'",
            "switchboard.yaml:7:11: agents.a.access.rules[0].deny: there is no function `startWith`\n  hint: did you mean `startsWith`?",
        ),
        (
            "{allow: 'true', deny: 'true'}",
            "switchboard.yaml:7:11: agents.a.access.rules[0]: `allow` and `deny` are mutually exclusive\n  hint: write one rule with `allow`, or one with `deny`",
        ),
        (
            "name: x",
            "switchboard.yaml:7:11: agents.a.access.rules[0]: neither allows nor denies anything\n  hint: write one rule with `allow`, or one with `deny`",
        ),
    ] {
        assert_eq!(problems(&agent(rule)), problem, "{rule}");
    }
    let unread = problems(&agent("allow: 'caller.tenant =='"));
    assert!(
        unread.starts_with("switchboard.yaml:7:11: agents.a.access.rules[0].allow: column "),
        "{unread}"
    );
}

#[test]
fn scopes_are_words_that_someone_can_have() {
    let wrong = problems("agents: {a: {scopes: ['two words'], script: [complete: x]}}\n");
    assert_eq!(
        wrong,
        "switchboard.yaml:2:23: agents.a.scopes[0]: `two words` is not a valid scope\n  hint: write one word without quotes and backslashes"
    );
    let open = problems("agents: {a: {auth: none, scopes: [s], script: [complete: x]}}\n");
    assert_eq!(
        open,
        "switchboard.yaml:2:26: agents.a.scopes: no caller can have this scope: the agent requires no authentication\n  \
         hint: name a method under `auth`, or leave the scopes out"
    );
}

#[test]
fn an_agent_that_opens_anothers_door_is_doubted() {
    let doubts = |yaml: &str| {
        let written = Written::new(&format!("{METHODS}{yaml}"));
        let dir = format!("{}/", written.dir.path().display());
        let doubts = written.load().unwrap().doubts;
        let doubts = doubts.iter().map(ToString::to_string);
        doubts
            .map(|doubt| doubt.replace(&dir, ""))
            .collect::<Vec<_>>()
    };
    let calls = "script: [{call: {agent: vault}}]";
    let vault = |more: &str| format!("vault: {{script: [complete: x]{more}}}");
    for (open, closed) in [
        ("auth: none, ", ""),
        ("auth: [keys, none], ", ""),
        ("", ", scopes: [a]"),
    ] {
        let yaml = format!("agents:\n  hall: {{{open}{calls}}}\n  {}\n", vault(closed));
        let doubted = doubts(&yaml);
        assert_eq!(doubted.len(), 1, "{yaml}: {doubted:?}");
        assert!(
            doubted[0].contains(
                "agents.hall.script: calls `vault` for callers who are not authorized for it"
            ),
            "{doubted:?}"
        );
    }
    let ruled = ", access: {rules: [{deny: 'caller.subject == \"\"', on: delegation}]}";
    for (open, closed) in [
        ("", ""),
        ("auth: none, ", ", auth: none"),
        ("scopes: [a, b], ", ", scopes: [a]"),
        ("auth: none, ", ruled),
    ] {
        let yaml = format!("agents:\n  hall: {{{open}{calls}}}\n  {}\n", vault(closed));
        assert_eq!(doubts(&yaml), [""; 0], "{yaml}");
    }
}
