//! Agents: raw to checked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::script::Script;
use switchboard_types::model;

use super::load::{Check, read_file};
use super::raw;
use super::value::Url;
use super::yaml::{self, Step, Step::Item, Step::Key};
use super::{
    Agent, Backend, CardShape, ExtendedCard, OnDisconnect, OnInputTimeout, Profile, ReplyKind,
    Settings, Timeouts,
};

/// Names that addresses of Switchboard itself begin with, now or soon.
const RESERVED: [&str; 27] = [
    "a2a",
    "admin",
    "agent-card",
    "agents",
    "api",
    "assets",
    "auth",
    "console",
    "docs",
    "events",
    "favicon.ico",
    "healthz",
    "livez",
    "login",
    "message",
    "metrics",
    "openapi.json",
    "readyz",
    "robots.txt",
    "rpc",
    "static",
    "tasks",
    "v1",
    "v2",
    "version",
    "webhooks",
    "well-known",
];

/// Longer names make addresses no one can read.
const LONGEST_NAME: usize = 63;

/// The agents Switchboard brings along.
pub(super) fn built_in() -> Vec<Agent> {
    Vec::new()
}

impl Check<'_> {
    /// All agents of the file.
    pub(super) fn agents(&mut self, raw: raw::Agents) -> Vec<Agent> {
        if raw.0.is_empty() && self.tree.get("agents").is_none_or(is_empty) {
            self.wrong(
                &[Key("agents")],
                "there are no agents".to_owned(),
                Some(
                    "add one under `agents:`, or try `switchboard up`, which brings its own"
                        .to_owned(),
                ),
            );
        }
        raw.0
            .into_iter()
            .filter_map(|(name, agent)| self.agent(&name, agent))
            .collect()
    }

    fn agent(&mut self, name: &str, mut raw: raw::Agent) -> Option<Agent> {
        let at = [Key("agents"), Key(name)];
        if let Err((message, hint)) = check_name(name) {
            self.wrong(&at, message, Some(hint));
        }
        let backend = self.backend(&at, raw.script.take(), raw.script_file.take());
        let settings = self.settings(&at, &mut raw);
        let profile = self.profile(&at, name, raw);
        self.second_skills(&at, &profile, settings.extended_card.as_ref());
        Some(Agent {
            name: Arc::from(name),
            profile,
            backend: backend?,
            settings,
        })
    }

    /// Exactly one thing stands behind an agent. New kinds of backend add a line here.
    fn backend(
        &mut self,
        at: &[Step<'_>],
        script: Option<Script>,
        file: Option<String>,
    ) -> Option<Backend> {
        const KINDS: [&str; 2] = ["script", "script_file"];
        let entry = at_path(self.tree, at);
        let written: Vec<_> = KINDS
            .into_iter()
            .filter(|kind| entry.is_some_and(|entry| entry.get(kind).is_some()))
            .collect();
        match written.as_slice() {
            [] => {
                self.wrong(
                    at,
                    "nothing stands behind this agent".to_owned(),
                    Some("add `script` or `script_file`".to_owned()),
                );
                None
            }
            [_] => match (script, file) {
                (Some(script), _) => Some(Backend::Script(script)),
                (None, Some(file)) => self.script_file(at, &file).map(Backend::Script),
                (None, None) => None,
            },
            [first, .., last] => {
                let message = format!("`{first}` and `{last}` cannot stand together");
                self.wrong(
                    &join(at, Key(last)),
                    message,
                    Some("keep one of them".to_owned()),
                );
                None
            }
        }
    }

    fn script_file(&mut self, at: &[Step<'_>], file: &str) -> Option<Script> {
        let path = self.base.join(file);
        let before = self.problems.len();
        let tree = read_file(&path, self.env, &mut self.problems);
        if tree.is_none() && matches!(self.problems.get(before), Some(p) if is_whole(p)) {
            // Unreadable: the place to mend it is here.
            let cause = self.problems.remove(before);
            let message = format!("{} {}", path.display(), cause.message);
            self.wrong(
                &join(at, Key("script_file")),
                message,
                Some("the path is relative to the configuration file".to_owned()),
            );
        }
        yaml::read_all(tree?, &mut self.problems)
    }

    fn settings(&mut self, at: &[Step<'_>], raw: &mut raw::Agent) -> Settings {
        let timeouts = raw.timeouts.take().unwrap_or_default();
        let time = |key| [at, &[Key("timeouts"), Key(key)]].concat();
        let minutes = |n: u64| Duration::from_secs(n * 60);
        let extended_card = raw.extended_card.take().map(|card| {
            let place = join(at, Key("extended_card"));
            ExtendedCard {
                description: card.description,
                skills: self.skills(&place, card.skills.unwrap_or_default()),
            }
        });
        Settings {
            reply: raw.reply.unwrap_or(ReplyKind::Task),
            streaming: raw.streaming.unwrap_or(true),
            push_notifications: raw.push_notifications.unwrap_or(true),
            extended_card,
            extensions: self.extensions(at, raw.extensions.take().unwrap_or_default()),
            card: raw.card.unwrap_or(CardShape::Union),
            timeouts: Timeouts {
                task: self.some_bound(&time("task"), timeouts.task, minutes(10)),
                input: self.some_bound(&time("input"), timeouts.input, minutes(5)),
                blocking: self.some_bound(&time("blocking"), timeouts.blocking, minutes(5)),
                cancel_grace: timeouts
                    .cancel_grace
                    .map_or(Duration::from_secs(5), |time| time.0),
            },
            on_input_timeout: raw.on_input_timeout.unwrap_or(OnInputTimeout::Fail),
            on_disconnect: raw.on_disconnect.unwrap_or(OnDisconnect::Keep),
            dedupe_by_message_id: raw.dedupe_by_message_id.unwrap_or(false),
        }
    }

    fn profile(&mut self, at: &[Step<'_>], name: &str, raw: raw::Agent) -> Profile {
        let title = raw.title.unwrap_or_else(|| name.to_owned());
        let description = raw.description.unwrap_or_else(|| title.clone());
        let mut skills = self.skills(at, raw.skills.unwrap_or_default());
        if skills.is_empty() {
            skills.push(only_skill(name, &title, &description));
        }
        Profile {
            title,
            description,
            version: raw.version.unwrap_or_else(|| "1.0.0".to_owned()),
            provider: raw.provider.map(|provider| model::Provider {
                organization: provider.organization,
                url: provider.url.0,
            }),
            documentation_url: raw.documentation_url.map(text),
            icon_url: raw.icon_url.map(text),
            skills,
            input_modes: self.modes(at, "input_modes", raw.input_modes),
            output_modes: self.modes(at, "output_modes", raw.output_modes),
        }
    }

    fn modes(&mut self, at: &[Step<'_>], key: &str, modes: Option<Vec<String>>) -> Vec<String> {
        let modes = modes.unwrap_or_else(|| vec!["text/plain".to_owned()]);
        if modes.is_empty() || modes.iter().any(|mode| mode.trim().is_empty()) {
            self.wrong(
                &join(at, Key(key)),
                "must name at least one media type, and no empty one".to_owned(),
                Some("leave the key out for `text/plain`".to_owned()),
            );
        }
        modes
    }

    fn skills(&mut self, at: &[Step<'_>], raw: Vec<raw::Skill>) -> Vec<model::Skill> {
        let mut seen = BTreeSet::new();
        let mut skills = Vec::with_capacity(raw.len());
        for (i, skill) in raw.into_iter().enumerate() {
            let place = [at, &[Key("skills"), Item(i), Key("id")]].concat();
            if skill.id.trim().is_empty() {
                self.wrong(&place, "must not be empty".to_owned(), None);
            } else if !seen.insert(skill.id.clone()) {
                let message = format!("there are two skills with the id `{}`", skill.id);
                self.wrong(&place, message, None);
            }
            skills.push(model::Skill {
                name: skill.name.unwrap_or_else(|| skill.id.clone()),
                id: skill.id,
                description: skill.description,
                tags: skill.tags.unwrap_or_default(),
                examples: skill.examples.unwrap_or_default(),
                input_modes: skill.input_modes.unwrap_or_default(),
                output_modes: skill.output_modes.unwrap_or_default(),
                security: Vec::new(),
            });
        }
        skills
    }

    /// The second card holds the skills of both.
    fn second_skills(&mut self, at: &[Step<'_>], first: &Profile, second: Option<&ExtendedCard>) {
        let more = second.map_or(&[][..], |card| &card.skills);
        for (i, skill) in more.iter().enumerate() {
            if first.skills.iter().any(|known| known.id == skill.id) {
                let place = [
                    at,
                    &[Key("extended_card"), Key("skills"), Item(i), Key("id")],
                ]
                .concat();
                let message = format!("the public card has a skill with the id `{}` too", skill.id);
                self.wrong(&place, message, None);
            }
        }
    }

    fn extensions(&mut self, at: &[Step<'_>], raw: Vec<raw::Extension>) -> Vec<model::Extension> {
        let mut extensions: Vec<model::Extension> = Vec::with_capacity(raw.len());
        for (i, extension) in raw.into_iter().enumerate() {
            let place = [at, &[Key("extensions"), Item(i), Key("uri")]].concat();
            if !extension.uri.contains(':') {
                let message = format!("`{}` is not a URI", extension.uri);
                let hint = "write an absolute one, such as https://example.com/ext/v1 or urn:x:y";
                self.wrong(&place, message, Some(hint.to_owned()));
            } else if extensions.iter().any(|known| known.uri == extension.uri) {
                self.wrong(&place, format!("`{}` is given twice", extension.uri), None);
            }
            extensions.push(model::Extension {
                uri: extension.uri,
                description: extension.description,
                required: extension.required.unwrap_or(false),
                params: extension.params.as_ref().map(model::Object::from),
            });
        }
        extensions
    }
}

/// The skill of an agent that names none: what the agent is for.
fn only_skill(name: &str, title: &str, description: &str) -> model::Skill {
    model::Skill {
        id: name.to_owned(),
        name: title.to_owned(),
        description: description.to_owned(),
        tags: vec![name.to_owned()],
        examples: Vec::new(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
        security: Vec::new(),
    }
}

/// Whether `name` can be part of an address.
fn check_name(name: &str) -> Result<(), (String, String)> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = |c: char| word(c) || matches!(c, '-' | '_' | '.');
    let well_formed = name.starts_with(word) && name.chars().all(inner);
    if !well_formed || name.len() > LONGEST_NAME {
        return Err((
            format!("`{name}` cannot be the name of an agent"),
            format!(
                "use lower-case letters, digits, `-`, `_` and `.`, a letter or digit first, {LONGEST_NAME} at most"
            ),
        ));
    }
    if RESERVED.contains(&name) {
        return Err((
            format!(
                "`{name}` cannot be the name of an agent: addresses of Switchboard begin with it"
            ),
            "choose another name".to_owned(),
        ));
    }
    Ok(())
}

fn is_empty(node: &yaml::Node) -> bool {
    match &node.data {
        yaml::Data::Scalar(scalar) => scalar.is_null(),
        yaml::Data::List(_) => false,
        yaml::Data::Map(entries) => entries.is_empty(),
    }
}

fn is_whole(problem: &super::Problem) -> bool {
    matches!(problem.place, super::Place::Whole(_))
}

fn at_path<'n>(tree: &'n yaml::Node, path: &[Step<'_>]) -> Option<&'n yaml::Node> {
    path.iter().try_fold(tree, |node, step| match step {
        Key(key) => node.get(key),
        Item(_) => None,
    })
}

fn join<'a>(at: &[Step<'a>], step: Step<'a>) -> Vec<Step<'a>> {
    [at, &[step]].concat()
}

fn text(url: Url) -> String {
    url.0
}
