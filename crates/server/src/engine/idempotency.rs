//! A request repeated under the same `Idempotency-Key` by the same caller is not run twice and gets the first
//! one's answer, while it runs and after a restart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_types::model::{Message, TaskId};
use switchboard_types::operation::SendMessage;
use switchboard_types::{Dialect, Error, ErrorKind, wire};

use super::{Engine, Scope, storage};
use crate::clock;
use crate::log::TaskLog;
use crate::store::{Answer, Answered, Change, IdempotencyKey};

/// Requests whose answers are not stored yet.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashMap<IdempotencyKey, (u64, Arc<TaskLog>)>>);

/// The first request under a key.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    key: IdempotencyKey,
    fingerprint: u64,
}

/// Who comes first.
pub(super) enum Claimed {
    /// This request, under a key if it has one.
    First(Option<Claim>),
    /// An earlier one: its task, or its bare answer.
    Before(Arc<TaskLog>),
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
    /// Claims the key of a request for the task in `log`, or finds who came before.
    pub(super) async fn claim(
        &self,
        scope: &Scope,
        send: &SendMessage,
        log: &Arc<TaskLog>,
    ) -> Result<Claimed, Error> {
        let Some(key) = self.key_of(scope, send) else {
            return Ok(Claimed::First(None));
        };
        let fingerprint = fingerprint(send);
        if let Some(earlier) = self.answered_before(&key, fingerprint).await? {
            return Ok(Claimed::Before(earlier));
        }
        let mut in_flight = self.shared.keys.lock();
        if let Some((other, earlier)) = in_flight.get(&key) {
            same_request(*other, fingerprint)?;
            return Ok(Claimed::Before(Arc::clone(earlier)));
        }
        in_flight.insert(key.clone(), (fingerprint, Arc::clone(log)));
        drop(in_flight);
        self.release_when_stored(key.clone(), Arc::clone(log));
        Ok(Claimed::First(Some(Claim { key, fingerprint })))
    }

    fn key_of(&self, scope: &Scope, send: &SendMessage) -> Option<IdempotencyKey> {
        let by_message = || {
            let on = self.shared.settings.dedupe_by_message_id;
            on.then(|| format!("message:{}", send.message.id))
        };
        let key = scope
            .params
            .idempotency_key
            .as_ref()
            .map(|key| format!("key:{key}"));
        Some(IdempotencyKey {
            owner: scope.principal.owner().clone(),
            agent: Arc::clone(&self.shared.name),
            key: key.or_else(by_message)?,
        })
    }

    /// The earlier answer under `key`, in flight or stored. In flight is asked first and last (by the
    /// caller), so that an answer on its way into the store is seen in one place or the other.
    async fn answered_before(
        &self,
        key: &IdempotencyKey,
        fingerprint: u64,
    ) -> Result<Option<Arc<TaskLog>>, Error> {
        if let Some((other, earlier)) = self.shared.keys.lock().get(key) {
            same_request(*other, fingerprint)?;
            return Ok(Some(Arc::clone(earlier)));
        }
        let store = self.shared.log.store();
        let Some(answered) = store.answered(key).await.map_err(storage)? else {
            return Ok(None);
        };
        same_request(answered.fingerprint, fingerprint)?;
        match answered.answer {
            // A task that was purged since is as good as never made.
            Answer::Task(id) => self.shared.log.open(&id).await.map_err(storage),
            Answer::Message(message) => Ok(Some(self.shared.log.replied(message))),
        }
    }

    fn release_when_stored(&self, key: IdempotencyKey, log: Arc<TaskLog>) {
        let engine = self.clone();
        self.shared.tasks.spawn(async move {
            drop(log.decided().await);
            engine.shared.keys.lock().remove(&key);
        });
    }
}

impl InFlight {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<IdempotencyKey, (u64, Arc<TaskLog>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Tells one message from another, also after a restart: FNV-1a over its 1.0 form.
fn fingerprint(send: &SendMessage) -> u64 {
    let mut bytes = Vec::with_capacity(256);
    wire::encode_message(Dialect::V1, &send.message, &mut bytes);
    if let Some(metadata) = &send.metadata {
        bytes.extend_from_slice(metadata.as_str().as_bytes());
    }
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
