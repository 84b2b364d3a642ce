//! A remote A2A agent behind ours.

use std::time::Duration;

use switchboard_agents::profile::{self as agents, Fact};
use switchboard_agents::remote::Settings;
use switchboard_client::{Address, Preference, Reference, Tls};
use switchboard_types::model::Binding;
use switchboard_types::{FileBytes, ProtocolVersion};

use super::Backend;
use super::agent::join;
use super::load::Check;
use super::raw;
use super::yaml::{Step, Step::Key};

impl Check<'_> {
    pub(super) fn remote(&mut self, at: &[Step<'_>], raw: raw::A2a) -> Option<Settings> {
        let at = join(at, Key("a2a"));
        let before = self.problems.len();
        let reference = self.reference(&join(&at, Key("url")), &raw.url);
        let mut settings = Settings::new(reference?);
        if let Some(raw::Version(text)) = raw.version {
            match ProtocolVersion::requested(&text) {
                Ok(version) => settings.preference.versions.push(version),
                Err(_) => self.wrong(
                    &join(&at, Key("version")),
                    format!("`{text}` is not a supported A2A version"),
                    Some("write 1.0 or 0.3".to_owned()),
                ),
            }
        }
        let binding = raw.binding.map(Binding::from);
        settings.preference = Preference {
            bindings: binding.into_iter().collect(),
            ..settings.preference
        };
        if raw.address == Some(raw::Address::Given) {
            settings.address = Address::Given;
        }
        for (index, text) in raw.credentials_to.iter().flatten().enumerate() {
            match text.parse() {
                Ok(origin) => settings.credentials_to.push(origin),
                Err(error) => {
                    let place = join(&join(&at, Key("credentials_to")), Step::Item(index));
                    let hint = error.hint().map(str::to_owned);
                    self.wrong(&place, error.to_string(), hint);
                }
            }
        }
        settings.extensions = raw.extensions.unwrap_or_default();
        settings.idempotent = raw.idempotent.unwrap_or(false);
        if raw.file_bytes == Some(raw::AgentFileBytes::Raw) {
            settings.file_bytes = FileBytes::Raw;
        }
        settings.names_contexts = raw.contexts != Some(raw::Contexts::Theirs);
        let refresh = Duration::from_secs(300);
        settings.refresh = self.some_time(&join(&at, Key("refresh")), raw.refresh, refresh);
        if let Some(file) = raw.ca_file {
            let place = join(&at, Key("ca_file"));
            let pem = self.read_beside(&place, &file)?;
            settings.tls = Tls::new().trust(pem);
        }
        (self.problems.len() == before).then_some(settings)
    }

    fn reference(&mut self, at: &[Step<'_>], url: &str) -> Option<Reference> {
        let wrong = |check: &mut Self, message: String| {
            let hint = "write a URL such as https://agents.example.com/a2a/poet";
            check.wrong(at, message, Some(hint.to_owned()));
            None
        };
        // A password in it would be shown in logs.
        if url.contains('@') {
            return wrong(self, "must not have credentials in it".to_owned());
        }
        match url.parse() {
            Ok(found @ (Reference::Host(_) | Reference::Url(_) | Reference::Catalog { .. })) => {
                Some(found)
            }
            Ok(_) => wrong(self, format!("`{url}` is not the address of an agent")),
            Err(error) => wrong(self, error.to_string()),
        }
    }
}

/// What the card says of an agent that is not known yet. Whoever takes anything leaves it to the other one to refuse.
pub(super) fn unknown() -> agents::Profile {
    let anything = || vec!["*/*".to_owned()];
    agents::Profile {
        input_modes: anything(),
        output_modes: anything(),
        ..agents::Profile::default()
    }
}

/// What the file does not say of an agent.
pub(super) fn gaps(raw: &raw::Agent, backend: &Backend) -> Vec<Fact> {
    let said = [
        (Fact::Name, raw.title.is_some()),
        (Fact::Description, raw.description.is_some()),
        (Fact::Version, raw.version.is_some()),
        (Fact::Provider, raw.provider.is_some()),
        (Fact::Documentation, raw.documentation_url.is_some()),
        (Fact::Icon, raw.icon_url.is_some()),
        (Fact::Skills, raw.skills.is_some()),
        (Fact::InputModes, raw.input_modes.is_some()),
        (Fact::OutputModes, raw.output_modes.is_some()),
    ];
    let missing = said.into_iter().filter(|(_, said)| !said);
    let mut gaps: Vec<Fact> = missing.map(|(fact, _)| fact).collect();
    if matches!(backend, Backend::OpenClaw(_)) && raw.skills.is_some() {
        gaps.push(Fact::MoreSkills);
    }
    gaps
}
