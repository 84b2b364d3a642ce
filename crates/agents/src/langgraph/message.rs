//! What a caller says, as the server can take it. Pure.
//!
//! Of several texts in a message the server hears one only, so they are sent as one. The keys of data become the state
//! of the graph: those that would take the place of the text, or answer a question, are not for callers to set.

use serde_json::{Map, Value};
use switchboard_types::model::{Content, Json, Part};

use super::events::Begun;

/// Keys of data that do more than to set the state: they replace the text, or are read as an answer to a question.
const DANGEROUS: [&str; 2] = ["messages", "resume"];

/// What the server is sent for these parts, or why it cannot be.
pub(super) fn outgoing(parts: &[Part], allowed: Option<&[String]>) -> Result<Vec<Part>, String> {
    let mut sent = Vec::new();
    if let Some(text) = text(parts) {
        sent.push(Part::text(text));
    }
    for part in parts {
        match &part.content {
            Content::Text(_) => {}
            Content::Data(data) => {
                may_be_set(data, allowed)?;
                sent.push(Part::data(data.clone()));
            }
            Content::Raw(_) | Content::Url(_) => sent.push(Part {
                metadata: None,
                ..part.clone()
            }),
        }
    }
    Ok(sent)
}

/// All texts as one, a line each.
fn text(parts: &[Part]) -> Option<String> {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// What a run is known by that was begun with this message.
pub(super) fn begins(parts: &[Part], id: &str) -> Begun {
    let is_data = |part: &Part| matches!(part.content, Content::Data(_));
    if !parts.iter().all(is_data) {
        return Begun::Message(id.to_owned(), text(parts).unwrap_or_default());
    }
    let mut state = Map::new();
    for part in parts {
        if let Content::Data(data) = &part.content {
            state.extend(data.read::<Map<String, Value>>().unwrap_or_default());
        }
    }
    Begun::Data(state)
}

fn may_be_set(data: &Json, allowed: Option<&[String]>) -> Result<(), String> {
    let members: Option<Map<String, Value>> = data.read();
    let members = members
        .ok_or("data for this agent must be a JSON object: its keys set the state of the graph")?;
    for key in members.keys() {
        let may = match allowed {
            Some(allowed) => allowed.contains(key),
            None => !DANGEROUS.contains(&key.as_str()),
        };
        if !may {
            return Err(format!("data for this agent must not have the key {key:?}"));
        }
    }
    Ok(())
}

/// What a question is answered with, or why it cannot be. `asked` are the ids of the questions.
pub(super) fn answer(parts: &[Part], asked: &[String]) -> Result<Value, String> {
    let data: Vec<&Json> = parts
        .iter()
        .filter_map(|part| match &part.content {
            Content::Data(data) => Some(data),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
        })
        .collect();
    let said = text(parts).filter(|text| !text.trim().is_empty());
    let is_file = |part: &Part| matches!(part.content, Content::Raw(_) | Content::Url(_));
    if parts.iter().any(is_file) {
        return Err("this question can be answered with text or data, not with a file".to_owned());
    }
    let given = match (said, data.as_slice()) {
        (Some(text), []) => Value::String(text),
        (None, [one]) => one.read().unwrap_or_default(),
        (None, []) => Value::String(String::new()),
        _ => return Err("answer with text, or with one data part, not with both".to_owned()),
    };
    Ok(addressed(given, asked))
}

/// Several questions at once are answered each by its id: all alike, unless the answer names them.
pub(super) fn addressed(given: Value, asked: &[String]) -> Value {
    if asked.len() < 2 {
        return given;
    }
    if let Value::Object(members) = &given
        && !members.is_empty()
        && members.keys().all(|key| asked.contains(key))
    {
        return given;
    }
    let each = asked.iter().map(|id| (id.clone(), given.clone()));
    Value::Object(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn data(value: &Value) -> Part {
        Part::data(Json::from(value))
    }

    fn file() -> Part {
        Part::new(Content::Url("https://files.example/a.png".to_owned()))
    }

    #[test]
    fn s0_010_texts_are_sent_as_one_part() {
        let said = [
            Part::text("one"),
            data(&json!({"n": 1})),
            Part::text("two"),
            file(),
        ];
        let sent = outgoing(&said, None).unwrap();
        assert_eq!(
            sent,
            [Part::text("one\ntwo"), data(&json!({"n": 1})), file()]
        );
    }

    #[test]
    fn data_sets_no_more_than_it_may() {
        let refused = |value: Value, allowed: Option<&[String]>| {
            outgoing(&[data(&value)], allowed).err().unwrap_or_default()
        };
        assert!(refused(json!({"messages": []}), None).contains("\"messages\""));
        assert!(refused(json!({"resume": 1}), None).contains("\"resume\""));
        assert!(refused(json!([1]), None).contains("JSON object"));
        let allowed = ["messages".to_owned()];
        assert!(refused(json!({"topic": 1}), Some(&allowed)).contains("\"topic\""));
        assert_eq!(refused(json!({"messages": []}), Some(&allowed)), "");
    }

    #[test]
    fn a_question_is_answered_with_text_or_data() {
        let one = ["a".to_owned()];
        let two = ["a".to_owned(), "b".to_owned()];
        let text = [Part::text("yes")];
        assert_eq!(answer(&text, &one), Ok(json!("yes")));
        assert_eq!(answer(&text, &two), Ok(json!({"a": "yes", "b": "yes"})));
        let named = [data(&json!({"b": 1, "a": 2}))];
        assert_eq!(answer(&named, &two), Ok(json!({"a": 2, "b": 1})));
        assert_eq!(answer(&named, &one), Ok(json!({"a": 2, "b": 1})));
        let other = [data(&json!({"c": 1}))];
        assert_eq!(
            answer(&other, &two),
            Ok(json!({"a": {"c": 1}, "b": {"c": 1}}))
        );
        assert!(answer(&[Part::text("x"), data(&json!(1))], &one).is_err());
        assert!(answer(&[file()], &one).is_err());
    }
}
