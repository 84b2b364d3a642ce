//! Agents of an OpenClaw gateway.
//!
//! A gateway is reached over its WebSocket, one for all agents that are behind it, or over HTTP where that does not work:
//! see [`Transport`]. A conversation is a session of its own there, a turn is a run with the name of the task, and its
//! answer becomes one artifact, `answer`, that grows as the text comes.
//!
//! | part | becomes |
//! |---|---|
//! | text | the message; several are joined by line breaks |
//! | data | its JSON in the message, if [`Settings::data_as_text`]; otherwise the message is refused |
//! | file `image/*` with its bytes | an attachment of `agent` |
//! | any other file with its bytes | an attachment of `chat.send`; over HTTP one of `/v1/responses`, if that takes it |
//! | a file by its URL | fetched from public addresses over https, and then as above |
//!
//! # Layout
//!
//! - `gateway`: the socket that is kept open. `keep`: how it is. `line`: the way to it. `serve`: what goes over it.
//!   `socket`: how it is opened. `device`: who we are there. `refused`: why there is none.
//! - `run`: a turn over the socket. `begin`: how it begins. `tools`: what is told of it to whoever runs the agent. `recover`: what becomes of it
//!   after a restart. `checkpoint`: what is remembered of it. `stop`: how it is stopped.
//! - `http`: a turn without a socket. `responses`: one of the things that are spoken there. Pure.
//! - `files`: those that are fetched first.
//! - `frame`, `prompt`, `events`, `card`: their protocol, as ours. Pure.

mod begin;
mod card;
mod checkpoint;
mod device;
mod events;
mod files;
mod frame;
mod gateway;
mod http;
mod keep;
mod line;
mod prompt;
mod recover;
mod refused;
mod responses;
mod run;
mod serve;
mod socket;
mod stop;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use switchboard_server::agent::{Agent, AgentError, Ask, Outcome, Progress, Restart, Said, Turn};
use switchboard_server::backend::Health;
use switchboard_server::egress::Guard;
use switchboard_server::push::Fetcher;
use switchboard_server::trace::names;
use switchboard_types::Error;
use switchboard_types::model::{AgentCard, Message};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::checkpoint::{Checkpoint, Way};
pub use self::device::Device;
pub use self::gateway::{Gateway, Place};
use self::prompt::Prompt;
use self::refused::Refused;
use self::run::Run;
use crate::fetch::place;
use crate::refresh::refresh;
use crate::upstream::Outage;

/// How long it may take to find out whether a gateway is there.
const HEALTH: Duration = Duration::from_secs(5);

/// The name of the artifact that is the answer.
const ANSWER: &str = "answer";
/// How long a turn waits for the socket before it does without.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which agent of a gateway stands behind ours, and how it is asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its id.
    pub agent: String,
    /// How it is reached.
    pub transport: Transport,
    /// Whether data parts are told as JSON. No: they are refused.
    pub data_as_text: bool,
    /// What callers are told of its tools.
    pub tools: Tools,
    /// The largest file. 5 MiB.
    pub max_file_bytes: usize,
    /// How long a run may take; as long as the gateway lets it, if nothing is said.
    pub timeout: Option<Duration>,
    /// How often the card is read again. 5 min.
    pub refresh: Duration,
    /// How long a gateway that is gone in the middle of a run is waited for. 120 s.
    pub reconnect: Duration,
    /// The longest answer, in bytes. 4 MiB.
    pub max_answer_bytes: usize,
    /// How long text is gathered before it becomes an event. 50 ms; the first text does not wait.
    pub coalesce: Duration,
}

impl Settings {
    /// This agent, and the rest as it usually is.
    pub fn new(agent: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            transport: Transport::Auto,
            data_as_text: false,
            tools: Tools::Names,
            max_file_bytes: 5 << 20,
            timeout: None,
            refresh: Duration::from_secs(300),
            reconnect: Duration::from_secs(120),
            max_answer_bytes: 4 << 20,
            coalesce: Duration::from_millis(50),
        }
    }
}

/// How a gateway is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// Over the WebSocket if it is open, over HTTP if the gateway is there and refuses it.
    #[default]
    Auto,
    /// Over the WebSocket only.
    WebSocket,
    /// Over HTTP only.
    Http,
}

/// What callers are told of the tools that an agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tools {
    /// Nothing.
    Off,
    /// Which, when, and whether they failed.
    #[default]
    Names,
    /// What they were given and gave, too.
    Full,
}

/// Why there can be no such gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is neither HTTP nor a WebSocket.
    #[error("the address must begin with http://, https://, ws:// or wss://")]
    Url,
    /// There is no HTTP client to be had.
    #[error("no HTTP client: {0}")]
    Client(String),
}

/// An agent of a gateway.
#[derive(Debug)]
pub struct OpenClawAgent {
    settings: Settings,
    gateway: Arc<Gateway>,
    /// Fetches files for it: only from public addresses.
    fetcher: Fetcher,
    card: watch::Sender<Option<Arc<AgentCard>>>,
}

impl OpenClawAgent {
    /// The agent that `settings` name, of a gateway that is [kept](Gateway::keep).
    #[must_use]
    pub fn new(settings: Settings, gateway: Arc<Gateway>) -> Self {
        Self {
            settings,
            gateway,
            fetcher: Fetcher::new(Guard::new(Vec::new())),
            card: watch::Sender::new(None),
        }
    }

    /// What the gateway says about the agent, as soon as it is known, and whenever it changes.
    #[must_use]
    pub fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        if self.settings.transport == Transport::Http {
            // Nobody will ever tell.
            return watch::channel(None).1;
        }
        self.card.subscribe()
    }

    /// Reads that now and then, until `stop`. `name` is for the log.
    pub async fn keep_card(&self, name: &str, stop: &CancellationToken) {
        if self.settings.transport == Transport::Http {
            return;
        }
        let read = || async {
            let card = self.read_card().await?;
            self.card.send_if_modified(|known| {
                let is_new = known.as_deref() != Some(&card);
                if is_new {
                    *known = Some(Arc::new(card));
                }
                is_new
            });
            Ok(())
        };
        let report = |error: &String| {
            tracing::warn!(
                agent = name,
                error,
                "could not read the OpenClaw agent card, will retry"
            );
        };
        refresh(self.settings.refresh, stop, read, report).await;
    }

    async fn read_card(&self) -> Result<AgentCard, String> {
        let line = self.gateway.line_at_leisure(PATIENCE).await;
        let line = line.map_err(|refused| refused.to_string())?;
        let asked = |answer: Result<_, line::Unanswered>| {
            answer.map_err(|why| self.gateway.hide(why.to_string()))
        };
        let agents = asked(line.call("agents.list", json!({})).await)?;
        let agent = self.settings.agent.as_str();
        let skills = asked(
            line.call("skills.status", json!({ "agentId": agent }))
                .await,
        )?;
        let card = card::card(&agents, &skills, agent, &line.hello.version);
        card.ok_or_else(|| format!("the gateway has no agent {agent:?}"))
    }

    fn run_of<'a>(&'a self, turn: &'a Turn, progress: &'a Progress) -> Run<'a> {
        Run {
            settings: &self.settings,
            gateway: &self.gateway,
            fetcher: &self.fetcher,
            turn,
            progress,
            session: self.session(turn),
        }
    }

    /// The conversation, by the gateway's name for it. Two callers may give the same name to one, and must not meet.
    fn session(&self, turn: &Turn) -> String {
        format!("agent:{}:a2a:{}", self.settings.agent, turn.own_context())
    }

    /// Takes a turn whose time has come: one that was cut off, or else with this prompt.
    async fn take(&self, run: &Run<'_>, work: Work) -> Result<Outcome, AgentError> {
        let prompt = match work {
            Work::CutOff(checkpoint) => return run.resume(checkpoint).await,
            Work::New(prompt) => prompt,
        };
        let mut outage = Outage::new(run.turn, Some(run.progress), &self.gateway.address);
        loop {
            let refused = match self.settings.transport {
                Transport::Http => None,
                Transport::Auto | Transport::WebSocket => {
                    let waiting = self.gateway.line(PATIENCE);
                    let line = run.turn.canceled.run_until_cancelled(waiting).await;
                    match line.ok_or_else(AgentError::over)? {
                        Ok(line) => return run.begin(line, *prompt, outage).await,
                        Err(refused) => Some(refused),
                    }
                }
            };
            let down = match refused.as_ref().and_then(Refused::down) {
                Some(down) => down,
                None => {
                    if let Some(refused) = &refused
                        && self.settings.transport == Transport::WebSocket
                    {
                        return Err(refused.told());
                    }
                    match run
                        .over_http(&prompt, refused.as_ref(), &mut outage)
                        .await?
                    {
                        Ok(outcome) => return Ok(outcome),
                        Err(down) => down,
                    }
                }
            };
            outage.wait(&down).await?;
        }
    }
}

/// What is to be done in a turn.
enum Work {
    New(Box<Prompt>),
    /// It was begun before a restart.
    CutOff(Checkpoint),
}

#[async_trait]
impl Agent for OpenClawAgent {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let checkpoint = Checkpoint::of(&turn)
            .await?
            .filter(|checkpoint| !checkpoint.unsent);
        if let Some(Checkpoint { way: Way::Http, .. }) = checkpoint {
            return Err(AgentError::new(
                "Switchboard restarted during the run, and OpenClaw stops a run when its connection closes: \
                 send the message again",
            ));
        }
        let waits = self.run_of(&turn, &progress);
        let waited = waits.waited_for().await;
        let _turn = waited.map_err(|over| match checkpoint {
            // It was begun before a restart, and goes on.
            Some(_) => over.release_pending(),
            None => over,
        })?;
        let work = match checkpoint {
            // What was sent may run, so whether its files can still be had does not matter then.
            Some(checkpoint) => Work::CutOff(checkpoint),
            // Files are fetched when it is time: many that wait must not hold them.
            None => match waits.prompt().await? {
                Ok(prompt) => Work::New(Box::new(prompt)),
                Err(why) => return Ok(Outcome::Rejected(Said::text(why))),
            },
        };
        let errand = progress.asks(&turn, Ask::Agent(&self.settings.agent));
        errand.set(names::PROVIDER, "openclaw");
        let url = &self.gateway.place.url;
        errand.at(url.host_str(), url.port_or_known_default());
        let within = turn.clone().within(&errand);
        let run = self.run_of(&within, &progress);
        let taken = Box::pin(self.take(&run, work)).await;
        errand.ended(&taken);
        taken
    }

    /// A run that goes on is stopped, unless it has ended with its connection.
    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        let checkpoint = Checkpoint::of(&turn).await?;
        let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.way == Way::Socket) else {
            return Ok(());
        };
        // Many may be told again: none of them hurries the gateway.
        let line = self.gateway.line_at_leisure(PATIENCE).await;
        let line = line.map_err(|refused| refused.told())?;
        let run = checkpoint.successor.as_deref();
        let run = run.unwrap_or(turn.task_id().as_str());
        stop::stop(&line, &self.session(&turn), run, &checkpoint).await
    }

    fn upstream(&self) -> Option<String> {
        Some(place(self.gateway.place.url.as_str()))
    }

    async fn health(&self) -> Health {
        if self.settings.transport == Transport::Http {
            return Health::unknown("asked over HTTP only when there is something to say");
        }
        match self.gateway.line(HEALTH).await {
            Ok(_) => Health::up("connected"),
            Err(refused) => Health::down(refused.to_string()),
        }
    }

    async fn on_restart(&self, turn: &Turn) -> Restart {
        let checkpoint = Checkpoint::of(turn).await.ok().flatten();
        match checkpoint {
            // A run over HTTP ends with its connection.
            Some(checkpoint) if checkpoint.way == Way::Http && !checkpoint.unsent => {
                Restart::CleanUp
            }
            _ => Restart::Resume,
        }
    }

    /// A turn writes down what it will do before it does it, and with that the task is durable.
    fn has_effects(&self) -> bool {
        false
    }

    fn require_input(&self, message: &Message) -> Result<(), Error> {
        files::require(message, &self.fetcher)?;
        Prompt::of(&files::stood_in(message), &self.settings).map(drop)
    }
}

#[cfg(test)]
mod tests;
