//! Messages that continue a task: which task they belong to, and when its next turn begins.

use std::sync::Arc;

use switchboard_types::Error;
use switchboard_types::model::{Message, TaskState};
use switchboard_types::operation::SendMessage;

use super::by_context::went_on;
use super::events::addressed;
use super::idempotency::{Claim, beside};
use super::send::Sent;
use super::{Engine, Scope};
use crate::agent::{Said, Turn, status_event};
use crate::call;
use crate::log::{Joined, Received, TaskLog};
use crate::principal::Principal;
use crate::task::{
    InputRequest, asked_for_secret, asks_for_secret, open_request, redacted, tool_result_id,
    unasked,
};

impl Engine {
    /// Stores a message that may be a repeated one, or belong to a task.
    pub(super) async fn accept_keyed_or_continued(
        &self,
        scope: &Scope,
        send: Box<SendMessage>,
    ) -> Result<Sent, Error> {
        if send.message.task_id.is_some()
            // Repeated, it must not be measured by what the task has become since.
            && let Some(before) = self.repeated(scope, &send).await?
        {
            return Ok(before);
        }
        match self.continued(&scope.principal, &send.message).await? {
            Some(log) => self.go_on_when_idle(scope, &log, send).await,
            None => {
                // Before the key is locked: rules may take their time.
                let decision = self.decide(&send, &scope.principal);
                let first = |send, claim| self.begin(scope, send, decision, claim);
                self.once(scope, send, first).await
            }
        }
    }

    /// Begins the next turn of a task with a message. While a turn runs the message waits for its end, in the order of
    /// arrival: it answers what the turn asks, or is refused if the turn ends the task. Nothing is stored before, so a
    /// caller never gets the answer to somebody else's message.
    async fn go_on_when_idle(
        &self,
        scope: &Scope,
        log: &Arc<TaskLog>,
        send: Box<SendMessage>,
    ) -> Result<Sent, Error> {
        let go_on = |send, claim: Option<Claim>| self.go_on(scope, log, send, claim.as_ref());
        if scope.params.only_if_waiting {
            return self.once(scope, send, go_on).await;
        }
        // An agent that passes an answer on can wait: the task may have gone on without it, and ask again.
        let is_network = scope.origin == call::Origin::Network;
        if send.configuration.return_immediately && is_network {
            return match log.is_busy() {
                true => Err(busy(log)),
                false => self.once(scope, send, go_on).await,
            };
        }
        let turn = async {
            let next = log.next_message().await;
            log.turn_ended().await;
            next
        };
        let deadline = self.shared.settings.blocking_deadline;
        let turn = tokio::time::timeout(deadline, turn).await;
        let _next = turn.map_err(|_| busy(log))?;
        // A hot reload may have replaced the engine meanwhile.
        let latest = self.latest();
        let go_on = |send, claim: Option<Claim>| latest.go_on(scope, log, send, claim.as_ref());
        latest.once(scope, send, go_on).await
    }

    /// Whether a message may belong to a task that is there.
    pub(crate) fn may_continue(message: &Message) -> bool {
        message.task_id.is_some() || tool_result_id(message).is_some()
    }

    /// The task a message belongs to: named by `taskId`, or by a tool result that answers the question of a
    /// referenced task.
    pub(crate) async fn continued(
        &self,
        principal: &Principal,
        message: &Message,
    ) -> Result<Option<Arc<TaskLog>>, Error> {
        let result_id = tool_result_id(message);
        if let Some(id) = &message.task_id {
            let log = self.own_task(principal, id).await?;
            if let (Some(result), Some(asked)) = (&result_id, request_of(&log))
                && *result != asked.request_id
            {
                return Err(unasked(result, &asked.request_id));
            }
            return Ok(Some(log));
        }
        let Some(result) = result_id else {
            return Ok(None);
        };
        for id in &message.reference_task_ids {
            let Ok(log) = self.own_task(principal, id).await else {
                continue;
            };
            match request_of(&log) {
                Some(asked) if asked.request_id == result => return Ok(Some(log)),
                Some(asked) => return Err(unasked(&result, &asked.request_id)),
                None => {}
            }
        }
        Ok(None)
    }

    /// The next turn of a task.
    fn go_on(
        &self,
        scope: &Scope,
        log: &Arc<TaskLog>,
        send: Box<SendMessage>,
        claim: Option<&Claim>,
    ) -> Result<Sent, Error> {
        let origin = log.origin().clone();
        if let Some(context) = &send.message.context_id
            && *context != origin.context
        {
            return Err(Error::invalid_params(
                "message.contextId",
                "does not belong to the task named by message.taskId",
            ));
        }
        self.require_short_history(log)?;
        let ticket = self.turn_ticket(scope)?;
        let webhook = self.webhook_of(scope, &origin.id, &send, log.last().0)?;
        let message = addressed(send.message, &origin);
        // What opens a door elsewhere is no one's to read. The sender knows only what is committed: another answer may
        // have come first.
        let is_secret = scope.params.secret
            || log.last().1 == TaskState::AuthRequired
            || log.view().is_some_and(|(_, task)| {
                asks_for_secret(&task) || asked_for_secret(&task, &message)
            });
        let shown = match is_secret {
            true => Arc::new(redacted(&message)),
            false => Arc::clone(&message),
        };
        let received = Received {
            message: Arc::clone(&shown),
            secret: is_secret.then(|| self.seal(&message)).flatten(),
            trace: scope.params.trace.clone(),
            queued: ticket.waits(),
            only_if_waiting: scope.params.only_if_waiting,
            changes: beside(webhook, claim, &origin.id),
        };
        let working = status_event(&origin, TaskState::Working, Said::default());
        let begun = match log.receive(working, received) {
            Joined::Begins(begun) => begun,
            Joined::Over(state) => return Err(over(log, state)),
            Joined::WentOn => return Err(went_on(&origin.id)),
            Joined::Busy => return Err(busy(log)),
        };
        self.shared.lineage.input_deadlines.remove(&origin.id);
        let since = begun.record.begins_at;
        let caller = scope.principal.clone();
        let turn = Turn {
            question: begun.question,
            metadata: send.metadata,
            accepted_output_modes: send.configuration.accepted_output_modes,
            canceled: begun.canceled,
            is_secret,
            ..self.begun_turn(caller, log, begun.record, message, shown)
        };
        let turn = self.prepare(log, turn, claim.cloned(), ticket);
        Ok(Sent {
            log: Arc::clone(log),
            since,
            turn: Some(turn),
            claimed: None,
        })
    }
}

/// The error for a message to a task that is over.
fn over(log: &TaskLog, state: TaskState) -> Error {
    Error::unsupported(format!(
        "the task is {}: send a new message without taskId, in the same context",
        state.name()
    ))
    .fact("taskId", log.id().as_str())
    .fact("state", state.name())
}

/// The error for a message to a task that works on another one.
fn busy(log: &TaskLog) -> Error {
    let state = log.last().1;
    Error::unsupported(
        "the task is working on an earlier message and accepts no other now: send the message again when the task \
         is in input-required",
    )
    .fact("taskId", log.id().as_str())
    .fact("state", state.name())
}

/// The question a task waits on, if it asked one with an id.
fn request_of(log: &TaskLog) -> Option<InputRequest> {
    open_request(&log.view()?.1)
}
