//! What agents say, for people: one `Label: value` a line, longer things as blocks, and never a character that drives
//! or deceives a terminal, whatever the agent sent.

use std::fmt::Write;

use switchboard_client::answer_parts;
use switchboard_types::model::{
    AgentCard, Artifact, Content, Event, Message, Part, PushConfig, SecurityScheme, Task, TaskState,
};
use switchboard_types::printable;
use switchboard_types::wire;

/// Lines and blocks, in the order in which they were said.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    /// Blocks show everything about each part.
    verbose: bool,
}

impl Page {
    pub(super) fn new(verbose: bool) -> Self {
        Self {
            text: String::new(),
            verbose,
        }
    }

    /// What was said so far.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// A line.
    pub(super) fn field(&mut self, label: &str, value: impl AsRef<str>) {
        let value = printable::line(value.as_ref());
        // Writing to a String cannot fail.
        _ = writeln!(self.text, "{label}: {value}");
    }

    /// A line, if there is something to say.
    fn given(&mut self, label: &str, value: Option<&String>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.field(label, value);
        }
    }

    /// Some lines, closed by an empty one. Empty lines within hold a space, so that the end is the end and what
    /// an agent says cannot pass for a field of ours.
    pub(super) fn block(&mut self, label: &str, content: &str) {
        _ = writeln!(self.text, "{label}:");
        for line in printable::lines(content).trim_end_matches('\n').split('\n') {
            _ = writeln!(self.text, "{}", if line.is_empty() { " " } else { line });
        }
        self.text.push('\n');
    }

    /// A task, and how it stands.
    pub(super) fn task(&mut self, task: &Task) {
        if self.verbose {
            for message in &task.history {
                self.message(message);
            }
        }
        for artifact in &task.artifacts {
            self.artifact(artifact);
        }
        let done = task.status.state == TaskState::Completed;
        match &task.status.message {
            // There are agents whose answer is nowhere but in the history, which was shown if all is.
            _ if done && task.artifacts.is_empty() && !self.verbose => {
                self.parts(&answer_parts(task));
            }
            Some(message) => self.status(task.status.state, message),
            None => {}
        }
        self.stands(task);
    }

    /// The three lines that every command about a task ends with.
    pub(super) fn stands(&mut self, task: &Task) {
        self.field("Task", task.id.as_str());
        self.field("Context", task.context_id.as_str());
        self.field("State", wire::state_name(task.status.state));
    }

    /// A bare answer.
    pub(super) fn message(&mut self, message: &Message) {
        self.field("Message", message.id.as_str());
        self.said(message);
        if let Some(context) = &message.context_id {
            self.field("Context", context.as_str());
        }
    }

    fn said(&mut self, message: &Message) {
        self.parts(&message.parts);
    }

    /// The message of a status. The text with which a task fails or is rejected is labelled as the reason.
    fn status(&mut self, state: TaskState, message: &Message) {
        if !matches!(state, TaskState::Failed | TaskState::Rejected) {
            return self.said(message);
        }
        for part in &message.parts {
            match part.as_text() {
                Some(text) if !self.verbose => self.block("Reason", text),
                _ => self.part(part),
            }
        }
    }

    /// What a task has made.
    pub(super) fn artifact(&mut self, artifact: &Artifact) {
        self.field("Artifact", artifact.id.as_str());
        self.given("Name", artifact.name.as_ref());
        self.given("Description", artifact.description.as_ref());
        let texts: Option<Vec<&str>> = artifact.parts.iter().map(Part::as_text).collect();
        match texts {
            // What came in chunks is one text.
            Some(texts) if !self.verbose && !texts.is_empty() => {
                self.block("Text", &texts.concat())
            }
            _ => self.parts(&artifact.parts),
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            self.part(part);
        }
    }

    fn part(&mut self, part: &Part) {
        let inline = matches!(part.content, Content::Text(_) | Content::Data(_));
        if self.verbose || !inline {
            self.given("File", part.filename.as_ref());
            self.given("Media type", part.media_type.as_ref());
        }
        match &part.content {
            Content::Text(text) => self.block("Text", text),
            Content::Data(data) => self.block("Data", data.as_str()),
            Content::Url(url) => self.field("Link", url),
            Content::Raw(bytes) => self.field("Size", bytes.len().to_string()),
        }
        if let (true, Some(metadata)) = (self.verbose, &part.metadata) {
            self.block("Metadata", metadata.as_str());
        }
    }

    /// An event, as it comes.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Task(task) => self.task(task),
            Event::Message(message) => self.message(message),
            Event::Artifact(update) => self.artifact(&update.artifact),
            Event::Status(update) => {
                if let Some(message) = &update.status.message {
                    self.status(update.status.state, message);
                }
                self.field("Task", update.task_id.as_str());
                self.field("Context", update.context_id.as_str());
                self.field("State", wire::state_name(update.status.state));
            }
        }
    }

    /// A card: who it is, what it offers, how to reach it.
    pub(super) fn card(&mut self, card: &AgentCard) {
        self.field("Agent", &card.name);
        self.field("Description", &card.description);
        self.field("Version", &card.version);
        if let Some(provider) = &card.provider {
            self.field("Provider", &provider.organization);
        }
        self.given("Documentation", card.documentation_url.as_ref());
        for interface in &card.interfaces {
            let (binding, url) = (interface.binding.name(), &interface.url);
            let tenant = interface.tenant.as_ref();
            let tenant = tenant.map_or(String::new(), |tenant| format!(" tenant {tenant}"));
            self.field(
                "Interface",
                format!("{binding} {} {url}{tenant}", interface.version),
            );
        }
        let capabilities = &card.capabilities;
        for (name, offered) in [
            ("streaming", capabilities.streaming),
            ("push notifications", capabilities.push_notifications),
            ("extended card", capabilities.extended_agent_card),
        ] {
            let offered = if offered == Some(true) { "yes" } else { "no" };
            self.field("Capability", format!("{name}: {offered}"));
        }
        for extension in &capabilities.extensions {
            let required = if extension.required {
                " (required)"
            } else {
                ""
            };
            self.field("Extension", format!("{}{required}", extension.uri));
        }
        for (name, scheme) in &card.security_schemes {
            self.field("Security", format!("{name}: {}", scheme_name(scheme)));
        }
        for skill in &card.skills {
            self.field("Skill", format!("{}: {}", skill.id, skill.name));
            if self.verbose {
                self.field("Skill description", &skill.description);
            }
        }
    }

    /// Where an agent calls back. Secrets are not shown.
    pub(super) fn push_config(&mut self, config: &PushConfig) {
        if let Some(id) = &config.id {
            self.field("Push config", id.as_str());
        }
        if let Some(task) = &config.task_id {
            self.field("Task", task.as_str());
        }
        self.field("URL", &config.url);
        if let Some(authentication) = &config.authentication {
            self.field("Authentication", &authentication.scheme);
        }
    }
}

fn scheme_name(scheme: &SecurityScheme) -> String {
    match scheme {
        SecurityScheme::ApiKey { name, .. } => format!("API key {name}"),
        SecurityScheme::Http { scheme, .. } => format!("HTTP {scheme}"),
        SecurityScheme::OAuth2 { .. } => "OAuth 2".to_owned(),
        SecurityScheme::OpenIdConnect { .. } => "OpenID Connect".to_owned(),
        SecurityScheme::MutualTls { .. } => "mutual TLS".to_owned(),
    }
}
