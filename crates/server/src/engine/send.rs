//! New task or next turn?

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use switchboard_types::Error;
use switchboard_types::model::{Message, Task, TaskId, TaskState};
use switchboard_types::operation::{Response, SendMessage, TaskView};

use super::answer::{Answer, direct_reply_or_task, wait_for_answer};
use super::by_context::went_on;
use super::events::addressed;
use super::idempotency::{Claim, beside};
use super::{Engine, Scope};
use crate::agent::{Said, Turn};
use crate::agent::{status, status_event};
use crate::call::{self, EventStream, ReplyBody};
use crate::log::{Cursor, Joined, NewTask, Received, TaskLog, Until};
use crate::principal::Principal;
use crate::store;
use crate::task::{
    Delivery, InputRequest, Origin, Webhook, asked_for_secret, asks_for_secret, fresh_ids,
    open_request, redacted, tool_result_id, unasked,
};

/// Where a send has led.
pub(super) struct Sent {
    pub(super) log: Arc<TaskLog>,
    /// The event that holds the caller's message.
    pub(super) since: u64,
    /// The turn that begins with it, until it is launched.
    pub(super) turn: Option<BoxFuture<'static, ()>>,
}

impl Engine {
    /// Sends a message and waits for the answer, as long as the caller and the settings allow.
    pub(super) async fn send(
        &self,
        scope: &Scope,
        send: Box<SendMessage>,
    ) -> Result<ReplyBody, Error> {
        let history_length = send.configuration.history_length;
        let at_once = send.configuration.return_immediately;
        let sent = self.accept(scope, send).await?;
        if at_once && sent.log.is_draft() {
            // The caller does not wait (A2A 1.0 §3.2.2): an agent that did not reply at its first poll works on a task.
            sent.log.publish();
        }
        let guard = self.watch_client(&sent.log);
        if sent.since <= 1 && !sent.log.is_draft() {
            // However long that takes, there is no task to answer with before.
            sent.log
                .stored_up_to(1)
                .await
                .map_err(store::Error::for_caller)?;
        }
        // Often it is over by then, and no clock is needed.
        let (log, since) = (&sent.log, sent.since);
        let task = match wait_for_answer(log, since, at_once).now_or_never() {
            Some(answer) => answer?,
            None => self.wait_until_the_deadline(log, since, at_once).await?,
        };
        guard.disarm();
        Ok(ReplyBody::Response(match task {
            Answer::Message(message) => Response::SentMessage(message),
            Answer::Task(task) => Response::SentTask(TaskView {
                task,
                history_length,
                artifacts: true,
            }),
        }))
    }

    /// Sends a message and follows the task.
    pub(super) async fn stream(
        &self,
        scope: &Scope,
        send: Box<SendMessage>,
    ) -> Result<EventStream, Error> {
        self.require_streaming(scope)?;
        let sent = self.accept(scope, send).await?;
        if sent.since <= 1 {
            if sent.log.is_draft() {
                Box::pin(direct_reply_or_task(&sent.log)).await?;
            } else {
                // It comes soon, and then the head of the stream need not go out alone.
                sent.log
                    .stored_up_to(1)
                    .await
                    .map_err(store::Error::for_caller)?;
            }
            let abandoned = self.on_abandoned(&sent.log);
            let cursor = Cursor::after(sent.log, 0, Until::TurnEnds).executed();
            return Ok(EventStream::from(cursor).on_abandoned(abandoned));
        }
        // A stream begins with the task (A2A 1.0 §3.1.2), the caller's message in it.
        sent.log
            .stored_up_to(sent.since)
            .await
            .map_err(store::Error::for_caller)?;
        let abandoned = self.on_abandoned(&sent.log);
        let cursor = Cursor::from_now(sent.log, Until::TurnEnds).executed();
        Ok(EventStream::from(cursor).on_abandoned(abandoned))
    }

    /// Stores the message, as the beginning of a task or of its next turn, and starts that turn.
    async fn accept(&self, scope: &Scope, send: Box<SendMessage>) -> Result<Sent, Error> {
        let mut sent = self.store_message(scope, send).await?;
        if let Some(turn) = sent.turn.take() {
            self.launch(&sent.log, turn);
        }
        Ok(sent)
    }

    async fn store_message(&self, scope: &Scope, send: Box<SendMessage>) -> Result<Sent, Error> {
        Self::require_user(&send.message)?;
        self.require_few_parts(&send.message)?;
        self.reject_loops(&send.message)?;
        if !self.shared.settings.any_input {
            self.profile().require_input(&send.message)?;
        }
        self.shared.agent.require_input(&send.message)?;
        if send.configuration.push.is_some() {
            self.profile().require_push()?;
        }
        if !Self::may_continue(&send.message) && self.key_of(scope, &send).is_none() {
            let decision = self.decide(&send, &scope.principal);
            return self.begin(scope, send, decision, None);
        }
        // Boxed: the future of every call would have room for it.
        Box::pin(self.accept_keyed_or_continued(scope, send)).await
    }

    /// What the routing rules decide about a new task.
    fn decide(&self, send: &SendMessage, caller: &Principal) -> Option<Value> {
        self.shared.router.as_ref()?.decide(send, caller)
    }

    /// Stores a message that may be a repeated one, or belong to a task.
    async fn accept_keyed_or_continued(
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
        })
    }

    /// A new task.
    fn begin(
        &self,
        scope: &Scope,
        send: Box<SendMessage>,
        decision: Option<Value>,
        claim: Option<Claim>,
    ) -> Result<Sent, Error> {
        let (id, context) = fresh_ids();
        let origin = Origin {
            id,
            agent: Arc::clone(&self.shared.name),
            owner: scope.principal.owner().clone(),
            context: send.message.context_id.clone().unwrap_or(context),
        };
        let webhook = self.webhook_of(scope, &origin.id, &send, 0)?;
        let ticket = self.turn_ticket(scope)?;
        let log = self
            .shared
            .log
            .create_for(origin.clone(), &self.shared.meter);
        let message = addressed(send.message, &origin);
        let task = Arc::new(Task {
            id: origin.id.clone(),
            context_id: origin.context.clone(),
            status: status(TaskState::Submitted, None),
            artifacts: Vec::new(),
            history: vec![Arc::clone(&message)],
            metadata: send.metadata.clone(),
        });
        // What another agent asks for is a task from the start: it can be canceled as one.
        let by_agent = matches!(scope.origin, call::Origin::Agent(_));
        let trace = scope.params.trace.as_ref();
        let canceled = log.begin(NewTask {
            task: Arc::clone(&task),
            changes: beside(webhook, claim.as_ref(), &origin.id),
            decision: decision.clone(),
            trace: trace.cloned(),
            draft: self.shared.settings.reply_with_message && !by_agent,
        });
        let turn = Turn {
            task,
            message,
            question: None,
            metadata: send.metadata,
            accepted_output_modes: send.configuration.accepted_output_modes,
            principal: scope.principal.clone(),
            number: 1,
            emitted: 0,
            is_resumed: false,
            is_secret: false,
            input_timed_out: false,
            canceled,
            begins_at: 2,
            trace: trace.map(|trace| Box::new(trace.child())),
            decision: decision.map(Box::new),
            context: Arc::clone(&self.shared.turn_context),
        };
        let turn = self.prepare(&log, turn, claim, ticket);
        Ok(Sent {
            log,
            since: 1,
            turn: Some(turn),
        })
    }

    /// The webhook that came with a send; armed before the first event that follows.
    fn webhook_of(
        &self,
        scope: &Scope,
        task: &TaskId,
        send: &SendMessage,
        delivered: u64,
    ) -> Result<Option<Webhook>, Error> {
        let Some(config) = send.configuration.push.clone() else {
            return Ok(None);
        };
        let webhook = self.new_webhook(
            scope,
            task,
            config,
            "configuration.taskPushNotificationConfig",
        )?;
        Ok(Some(Webhook {
            delivery: Delivery::up_to(delivered),
            ..webhook
        }))
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
