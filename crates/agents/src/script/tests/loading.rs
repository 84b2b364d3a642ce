//! What is wrong with a script is said when it is loaded, and where.

use super::super::AgentFile;
use super::*;

/// Each bad script, what is said about it, and in which line.
const BAD: [(&str, &str, u32); 17] = [
    ("- sya: hi", "unknown variant `sya`", 1),
    ("- say: hi\n- wait: soon", "`soon` is not a duration", 2),
    ("- say: hi\n- wait: 2", "`2` is not a duration", 2),
    ("- say: 12", "expected a text", 1),
    (
        "- say: hi\n\n- say: \"{{txet}}\"",
        "unknown variable `txet`",
        3,
    ),
    ("- say: \"{{text\"", "without `}}`", 1),
    ("- say: { txet: hi }", "unknown field `txet`", 1),
    (
        "- say:\n    parts:\n      - data: { a: \"{{b}}\" }",
        "unknown variable `b`",
        3,
    ),
    (
        "- say: { parts: [{ text: a, url: b }] }",
        "exactly one of",
        1,
    ),
    ("- say: { parts: [{ media_type: b }] }", "exactly one of", 1),
    ("- say: { parts: [{ raw: \"?\" }] }", "raw is not base64", 1),
    (
        "- say: { parts: [{ copy: everything }] }",
        "cannot copy `everything`",
        1,
    ),
    (
        "- say: hi\n- complete: done\n- say: more",
        "no step can follow",
        3,
    ),
    ("- repeat: { do: [] }", "either times or words", 1),
    (
        "- repeat: { times: 1, words: a, do: [] }",
        "either times or words",
        1,
    ),
    (
        "- say: hi\n- repeat: { times: 10001, do: [] }",
        "not a number from 0 to 10000",
        2,
    ),
    (
        "- choose:\n    - when:\n        text: \"(\"",
        "unclosed group",
        3,
    ),
];

#[test]
fn says_what_is_wrong_and_where() {
    for (yaml, what, line) in BAD {
        let error = Script::parse(yaml).unwrap_err().to_string();
        assert!(error.contains(what), "{yaml}\n{error}");
        assert!(
            error.contains(&format!("line {line} column")),
            "{yaml}\n{error}"
        );
    }
}

#[test]
fn a_result_must_come_from_a_call() {
    for (yaml, what) in [
        (
            "- say: \"{{call.a.text}}\"\n- call: { agent: b }",
            "no step calls `a`",
        ),
        (
            "- call: { agent: a, as: c }\n- say: { parts: [{ copy: call.a }] }",
            "no step calls `a`",
        ),
    ] {
        assert_eq!(Script::parse(yaml).unwrap_err().to_string(), what);
    }
}

#[test]
fn a_file_has_a_profile_and_a_script() {
    let file = AgentFile::parse("profile: { reply: message }\nscript: [{ reply: hi }]").unwrap();
    assert!(file.profile.reply_message());
    assert_eq!(file.profile.version, "1.0.0");
    let error = AgentFile::parse("profile: { tilte: x }\nscript: []").unwrap_err();
    assert!(
        error.to_string().contains("unknown field `tilte`"),
        "{error}"
    );
}

#[test]
fn the_examples_of_the_reference_are_scripts() {
    let reference = include_str!("../language.md");
    let examples = reference.split("```yaml\n").skip(1);
    let examples: Vec<&str> = examples.filter_map(|e| e.split("```").next()).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        Script::parse(example).unwrap();
    }
}

#[test]
fn the_schema_describes_every_step() {
    let schema = serde_json::to_value(schemars::schema_for!(AgentFile)).unwrap();
    let steps = schema["$defs"]["Step"]["oneOf"].as_array().unwrap();
    assert_eq!(steps.len(), 14);
    for step in steps {
        assert!(step["description"].is_string(), "{step}");
    }
}
