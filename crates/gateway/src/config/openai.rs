//! A model behind an agent.

use http::header::AUTHORIZATION;
use serde_json::{Map, Value};
use switchboard_agents::identity::Outbound;
use switchboard_agents::openai::{Invalid, OpenAiAgent, Settings};
use switchboard_agents::profile as agents;
use switchboard_client::Retry;
use switchboard_types::model::Secret;
use url::Url;

use super::agent::join;
use super::load::Check;
use super::yaml::{Step, Step::Key};
use super::{Identity, raw};

impl Check<'_> {
    /// The model, and who we are to it: `identity`, or who has the key.
    pub(super) fn openai(
        &mut self,
        at: &[Step<'_>],
        mut raw: raw::OpenAi,
        identity: Identity,
    ) -> Option<(Settings, Identity)> {
        let agent = at;
        let at = join(at, Key("openai"));
        let before = self.problems.len();
        let identity = self.key(agent, &mut raw, identity);
        let base = self.base_url(&join(&at, Key("url")), &raw.url);
        let system = self.system(&at, raw.system.take(), raw.system_file.take());
        let parameters = self.parameters(&at, &mut raw);
        if raw.model.trim().is_empty() {
            let hint = "write the model's name, as the endpoint lists it at /models";
            let hint = Some(hint.to_owned());
            self.wrong(&join(&at, Key("model")), "is empty".to_owned(), hint);
        }
        let mut settings = Settings::new(base?, raw.model);
        if let Some(file) = raw.ca_file {
            let pem = self.read_beside(&join(&at, Key("ca_file")), &file)?;
            settings.roots = Some(pem.into_bytes());
        }
        settings.system = system;
        settings.parameters = parameters;
        let key = |key| join(&at, Key(key));
        settings.history_tokens = raw.history_tokens.unwrap_or(settings.history_tokens);
        settings.history_tasks = raw.history_tasks.unwrap_or(settings.history_tasks);
        settings.ask_usage = raw.usage.unwrap_or(settings.ask_usage);
        settings.retry = self.retry(
            &key("retry"),
            &raw.retry.unwrap_or_default(),
            settings.retry,
        );
        settings.idle_timeout = self.some_time(
            &key("idle_timeout"),
            raw.idle_timeout,
            settings.idle_timeout,
        );
        settings.max_answer_bytes = self.some_size(
            &key("max_answer"),
            raw.max_answer,
            settings.max_answer_bytes,
        );
        settings.coalesce = raw.coalesce.map_or(settings.coalesce, |time| time.0);
        if self.problems.len() > before {
            return None;
        }
        // It knows best what it can do without.
        if let Err(error) = OpenAiAgent::new(settings.clone(), Outbound::none()) {
            let place = match &error {
                Invalid::Base => key("url"),
                Invalid::Model => key("model"),
                Invalid::Parameter(_) => key("parameters"),
                Invalid::Client(_) if settings.roots.is_some() => key("ca_file"),
                Invalid::Client(_) => at.clone(),
            };
            self.wrong(&place, error.to_string(), None);
            return None;
        }
        Some((settings, identity))
    }

    fn base_url(&mut self, at: &[Step<'_>], text: &str) -> Option<Url> {
        let hint = "write the base URL before /chat/completions, such as https://api.openai.com/v1";
        let message = match Url::parse(text.trim()) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                "must begin with http:// or https://"
            }
            // A password in it would be shown in logs.
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                "must not have credentials in it"
            }
            Ok(url)
                if url
                    .path()
                    .trim_end_matches('/')
                    .ends_with("/chat/completions") =>
            {
                "must not contain /chat/completions: it is appended"
            }
            Ok(url) if url.fragment().is_some() => "must not have a fragment",
            Ok(url) => return Some(url),
            Err(_) => "is not a URL",
        };
        self.wrong(at, message.to_owned(), Some(hint.to_owned()));
        None
    }

    fn key(&mut self, agent: &[Step<'_>], raw: &mut raw::OpenAi, identity: Identity) -> Identity {
        let at = join(agent, Key("openai"));
        let (text, file) = (raw.key.take(), raw.key_file.take());
        let name = match (&text, &file) {
            (None, None) => return identity,
            (Some(_), Some(_)) => {
                self.cannot_stand_together(&at, "key", "key_file");
                return identity;
            }
            (Some(_), None) => "key",
            (None, Some(_)) => "key_file",
        };
        if !matches!(identity, Identity::Nobody) {
            let message = format!("`openai.{name}` and `identity` are mutually exclusive");
            let hint = Some("keep one of them".to_owned());
            self.wrong(&join(agent, Key("identity")), message, hint);
            return identity;
        }
        let Some((_, secret)) = self.secret(&at, "key", text, file) else {
            return identity;
        };
        let at = join(&at, Key(name));
        if secret.reveal().is_empty() {
            self.wrong(&at, "must not be empty".to_owned(), None);
            return identity;
        }
        let bearer = Secret::new(format!("Bearer {}", secret.reveal()));
        let headers = vec![(AUTHORIZATION, bearer)];
        if let Err(error) = Outbound::fixed(headers.clone()) {
            self.wrong(&at, error.to_string(), None);
        }
        Identity::Headers(headers)
    }

    fn system(
        &mut self,
        at: &[Step<'_>],
        text: Option<String>,
        file: Option<String>,
    ) -> Option<String> {
        match (text, file) {
            (Some(_), Some(_)) => {
                self.cannot_stand_together(at, "system", "system_file");
                None
            }
            (None, Some(file)) => self.read_beside(&join(at, Key("system_file")), &file),
            (text, None) => text,
        }
    }

    /// What the request says beside what every request does.
    fn parameters(&mut self, at: &[Step<'_>], raw: &mut raw::OpenAi) -> Map<String, Value> {
        let mut parameters = raw.parameters.take().unwrap_or_default();
        if raw.temperature.is_some_and(|t| !t.is_finite() || t < 0.0) {
            let message = "must be a number, and not below zero".to_owned();
            self.wrong(&join(at, Key("temperature")), message, None);
        }
        if raw.max_tokens == Some(0) {
            let message = "must be at least 1".to_owned();
            self.wrong(&join(at, Key("max_tokens")), message, None);
        }
        let named = [
            ("temperature", raw.temperature.map(Value::from)),
            ("max_tokens", raw.max_tokens.map(Value::from)),
        ];
        for (name, value) in named {
            let Some(value) = value else { continue };
            if parameters.insert(name.to_owned(), value).is_some() {
                let place = [at, &[Key("parameters"), Key(name)]].concat();
                let hint = Some("keep one of them".to_owned());
                self.wrong(&place, format!("`{name}` is set twice"), hint);
            }
        }
        parameters
    }

    fn retry(&mut self, at: &[Step<'_>], raw: &raw::ModelRetry, default: Retry) -> Retry {
        if raw.attempts == Some(0) {
            let hint = Some("write 1 to send a request only once".to_owned());
            self.wrong(
                &join(at, Key("attempts")),
                "must be at least 1".to_owned(),
                hint,
            );
        }
        Retry {
            attempts: raw.attempts.unwrap_or(default.attempts),
            first: raw.first.map_or(default.first, |time| time.0),
            longest: raw.longest.map_or(default.longest, |time| time.0),
        }
    }
}

/// What the card of a model says where the file says nothing.
pub(super) fn profile() -> agents::Profile {
    let taken = [
        "text/plain",
        "text/*",
        "application/json",
        "application/xml",
        "application/yaml",
        "image/*",
    ];
    agents::Profile {
        input_modes: taken.map(str::to_owned).into(),
        ..agents::Profile::default()
    }
}
