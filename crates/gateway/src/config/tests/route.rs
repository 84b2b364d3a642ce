//! Rules by which messages go to other agents.

use super::Written;

fn problems(routes: &str) -> String {
    let yaml = format!(
        "agents:\n  desk:\n    script: [complete: x]\n    routes:\n{routes}\n  poet: {{script: [complete: x]}}\n"
    );
    let written = Written::new(&yaml);
    let dir = format!("{}/", written.dir.path().display());
    match written.load() {
        Ok(config) => format!("{} rules", config.agents[0].routes.len()),
        Err(problems) => problems.to_string().replace(&dir, ""),
    }
}

#[test]
fn rules_that_can_be_followed_are_taken() {
    let good = r#"
      - {name: a, text: 'invoice|bill', skill: sums, when: 'caller.authenticated', to: poet, priority: -3}
      - {skill: [a, b], answer: "no {{text}}", enabled: false, description: for later}
      - {to: poet}"#;
    assert_eq!(problems(good), "3 rules");
}

#[test]
fn what_is_wrong_with_a_rule_is_told_where_it_stands() {
    for (rule, expected) in [
        (
            "{text: x}",
            "switchboard.yaml:5:9: agents.desk.routes[0]: does nothing with the messages it takes",
        ),
        (
            "{to: poet, answer: x}",
            "agents.desk.routes[0]: `to` and `answer` are mutually exclusive",
        ),
        (
            "{to: poett}",
            "agents.desk.routes: calls `poett`, but there is no such agent",
        ),
        ("{to: poett}", "did you mean `poet`?"),
        (
            "{to: desk}",
            "agents.desk.routes: hands tasks off to itself",
        ),
        ("{to: poet, text: '(a'}", "agents.desk.routes[0].text: "),
        (
            "{to: poet, text: 'x{9999999}'}",
            "agents.desk.routes[0].text: ",
        ),
        (
            "{to: poet, when: 'task.id == 1'}",
            "agents.desk.routes[0].when: ",
        ),
        (
            "{to: poet, when: ''}",
            "agents.desk.routes[0].when: is empty",
        ),
        ("{answer: '{{what}}'}", "agents.desk.routes[0].answer: "),
        (
            "{to: poet, priority: high}",
            "agents.desk.routes[0].priority: ",
        ),
        ("{to: poet, patern: x}", "agents.desk.routes[0]"),
    ] {
        let told = problems(&format!("      - {rule}"));
        assert!(told.contains(expected), "{rule}: {told}");
    }
}

#[test]
fn a_rule_that_opens_anothers_door_is_doubted() {
    let written = Written::new(
        "auth: {methods: {keys: {api_key: {}}}}\nagents:\n  hall: {auth: none, script: [complete: x], routes: [{to: vault}]}\n  \
         vault: {script: [complete: x]}\n",
    );
    let doubts = written.load().unwrap().doubts;
    let told = doubts[0].to_string();
    let expected = "agents.hall.routes: calls `vault` for callers who are not authorized for it";
    assert!(told.contains(expected), "{told}");
}
