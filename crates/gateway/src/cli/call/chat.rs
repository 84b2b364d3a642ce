//! `switchboard chat`: a conversation. Answers to questions of the agent go to its task, everything else begins a
//! new one in the same conversation.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use switchboard_client::{Sent, answer_text, text};
use switchboard_types::model::{ContextId, Task};
use switchboard_types::printable;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::args::ChatArgs;
use super::follow::{Followed, Follower};
use super::send::context_id;
use super::{Connected, End, Failure};
use crate::cli::{err, out};

/// Where the conversation stands.
#[derive(Debug, Default)]
struct Talk {
    context: Option<ContextId>,
    /// The task that waits for an answer.
    waits: Option<Arc<Task>>,
}

pub(super) async fn run(args: &ChatArgs, connected: &Connected) -> Result<End, Failure> {
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut talk = Talk {
        context: args.context_id.as_deref().map(context_id).transpose()?,
        waits: None,
    };
    if terminal {
        let name = printable::line(&connected.client.card().name);
        err(format_args!(
            "talking to {name}; an empty line or Ctrl-D ends\n"
        ))?;
    }
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        if terminal {
            out(format_args!("> "))?;
        }
        let line = tokio::select! {
            line = lines.next_line() => line?,
            _ = tokio::signal::ctrl_c() => return talk.leave(connected, End::Interrupted),
        };
        let Some(line) = line.filter(|line| !(terminal && line.trim().is_empty())) else {
            break;
        };
        if line.trim().is_empty() {
            continue;
        }
        match talk.say(&line, connected).await {
            Ok(End::Done) => {}
            Ok(End::Interrupted) => return talk.leave(connected, End::Interrupted),
            Err(failure) => {
                talk.leave(connected, End::Done)?;
                return Err(failure);
            }
        }
    }
    talk.leave(connected, End::Done)
}

impl Talk {
    /// Says a line, and prints what comes back. Each has all the time there is.
    async fn say(&mut self, line: &str, connected: &Connected) -> Result<End, Failure> {
        let connected = &connected.again();
        let mut asked = text(line);
        asked.message.context_id.clone_from(&self.context);
        asked.message.task_id = self.waits.take().map(|task| task.id.clone());
        let client = &connected.client;
        let follower = Follower::new(connected, false, None);
        let followed = if client.card().capabilities.streaming == Some(true) {
            let events = connected.ask(client.stream(asked)).await?;
            follower.stream(events).await?
        } else {
            asked.configuration.return_immediately = true;
            match connected.ask(client.send(asked)).await? {
                Sent::Task(task) => follower.poll(task).await?,
                sent @ Sent::Message(_) => Followed::To(sent),
            }
        };
        match followed {
            Followed::To(sent) => {
                self.heard(&sent)?;
                Ok(End::Done)
            }
            Followed::Left(Some(task)) => {
                self.context = Some(task.context_id.clone());
                Ok(End::Interrupted)
            }
            Followed::Left(None) | Followed::Unheard => Ok(End::Interrupted),
        }
    }

    fn heard(&mut self, sent: &Sent) -> Result<(), Failure> {
        let mut said = answer_text(sent);
        match sent {
            Sent::Message(message) => {
                self.context = message.context_id.clone().or(self.context.take());
            }
            Sent::Task(task) => {
                self.context = Some(task.context_id.clone());
                let state = task.status.state;
                if state.is_interrupted() {
                    // The question, not what was made so far.
                    let question = task.status.message.as_ref().map(|message| message.text());
                    said = question.filter(|text| !text.is_empty()).unwrap_or(said);
                    self.waits = Some(Arc::clone(task));
                } else if said.is_empty() {
                    said = format!("({})", state.name());
                }
            }
        }
        Ok(out(format_args!("{}\n", printable::lines(&said)))?)
    }

    /// Tells how to come back.
    fn leave(&self, connected: &Connected, end: End) -> Result<End, Failure> {
        let agent = super::connect::quoted(&connected.settings.shown_agent());
        if let Some(context) = &self.context {
            let context = super::connect::quoted(context.as_str());
            err(format_args!(
                "Resume: switchboard chat -a {agent} --context-id {context}\n"
            ))?;
        }
        Ok(end)
    }
}
