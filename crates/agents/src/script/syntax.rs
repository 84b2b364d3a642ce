//! The parts of the language that serde cannot derive: short forms, and the checks that need
//! more than one step to see.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, de};

use super::language::{Content, Question, Script, Step, Steps};
use super::template::{Template, Variable};

/// A `T`, written as a map, or in short as its text.
#[derive(Debug, Clone)]
pub struct TextOr<T>(pub(super) T);

impl From<Template> for Content {
    fn from(text: Template) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }
}

impl From<Template> for Question {
    fn from(text: Template) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }
}

struct TextOrMap<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + From<Template>> de::Visitor<'de> for TextOrMap<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text (in quotes where YAML would read a number, yes or no), or a map")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse::<Template>().map(T::from).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de, T: Deserialize<'de> + From<Template>> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(TextOrMap(PhantomData))
            .map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for TextOr<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TextOr{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<Template>();
        let map = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [text, map] })
    }
}

impl Step {
    /// Whether the turn is over with this step.
    fn ends(&self) -> bool {
        matches!(
            self,
            Self::HandOff(_)
                | Self::Complete(_)
                | Self::Ask(_)
                | Self::RequireAuth(_)
                | Self::Reject(_)
                | Self::Fail(_)
                | Self::Reply(_)
        )
    }

    /// The steps within this step.
    fn inner(&self) -> Vec<&Steps> {
        match self {
            Self::Repeat(repeat) => vec![&repeat.steps],
            Self::Choose(cases) => cases.iter().map(|case| &case.steps).collect(),
            Self::Call(call) => call.failed.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The templates of this step, not of those within.
    fn templates(&self) -> Vec<&Template> {
        let mut out = Vec::new();
        match self {
            Self::Say(TextOr(c)) | Self::Complete(TextOr(c)) | Self::RequireAuth(TextOr(c)) => {
                c.templates(&mut out);
            }
            Self::Reject(TextOr(c)) | Self::Reply(TextOr(c)) => c.templates(&mut out),
            Self::Wait(delay) => out.push(delay.template()),
            Self::Fail(text) => out.push(text),
            Self::Artifact(artifact) => {
                out.push(&artifact.name);
                out.extend(artifact.description.iter().chain(&artifact.text));
                artifact.parts.iter().for_each(|p| p.templates(&mut out));
                artifact
                    .metadata
                    .values()
                    .for_each(|d| d.templates(&mut out));
            }
            Self::Chunk(chunk) => {
                out.push(&chunk.name);
                out.extend(&chunk.text);
                chunk.parts.iter().for_each(|p| p.templates(&mut out));
            }
            Self::Repeat(repeat) => {
                out.extend(repeat.times.iter().map(|count| count.template()));
                out.extend(&repeat.words);
            }
            Self::Ask(TextOr(question)) => {
                out.extend(&question.text);
                question.parts.iter().for_each(|p| p.templates(&mut out));
                question
                    .metadata
                    .values()
                    .for_each(|d| d.templates(&mut out));
                if let Some(input) = &question.input {
                    out.extend(input.prompt.iter().chain(&input.id));
                }
            }
            Self::Call(call) => {
                out.extend(&call.text);
                call.parts.iter().for_each(|p| p.templates(&mut out));
                call.metadata.values().for_each(|d| d.templates(&mut out));
            }
            Self::Choose(_) | Self::HandOff(_) => {}
        }
        out
    }

    /// The parts this step writes.
    fn parts(&self) -> &[super::part::Part] {
        match self {
            Self::Say(TextOr(c))
            | Self::Complete(TextOr(c))
            | Self::RequireAuth(TextOr(c))
            | Self::Reject(TextOr(c))
            | Self::Reply(TextOr(c)) => &c.parts,
            Self::Artifact(artifact) => &artifact.parts,
            Self::Chunk(chunk) => &chunk.parts,
            Self::Ask(TextOr(question)) => &question.parts,
            Self::Call(call) => &call.parts,
            Self::Wait(_)
            | Self::Repeat(_)
            | Self::Choose(_)
            | Self::HandOff(_)
            | Self::Fail(_) => &[],
        }
    }
}

impl Content {
    fn templates<'a>(&'a self, out: &mut Vec<&'a Template>) {
        out.extend(&self.text);
        self.parts.iter().for_each(|p| p.templates(out));
        self.metadata.values().for_each(|d| d.templates(out));
    }
}

impl Steps {
    /// Every step, those within others too.
    fn all<'a>(&'a self, out: &mut Vec<&'a Step>) {
        for step in &self.0 {
            out.push(step);
            step.inner().into_iter().for_each(|steps| steps.all(out));
        }
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(StepsVisitor)
    }
}

struct StepsVisitor;

impl<'de> de::Visitor<'de> for StepsVisitor {
    type Value = Steps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of steps")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Steps, A::Error> {
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let after_end = steps.last().is_some_and(Step::ends);
            let Some(step) = seq.next_element_seed(NextStep { after_end })? else {
                return Ok(Steps(steps));
            };
            steps.push(step);
        }
    }
}

/// Checks a step where it stands, so that an error can tell the line.
struct NextStep {
    after_end: bool,
}

impl<'de> de::DeserializeSeed<'de> for NextStep {
    type Value = Step;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Step, D::Error> {
        let step = Step::deserialize(deserializer)?;
        if self.after_end {
            return Err(de::Error::custom(
                "no step can follow one that ends the turn",
            ));
        }
        if let Step::Repeat(repeat) = &step
            && repeat.times.is_some() == repeat.words.is_some()
        {
            return Err(de::Error::custom("repeat needs either times or words"));
        }
        Ok(step)
    }
}

impl TryFrom<Steps> for Script {
    type Error = String;

    fn try_from(steps: Steps) -> Result<Self, String> {
        let mut all = Vec::new();
        steps.all(&mut all);
        let known: BTreeSet<&str> = all
            .iter()
            .filter_map(|step| match step {
                Step::Call(call) => Some(call.name()),
                _ => None,
            })
            .collect();
        for step in &all {
            let copied = step.parts().iter().filter_map(|part| part.copied_call());
            let templates = step.templates();
            let put_in = templates.iter().flat_map(|t| t.variables());
            let read = put_in.filter_map(|variable| match variable {
                Variable::Call(name, _) => Some(name.as_str()),
                _ => None,
            });
            if let Some(name) = copied.chain(read).find(|name| !known.contains(name)) {
                return Err(format!("no step calls `{name}`"));
            }
        }
        Ok(Self(steps))
    }
}

impl Script {
    /// Whether the script asks for earlier tasks, which must be fetched before it runs.
    pub(super) fn looks_back(&self) -> bool {
        let mut all = Vec::new();
        self.0.all(&mut all);
        let mut templates = all.iter().flat_map(|step| step.templates());
        templates.any(Template::looks_back)
    }

    /// The agents it calls.
    #[must_use]
    pub fn calls(&self) -> BTreeSet<&str> {
        let mut all = Vec::new();
        self.0.all(&mut all);
        let calls = all.into_iter().filter_map(|step| match step {
            Step::Call(call) => Some(call.agent.as_str()),
            Step::HandOff(agent) => Some(agent.0.as_str()),
            _ => None,
        });
        calls.collect()
    }
}
