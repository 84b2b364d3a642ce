//! Checks one request in a file, as someone who writes a client by hand would before asking for help.

use std::fmt::Write;

use serde_json::{Value, json};

/// One thing that is right or wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is right.
    pub title: &'static str,
    /// What is wrong.
    pub wrong: Option<String>,
}

/// The five things that are most often wrong in a JSON-RPC request of A2A 0.3.
#[must_use]
pub fn look(text: &str) -> Vec<Finding> {
    let request: Value = match serde_json::from_str(text) {
        Ok(request) => request,
        Err(error) => {
            let wrong = Some(error.to_string());
            return vec![Finding {
                title: "it is JSON",
                wrong,
            }];
        }
    };
    let finding = |title, wrong| Finding { title, wrong };
    let is = |member: &str, wanted: &str| {
        (request[member] != wanted).then(|| format!("{member} is {}", request[member]))
    };
    let parts = &request["params"]["message"]["parts"];
    let id = match request.get("id") {
        None | Some(Value::Null) => Some("there is no id".to_owned()),
        Some(Value::String(_) | Value::Number(_)) => None,
        Some(other) => Some(format!("id is {other}")),
    };
    vec![
        finding("jsonrpc is 2.0", is("jsonrpc", "2.0")),
        finding("id is there", id),
        finding("method is message/send", is("method", "message/send")),
        finding(
            "params.message.parts is a list",
            (!parts.is_array()).then(|| format!("params.message.parts is {parts}")),
        ),
        finding("each part has a kind and its content", bad_part(parts)),
    ]
}

/// The first part that lacks something.
fn bad_part(parts: &Value) -> Option<String> {
    let parts = parts.as_array()?;
    if parts.is_empty() {
        return Some("there is no part".to_owned());
    }
    parts.iter().enumerate().find_map(|(at, part)| {
        let content = match part["kind"].as_str() {
            Some(kind @ ("text" | "file" | "data")) => kind,
            Some(other) => return Some(format!("parts[{at}] has the unknown kind {other:?}")),
            None => return Some(format!("parts[{at}] has no kind")),
        };
        let there = match content {
            "text" => part["text"].is_string(),
            name => part[name].is_object(),
        };
        (!there).then(|| format!("parts[{at}] has no {content}"))
    })
}

/// The findings for people.
#[must_use]
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { title, wrong } in findings {
        // Writing to a string cannot fail.
        let _ = match wrong {
            None => writeln!(text, "pass  {title}"),
            Some(why) => writeln!(text, "fail  {title}: {why}"),
        };
    }
    text
}

/// The findings for programs.
#[must_use]
pub fn json(findings: &[Finding]) -> String {
    let checks: Vec<Value> = findings
        .iter()
        .map(|Finding { title, wrong }| json!({"title": title, "passed": wrong.is_none(), "why": wrong}))
        .collect();
    let passed = findings.iter().all(|finding| finding.wrong.is_none());
    format!("{:#}\n", json!({"passed": passed, "checks": checks}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(request: &Value) -> Vec<usize> {
        let findings = look(&request.to_string());
        assert_eq!(findings.len(), 5);
        let wrong = findings
            .iter()
            .enumerate()
            .filter(|(_, finding)| finding.wrong.is_some());
        wrong.map(|(at, _)| at + 1).collect()
    }

    #[test]
    fn each_of_the_five_is_found() {
        let good = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send",
            "params": {"message": {"parts": [{"kind": "text", "text": "hi"}, {"kind": "data", "data": {}}]}}});
        assert_eq!(wrong(&good), [0_usize; 0]);
        for (at, path, value) in [
            (1, "/jsonrpc", json!("1.0")),
            (2, "/id", Value::Null),
            (2, "/id", json!({})),
            (3, "/method", json!("message/stream")),
            (4, "/params/message/parts", json!("hi")),
            (5, "/params/message/parts/0/kind", Value::Null),
            (5, "/params/message/parts/0/text", Value::Null),
            (5, "/params/message/parts", json!([])),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(path).unwrap() = value.clone();
            assert_eq!(wrong(&bad), [at], "{path} {value}");
        }
    }

    #[test]
    fn what_is_not_json_is_said_to_be_so() {
        let findings = look("{");
        assert_eq!(findings[0].title, "it is JSON");
        assert!(text(&findings).starts_with("fail  it is JSON: "));
        assert!(json(&findings).contains("\"passed\": false"));
    }
}
