//! Where the answer is. Agents put it in different places; the first that holds something counts: artifacts, the
//! status, the last thing the agent said, the bare message.
//!
//! What an agent said while it worked is never put together: there are agents that repeat the whole text with every
//! word.

use std::sync::Arc;

use switchboard_types::model::{Artifact, Content, Message, Part, Role, Task};

use crate::client::Sent;

/// What LangGraph says in place of an answer when a task is read.
const NO_ANSWER: &str = "Task completed successfully";

/// Something that may hold an answer.
pub trait HasAnswer: sealed::Answers {}

impl<T: sealed::Answers + ?Sized> HasAnswer for T {}

mod sealed {
    use switchboard_types::model::Part;

    #[expect(unnameable_types, reason = "nobody else is to implement it")]
    pub trait Answers {
        fn parts(&self) -> Vec<&Part>;
    }
}

/// The text of an answer: its text parts, joined by newlines; if it has none, its data as JSON.
pub fn answer_text(of: &(impl HasAnswer + ?Sized)) -> String {
    let parts = of.parts();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.as_text()).collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    let data = parts.iter().filter_map(|part| match &part.content {
        Content::Data(json) => Some(json.as_str()),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    });
    data.collect::<Vec<_>>().join("\n")
}

/// All parts of an answer, files and data with them.
pub fn answer_parts(of: &(impl HasAnswer + ?Sized)) -> Vec<Part> {
    of.parts().into_iter().cloned().collect()
}

impl sealed::Answers for Message {
    fn parts(&self) -> Vec<&Part> {
        self.parts.iter().collect()
    }
}

impl sealed::Answers for Task {
    fn parts(&self) -> Vec<&Part> {
        let produced = self
            .artifacts
            .iter()
            .flat_map(|artifact: &Arc<Artifact>| &artifact.parts);
        let produced: Vec<&Part> = produced.filter(|part| says_something(part)).collect();
        if !produced.is_empty() {
            return produced;
        }
        let mut history = self.history.iter().rev();
        let last = history.find(|message| {
            message.role == Role::Agent && message.parts.iter().any(says_something)
        });
        match (&self.status.message, last) {
            (Some(said), Some(last)) if said.text() == NO_ANSWER => last.parts.iter().collect(),
            (Some(said), _) if said.parts.iter().any(says_something) => said.parts.iter().collect(),
            (_, Some(last)) => last.parts.iter().collect(),
            _ => Vec::new(),
        }
    }
}

impl sealed::Answers for Sent {
    fn parts(&self) -> Vec<&Part> {
        match self {
            Self::Task(task) => sealed::Answers::parts(&**task),
            Self::Message(message) => sealed::Answers::parts(&**message),
        }
    }
}

fn says_something(part: &Part) -> bool {
    part.as_text().is_none_or(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::Dialect;
    use switchboard_types::wire::decode_task;

    #[test]
    fn the_answer_is_found_wherever_agents_put_it() {
        let text = |text: &str| format!(r#"{{"kind":"text","text":"{text}"}}"#);
        let said = |role: &str, said: &str| {
            format!(
                r#"{{"role":"{role}","messageId":"m-{role}{said}","parts":[{}]}}"#,
                text(said)
            )
        };
        let status =
            |message: &str| format!(r#""status":{{"state":"completed","message":{message}}}"#);
        let done = r#""status":{"state":"completed"}"#;
        let artifact =
            |parts: &str| format!(r#""artifacts":[{{"artifactId":"a","parts":[{parts}]}}]"#);
        let history = format!(
            r#""history":[{},{}]"#,
            said("user", "hi"),
            said("agent", "old")
        );
        for (task, expected) in [
            (
                format!(
                    "{done},{}",
                    artifact(&format!("{},{}", text("a"), text("b")))
                ),
                "a\nb",
            ),
            (
                format!(
                    "{},{}",
                    status(&said("agent", "status")),
                    artifact(&text("art"))
                ),
                "art",
            ),
            (
                format!(
                    "{},{}",
                    status(&said("agent", "status")),
                    artifact(&text(""))
                ),
                "status",
            ),
            (
                format!("{},{history}", status(&said("agent", "status"))),
                "status",
            ),
            (
                format!("{},{history}", status(&said("agent", NO_ANSWER))),
                "old",
            ),
            (status(&said("agent", NO_ANSWER)), NO_ANSWER),
            (format!("{done},{history}"), "old"),
            (
                format!("{done},{}", artifact(r#"{"kind":"data","data":{"n":1}}"#)),
                r#"{"n":1}"#,
            ),
            (done.to_owned(), ""),
        ] {
            let json = format!(r#"{{"kind":"task","id":"t","contextId":"c",{task}}}"#);
            let task = decode_task(Dialect::from_tag("0.3").unwrap(), &json).unwrap();
            assert_eq!(answer_text(&task), expected, "{json}");
        }
    }
}
