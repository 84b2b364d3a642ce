//! What a turn says to the upstream agent, and as whom.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use switchboard_client::{CallOptions, Client, Error, Kind};
use switchboard_server::agent::{AgentError, AgentErrorKind};
use switchboard_server::hops::{self, Hops};
use switchboard_server::trace::Trace;
use switchboard_types::ErrorKind;
use switchboard_types::model::{ContextId, Message, MessageId, Part, Role, TaskId};
use switchboard_types::operation::{SendConfiguration, SendMessage};
use tokio::time::Instant;

use super::checkpoint::{Checkpoint, NAME, State};
use super::failure::{may_pass, unknown};
use super::run::{Run, Stop};
use crate::fetch::without;
use crate::identity::IdentityError;

/// How long an identity may take to get.
const IDENTITY: Duration = Duration::from_secs(20);
/// How often another one is got in a turn at most: whoever answers and then refuses does not keep us at it for ever.
const RENEWALS: u32 = 100;
/// How many earlier tasks are looked at for the upstream conversation.
const EARLIER: usize = 5;
/// What an upstream agent is told whose question nobody answered.
const NO_ANSWER: &str = "No answer came in time. Go on without it.";

impl Run<'_> {
    /// What it says cannot be heard out. Nobody is left who waits for it.
    pub(super) async fn abandon(&mut self) -> Result<(), AgentError> {
        let checkpoint = self.checkpoint.as_ref();
        let checkpoint = checkpoint.filter(|checkpoint| checkpoint.state == State::Running);
        let task = checkpoint.and_then(|checkpoint| TaskId::new(checkpoint.task.as_deref()?).ok());
        let Some(task) = task else { return Ok(()) };
        let client = self.line.client().await;
        let client = client.map_err(|error| self.release_pending(&error))?;
        self.cancel(&client, &task).await
    }

    /// The task is over. What waits upstream, or goes on there, is canceled.
    pub(super) async fn release(mut self) -> Result<(), AgentError> {
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(());
        };
        let task = checkpoint
            .task
            .as_deref()
            .and_then(|id| TaskId::new(id).ok());
        let may_run = matches!(checkpoint.state, State::Sending | State::Running);
        if task.is_none() && !may_run {
            return Ok(());
        }
        if let Err(error) = self.identify().await {
            return match error {
                IdentityError::Unavailable(why) => Err(AgentError::unavailable(why)),
                // That will not be otherwise later.
                error => Err(self.refused(error.to_string())),
            };
        }
        let client = self.line.client().await;
        let client = client.map_err(|error| self.release_pending(&error))?;
        let task = match task {
            Some(known) => Some(known),
            None => match self.listed(&client).await {
                Ok(listed) => listed,
                Err(stop) => return Err(self.uncanceled(stop)),
            },
        };
        match task {
            Some(task) => self.cancel(&client, &task).await,
            None => Ok(()),
        }
    }

    /// Whether something may wait or go on upstream for this task, after a failure. A message that never arrived has begun
    /// nothing.
    pub(super) fn leaves(&self, error: &Error) -> bool {
        self.checkpoint
            .as_ref()
            .is_some_and(|checkpoint| match checkpoint.state {
                _ if checkpoint.task.is_some() => true,
                State::Sending => error.may_have_arrived(),
                state => state == State::Running,
            })
    }

    /// Cancels an upstream task, unless it is over.
    ///
    /// # Errors
    ///
    /// If that may be possible later, or the agent refuses to cancel a task that goes on.
    pub(super) async fn cancel(
        &mut self,
        client: &Client,
        task: &TaskId,
    ) -> Result<(), AgentError> {
        // What was renewed may have expired since.
        self.renewed = false;
        let cancel = move |options| async move { client.cancel_with(task, &options).await };
        let Err(stop) = self.insist(cancel).await else {
            return Ok(());
        };
        let refused = matches!(&stop, Stop::Failed(error) if !may_pass(error));
        if refused && self.is_over(client, task).await {
            return Ok(());
        }
        Err(self.uncanceled(stop))
    }

    /// Whether an upstream task that was not canceled needs no cancel: the answer is the same for one that is over and
    /// for one that cannot be canceled.
    async fn is_over(&mut self, client: &Client, task: &TaskId) -> bool {
        let get = move |options| async move { client.get_with(task, Some(0), &options).await };
        match self.insist(get).await {
            Ok(found) => found.status.state.is_terminal(),
            Err(Stop::Failed(error)) => error.is(ErrorKind::TaskNotFound),
            Err(Stop::Ended(_) | Stop::Down(_)) => false,
        }
    }

    /// Why something was not canceled.
    fn uncanceled(&self, stop: Stop) -> AgentError {
        match stop {
            Stop::Failed(error) if may_pass(&error) => self.release_pending(&error),
            Stop::Down(down) => AgentError::unavailable(down.to_string()).release_pending(),
            Stop::Failed(error) => self.refused(without(&self.shown, error.to_string())),
            Stop::Ended(Err(error)) if error.kind() == AgentErrorKind::Unavailable => {
                error.release_pending()
            }
            Stop::Ended(Err(error)) => self.refused(error.to_string()),
            Stop::Ended(Ok(_)) => self.refused("no credentials for the upstream".to_owned()),
        }
    }

    /// The upstream task may go on, and asking again would not help.
    fn refused(&self, reason: String) -> AgentError {
        let task = self.turn.task_id();
        tracing::warn!(reason, %task, "remote task not canceled");
        AgentError::over().cancel_refused(reason)
    }

    /// Asks; once more with another identity, if the first one is refused.
    pub(super) async fn insist<T, Asked: Future<Output = Result<T, Error>>>(
        &mut self,
        ask: impl Fn(CallOptions) -> Asked,
    ) -> Result<T, Stop> {
        let mut answered = ask(self.options()).await;
        if let Err(error) = &answered
            && self.renews(error).await?
        {
            answered = ask(self.options()).await;
        }
        if answered.is_ok() {
            self.renewed = false;
        }
        Ok(answered?)
    }

    /// The upstream could not be released.
    fn release_pending(&self, error: &Error) -> AgentError {
        AgentError::unavailable(without(&self.shown, error.to_string())).release_pending()
    }

    /// Gets something to show.
    pub(super) async fn identify(&mut self) -> Result<(), IdentityError> {
        let deadline = Instant::now() + IDENTITY;
        let identity = &self.line.identity;
        self.shown = identity.headers(&self.turn.principal, deadline).await?;
        Ok(())
    }

    /// After a failure: whether it was a refusal, and there is something else to show now. What is refused before it was
    /// taken once is not replaced.
    pub(super) async fn renews(&mut self, error: &Error) -> Result<bool, Stop> {
        let refused = error.status() == Some(401) || error.is(ErrorKind::Unauthenticated);
        let identity = &self.line.identity;
        let again = !self.renewed && self.renewals < RENEWALS;
        if !refused || !again || !identity.refused(&self.turn.principal, &self.shown) {
            return Ok(false);
        }
        self.renewed = true;
        self.renewals += 1;
        match self.identify().await {
            Ok(()) => Ok(true),
            // What the caller has shown is no good any more: the caller can help.
            Err(IdentityError::Refused(_)) if !self.line.identity.wants().is_empty() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// After a failure: whether it was for want of credentials that are the caller's own. Then the caller can help.
    pub(super) fn asks_the_caller(&self, error: &Error) -> bool {
        let wanted = error.status() == Some(401)
            || error.is(ErrorKind::Unauthenticated)
            || error.kind() == Kind::CredentialsMissing;
        wanted && !self.line.identity.wants().is_empty()
    }

    /// What goes with every call.
    pub(super) fn options(&self) -> CallOptions {
        let mut options = CallOptions::new();
        for (name, value) in &self.shown {
            let mut value = value.clone();
            // So that it is told to nobody, whatever the other side says of it.
            value.set_sensitive(true);
            options = options.header(name.clone(), value);
        }
        for (name, value) in self.turn.trace().into_iter().flat_map(Trace::headers) {
            options = options.header(name, value);
        }
        options
    }

    /// What goes with a message.
    pub(super) fn options_for(&self, message: &Message) -> CallOptions {
        let mut options = self.options();
        // A hop path that is not a valid header value is still in the metadata of the message.
        if let Ok(path) = HeaderValue::from_str(&self.path().to_header()) {
            options = options.header(HeaderName::from_static(hops::HEADER), path);
        }
        if self.line.settings.idempotent {
            options = options.idempotency_key(message.id.as_str());
        }
        options
    }

    /// The hop path of the call. One that cannot be read was rejected.
    fn path(&self) -> Hops {
        let path = Hops::of(self.words()).unwrap_or_default();
        path.then(self.turn.hop().name())
    }

    pub(super) fn message_id(&self) -> Option<MessageId> {
        let checkpoint = self.checkpoint.as_ref()?;
        checkpoint.message_id(self.turn.task_id())
    }

    /// What the message of the checkpoint says.
    fn words(&self) -> &Arc<Message> {
        let checkpoint = self.checkpoint.as_ref();
        checkpoint.map_or(&self.turn.message, |checkpoint| {
            checkpoint.message(self.turn)
        })
    }

    /// The message of the checkpoint. Tasks that it speaks of are ours, and mean nothing upstream.
    pub(super) fn message(&self, to: Option<&TaskId>) -> Result<SendMessage, AgentError> {
        let checkpoint = self.checkpoint.as_ref();
        let id = self.message_id().ok_or_else(unknown)?;
        let said = self.words();
        let parts = match checkpoint.is_some_and(|checkpoint| checkpoint.unanswered) {
            true => vec![Part::text(NO_ANSWER)],
            false => said.parts.clone(),
        };
        // That of the request belongs to its own message.
        let request = match Arc::ptr_eq(said, &self.turn.message) {
            true => &self.turn.metadata,
            false => &self.turn.task.metadata,
        };
        let mut metadata = self.path().marked(said.metadata.as_ref());
        let budget = self.turn.budget();
        if budget.is_limited() {
            metadata = budget.marked(Some(&metadata));
        }
        Ok(SendMessage {
            message: Message {
                context_id: checkpoint.and_then(Checkpoint::context_id),
                task_id: to.cloned(),
                extensions: said.extensions.clone(),
                metadata: Some(metadata),
                ..Message::new(id, Role::User, parts)
            },
            configuration: SendConfiguration {
                accepted_output_modes: self.turn.accepted_output_modes.clone(),
                ..SendConfiguration::default()
            },
            metadata: request.clone(),
        })
    }

    /// Our name for the conversation. It takes a while to make, and each event is compared with it.
    pub(super) fn own_context(&self) -> &ContextId {
        self.own_context.get_or_init(|| self.turn.own_context())
    }

    /// The upstream conversation of ours: the one that this task or an earlier one was given, or one that we name.
    pub(super) async fn context(&mut self) -> Result<Option<ContextId>, AgentError> {
        if let Some(context) = self.checkpoint.as_ref().and_then(Checkpoint::context_id) {
            return Ok(Some(context));
        }
        if !self.line.takes_our_contexts() {
            // One that has begun nothing there knows none.
            let read = |checkpoint| {
                serde_json::from_value::<Checkpoint>(checkpoint)
                    .ok()?
                    .context_id()
            };
            let earlier = self.turn.in_earlier_steps(NAME, EARLIER, read).await?;
            if earlier.is_some() {
                return Ok(earlier);
            }
        }
        Ok(self
            .line
            .settings
            .names_contexts
            .then(|| self.own_context().clone()))
    }
}
