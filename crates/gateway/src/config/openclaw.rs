//! An agent of an OpenClaw gateway behind ours.

use switchboard_agents::openclaw::{Place, Settings, Tools, Transport};
use switchboard_agents::profile as agents;

use super::OpenClaw;
use super::agent::join;
use super::load::Check;
use super::raw;
use super::yaml::{Step, Step::Key};

/// Files larger than this do not go into one frame.
const LARGEST_FILE: u64 = 16 << 20;

impl Check<'_> {
    pub(super) fn openclaw(&mut self, at: &[Step<'_>], raw: raw::OpenClaw) -> Option<OpenClaw> {
        let at = join(at, Key("openclaw"));
        let before = self.problems.len();
        let url = self.gateway_url(&join(&at, Key("url")), &raw.url);
        let token = self.secret(&at, "token", raw.token, raw.token_file);
        let mut settings = Settings::new(raw.agent.unwrap_or_else(|| "main".to_owned()));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if settings.agent.is_empty() || !settings.agent.chars().all(plain) {
            let message = format!("`{}` is not an agent id", settings.agent);
            self.wrong(&join(&at, Key("agent")), message, None);
        }
        settings.transport = match raw.transport {
            None | Some(raw::OpenClawTransport::Auto) => Transport::Auto,
            Some(raw::OpenClawTransport::Websocket) => Transport::WebSocket,
            Some(raw::OpenClawTransport::Http) => Transport::Http,
        };
        settings.data_as_text = raw.data == Some(raw::DataParts::Text);
        settings.tools = match raw.tools {
            None | Some(raw::Tools::Names) => Tools::Names,
            Some(raw::Tools::None) => Tools::Off,
            Some(raw::Tools::Full) => Tools::Full,
        };
        if let Some(size) = raw.max_file {
            if size.0 == 0 || size.0 > LARGEST_FILE {
                let message = "must be greater than zero and at most 16MiB".to_owned();
                self.wrong(&join(&at, Key("max_file")), message, None);
            }
            settings.max_file_bytes = usize::try_from(size.0).unwrap_or(usize::MAX);
        }
        let reconnect = raw.reconnect.map(|time| {
            let at = join(&at, Key("reconnect"));
            self.some_time(&at, Some(time), settings.reconnect)
        });
        let refresh = join(&at, Key("refresh"));
        settings.refresh = self.some_time(&refresh, raw.refresh, settings.refresh);
        let roots = match raw.ca_file {
            Some(file) => {
                let pem = self.read_beside(&join(&at, Key("ca_file")), &file)?;
                Some(pem.into_bytes())
            }
            None => None,
        };
        let (url, (_, token)) = (url?, token?);
        let place = Place { url, token, roots };
        let is_good = self.problems.len() == before;
        is_good.then_some(OpenClaw {
            place,
            settings,
            reconnect,
        })
    }

    fn gateway_url(&mut self, at: &[Step<'_>], text: &str) -> Option<url::Url> {
        let url = text.parse::<url::Url>().ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https" | "ws" | "wss"));
        let hint = Some("write a URL such as http://127.0.0.1:18789".to_owned());
        match url {
            // They would be shown in logs.
            Some(url) if !url.username().is_empty() || url.password().is_some() => {
                self.wrong(at, "must not have credentials in it".to_owned(), hint);
                None
            }
            Some(url) => Some(url),
            None => {
                self.wrong(
                    at,
                    format!("`{text}` is not the address of a gateway"),
                    hint,
                );
                None
            }
        }
    }
}

/// What the card says of an agent that is not known yet. It takes any file.
pub(super) fn unknown() -> agents::Profile {
    agents::Profile {
        input_modes: vec!["*/*".to_owned()],
        ..agents::Profile::default()
    }
}
