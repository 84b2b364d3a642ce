//! New task or next turn?

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use switchboard_types::Error;
use switchboard_types::model::{Task, TaskId, TaskState};
use switchboard_types::operation::{Response, SendMessage, TaskView};

use super::answer::{Answer, direct_reply_or_task, wait_for_answer};
use super::events::addressed;
use super::idempotency::{Claim, beside};
use super::{Engine, Scope};
use crate::agent::{Turn, status};
use crate::call::{self, EventStream, ReplyBody};
use crate::log::{Cursor, NewTask, TaskLog, Until};
use crate::principal::Principal;
use crate::store;
use crate::task::{Delivery, Origin, Webhook, fresh_ids};

/// Where a send has led.
pub(super) struct Sent {
    pub(super) log: Arc<TaskLog>,
    /// The event that holds the caller's message.
    pub(super) since: u64,
    /// The turn that begins with it, until it is launched.
    pub(super) turn: Option<BoxFuture<'static, ()>>,
    /// The fingerprint of the request, if it is the first one here under its idempotency key.
    pub(super) claimed: Option<u64>,
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
        match sent.claimed {
            Some(_) => Box::pin(self.first_or_earlier(sent)).await,
            None => Ok(sent),
        }
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
    pub(super) fn decide(&self, send: &SendMessage, caller: &Principal) -> Option<Value> {
        self.shared.router.as_ref()?.decide(send, caller)
    }

    /// A new task.
    pub(super) fn begin(
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
            claimed: None,
        })
    }

    /// The webhook that came with a send; armed before the first event that follows.
    pub(super) fn webhook_of(
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
