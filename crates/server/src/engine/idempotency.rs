//! A request repeated under the same `Idempotency-Key` by the same caller is not run twice and gets the first
//! one's answer, while it runs and after a restart. The commit decides which one is first; the table of requests in flight
//! is for repeats that reach this server while the first one is not stored.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use switchboard_keys::sha256;
use switchboard_types::model::{Message, TaskId};
use switchboard_types::operation::SendMessage;
use switchboard_types::{Dialect, Error, ErrorKind, wire};

use super::send::Sent;
use super::{Engine, Scope};
use crate::call::{Call, Origin};
use crate::clock;
use crate::log::TaskLog;
use crate::store::{self, Refusal};
use crate::task::{Answer, Answered, Change, IdempotencyKey, Webhook, tool_result_id};

/// Requests whose answers are not stored yet, or are being asked for.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashMap<IdempotencyKey, Slot>>);

/// What is known of one key.
#[derive(Debug, Default)]
struct Slot {
    first: Option<First>,
    /// How many look into the store for an answer. What they do not find there they must find here, so the
    /// slot stays until they are done.
    asking: usize,
}

/// The first request under a key.
#[derive(Debug, Clone)]
struct First {
    fingerprint: u64,
    log: Arc<TaskLog>,
    since: u64,
    /// The answer is in the store.
    stored: bool,
}

/// The right to answer under a key.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    key: IdempotencyKey,
    fingerprint: u64,
}

/// Keeps a slot while the store is read.
struct Asking<'a> {
    keys: &'a InFlight,
    key: &'a IdempotencyKey,
}

impl Claim {
    /// Remembers that the answer is a task.
    pub(super) fn answered_by_task(&self, id: &TaskId) -> Change {
        self.answered(Answer::Task(id.clone()))
    }

    /// Remembers that the answer is a bare message.
    pub(super) fn answered_by_message(&self, message: &Message) -> Change {
        self.answered(Answer::Message(message.clone()))
    }

    fn answered(&self, answer: Answer) -> Change {
        Change::Answered(Answered {
            key: self.key.clone(),
            fingerprint: self.fingerprint,
            answer,
            at: clock::now(),
        })
    }
}

impl Engine {
    /// Runs `first`, unless this request was made before: then leads to where that one has led. Two requests
    /// under one key never both come first.
    pub(super) async fn once(
        &self,
        scope: &Scope,
        send: Box<SendMessage>,
        first: impl FnOnce(Box<SendMessage>, Option<Claim>) -> Result<Sent, Error> + Send,
    ) -> Result<Sent, Error> {
        let Some(key) = self.key_of(scope, &send) else {
            return first(send, None);
        };
        let fingerprint = self.fingerprint(scope, &send);
        let asking = Asking::new(&self.shared.lineage.keys, &key);
        if let Some(before) = self.before(&asking, &send, fingerprint).await? {
            return Ok(before);
        }
        let mut slots = self.shared.lineage.keys.lock();
        let slot = slots.entry(key.clone()).or_default();
        if let Some(first) = &slot.first {
            return first.again(fingerprint);
        }
        let claim = Claim {
            key: key.clone(),
            fingerprint,
        };
        // Under the lock, so that whoever finds the slot finds the message in the log too.
        let mut sent = first(send, Some(claim))?;
        sent.claimed = Some(fingerprint);
        slot.first = Some(First {
            fingerprint,
            log: Arc::clone(&sent.log),
            since: sent.since,
            stored: false,
        });
        drop(slots);
        drop(asking);
        self.release_when_stored(key, &sent);
        Ok(sent)
    }

    /// Where an earlier request under the same key has led, if there was one.
    pub(super) async fn repeated(
        &self,
        scope: &Scope,
        send: &SendMessage,
    ) -> Result<Option<Sent>, Error> {
        let Some(key) = self.key_of(scope, send) else {
            return Ok(None);
        };
        let asking = Asking::new(&self.shared.lineage.keys, &key);
        let fingerprint = self.fingerprint(scope, send);
        self.before(&asking, send, fingerprint).await
    }

    /// The task that an earlier request under the same key has led to.
    pub(crate) async fn repeats(
        &self,
        call: &Call,
        send: &SendMessage,
    ) -> Result<Option<Arc<TaskLog>>, Error> {
        let scope = Scope {
            principal: call.principal.clone(),
            params: call.params.clone(),
            origin: call.origin.clone(),
        };
        let before = self.repeated(&scope, send).await?;
        Ok(before.map(|before| before.log))
    }

    pub(super) fn key_of(&self, scope: &Scope, send: &SendMessage) -> Option<IdempotencyKey> {
        let by_message = || {
            let on = self.shared.settings.dedupe_by_message_id;
            on.then(|| format!("message:{}", send.message.id))
        };
        let key = scope.params.idempotency_key.as_ref();
        let key = key.map(|key| match &scope.origin {
            Origin::Network => format!("key:{key}"),
            // No caller can take a key that another agent is going to use for it.
            Origin::Agent(name) => format!("agent:{name}:{key}"),
        });
        Some(IdempotencyKey {
            owner: scope.principal.owner().clone(),
            agent: Arc::clone(&self.shared.name),
            key: key.or_else(by_message)?,
        })
    }

    /// The earlier answer, in flight or stored. One that is stored while we look stays in flight meanwhile.
    async fn before(
        &self,
        asking: &Asking<'_>,
        send: &SendMessage,
        fingerprint: u64,
    ) -> Result<Option<Sent>, Error> {
        if let Some(first) = asking.first() {
            return first.again(fingerprint).map(Some);
        }
        let store = self.shared.log.store();
        let Some(answered) = store
            .answered(asking.key)
            .await
            .map_err(store::Error::for_caller)?
        else {
            return Ok(None);
        };
        same_request(answered.fingerprint, fingerprint)?;
        let log = self.log_of(answered.answer).await?;
        Ok(log.map(|log| Sent {
            since: match begins(send, &log) {
                true => 1,
                false => log.last().0,
            },
            log,
            turn: None,
            claimed: None,
        }))
    }

    /// The log of an earlier answer. A task that was purged since is as good as never made.
    async fn log_of(&self, answer: Answer) -> Result<Option<Arc<TaskLog>>, Error> {
        match answer {
            Answer::Task(id) => {
                let log = self.shared.log.open(&id).await;
                log.map_err(store::Error::for_caller)
            }
            Answer::Message(message) => Ok(Some(self.shared.log.replied(Arc::new(message)))),
        }
    }

    /// Waits until a request under a key is stored. If another server on the same store was first, it leads to where that
    /// one's has led: the commit has refused ours, and its turn is canceled.
    pub(super) async fn first_or_earlier(&self, sent: Sent) -> Result<Sent, Error> {
        if sent.log.is_draft() {
            return Ok(sent);
        }
        let first = match sent.log.stored_up_to(sent.since).await {
            Err(store::Error::Refused(Refusal::AlreadyAnswered(first))) => *first,
            // The caller gets other errors while it waits for the answer.
            Ok(()) | Err(_) => return Ok(sent),
        };
        same_request(first.fingerprint, sent.claimed.unwrap_or(first.fingerprint))?;
        let log = self.log_of(first.answer).await?;
        let log = log.ok_or_else(|| Error::new(ErrorKind::Unavailable, "try again"))?;
        let since = match sent.since {
            0 | 1 => 1,
            _ => log.last().0,
        };
        Ok(Sent {
            since,
            log,
            turn: None,
            claimed: None,
        })
    }

    /// Tells one message from another, also after a restart: the beginning of SHA-256 over its 1.0 form. What an answer to a
    /// question says is left out: it may be a secret, and a short one could be guessed from its hash. So is what comes along
    /// with the call of an agent: made again after a restart, it may bring another way or budget. Where answers are found by
    /// their context, it does not matter whether the message names its task.
    fn fingerprint(&self, scope: &Scope, send: &SendMessage) -> u64 {
        let mut bytes = Vec::with_capacity(256);
        let by_agent = matches!(scope.origin, Origin::Agent(_));
        let by_context =
            self.shared.settings.answers_by_context && send.message.context_id.is_some();
        let answers = goes_on(send) || by_context;
        if answers || by_agent {
            let mut told = send.message.clone();
            if answers {
                told.parts.clear();
            }
            if by_context {
                told.task_id = None;
            }
            if by_agent {
                told.metadata = None;
            }
            wire::encode_message(Dialect::V1, &told, &mut bytes);
        } else {
            wire::encode_message(Dialect::V1, &send.message, &mut bytes);
        }
        if let Some(metadata) = &send.metadata {
            bytes.extend_from_slice(metadata.as_str().as_bytes());
        }
        let [a, b, c, d, e, f, g, h, ..] = sha256(&bytes);
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    fn release_when_stored(&self, key: IdempotencyKey, sent: &Sent) {
        let (log, since) = (Arc::clone(&sent.log), sent.since);
        let engine = self.clone();
        self.shared.tasks.spawn(async move {
            tokio::select! {
                () = log.kept(since) => engine.shared.lineage.keys.release(&key),
                () = engine.shared.tasks.stopping().cancelled() => {}
            }
        });
    }
}

impl First {
    fn again(&self, fingerprint: u64) -> Result<Sent, Error> {
        same_request(self.fingerprint, fingerprint)?;
        Ok(Sent {
            log: Arc::clone(&self.log),
            since: self.since,
            turn: None,
            claimed: None,
        })
    }
}

impl<'a> Asking<'a> {
    fn new(keys: &'a InFlight, key: &'a IdempotencyKey) -> Self {
        keys.lock().entry(key.clone()).or_default().asking += 1;
        Self { keys, key }
    }

    fn first(&self) -> Option<First> {
        self.keys.lock().get(self.key)?.first.clone()
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.keys.change(self.key, |slot| slot.asking -= 1);
    }
}

impl InFlight {
    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<IdempotencyKey, Slot>> {
        self.0.lock()
    }

    /// The answer is in the store, or there is none.
    fn release(&self, key: &IdempotencyKey) {
        self.change(key, |slot| {
            if let Some(first) = &mut slot.first {
                first.stored = true;
            }
        });
    }

    /// Changes a slot, and drops it once nobody needs it.
    fn change(&self, key: &IdempotencyKey, change: impl FnOnce(&mut Slot)) {
        let mut slots = self.lock();
        let Some(slot) = slots.get_mut(key) else {
            return;
        };
        change(slot);
        if slot.asking == 0 && slot.first.as_ref().is_none_or(|first| first.stored) {
            slots.remove(key);
        }
    }
}

fn same_request(first: u64, second: u64) -> Result<(), Error> {
    if first == second {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidParams,
        "this Idempotency-Key was used for a different request: use a new key",
    ))
}

/// Whether a message that led to a task began it. It may have answered its question without naming it.
fn begins(send: &SendMessage, log: &TaskLog) -> bool {
    let first = log
        .view()
        .and_then(|(_, task)| task.history.first().cloned());
    !goes_on(send) && first.is_none_or(|first| first.id == send.message.id)
}

/// The message says that it goes on with a task.
fn goes_on(send: &SendMessage) -> bool {
    send.message.task_id.is_some() || tool_result_id(&send.message).is_some()
}

/// What is stored in the same transaction as the message.
pub(super) fn beside(
    webhook: Option<Webhook>,
    claim: Option<&Claim>,
    task: &TaskId,
) -> Vec<Change> {
    let mut changes = Vec::new();
    // Pushed one by one: a change is large, and mostly there is none to move.
    if let Some(webhook) = webhook {
        changes.push(Change::PutWebhook(webhook));
    }
    if let Some(claim) = claim {
        changes.push(claim.answered_by_task(task));
    }
    changes
}
