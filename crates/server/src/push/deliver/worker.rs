//! One turn of one webhook: its events, one after the other, until there are none left, it fails, or others
//! want their turn.
//!
//! Progress is stored after what it claims has happened, never before: a crash repeats, it does not lose.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::Event;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::post::{Failure, Poster};
use super::queue::{Ended, Key, Next};
use super::render::{self, Notice};
use super::{Settings, backoff};
use crate::clock;
use crate::log::Log;
use crate::metrics::Delivered;
use crate::store::Error;
use crate::task::{Change, DeadLetter, Delivery, Entry, Webhook};
use crate::trace::{Kind, Recording, Trace, names};

/// How many events are read at once.
const PAGE: usize = 32;
/// How long one webhook may keep its place while others wait.
const TURN: Duration = Duration::from_secs(2);
/// Progress is stored at least every so many deliveries, and this often.
const SAVE_EVERY: u32 = 16;
const SAVE_WITHIN: Duration = Duration::from_millis(250);
/// Skipped events alone are not worth a commit before there are this many.
const SKIPPED: u64 = 64;
/// No event is given up before this many attempts, however long its webhook has been failing.
const MIN_ATTEMPTS: u32 = 3;
/// How much of what could not be delivered is kept, in bytes.
const MAX_DEAD_LETTER_BODY: usize = 64 << 10;
/// How long to wait when the store is in trouble.
const STORE_TROUBLE: Duration = Duration::from_secs(5);

/// What all workers share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) log: Log,
    pub(super) poster: Poster,
    pub(super) settings: Settings,
    pub(super) stopping: CancellationToken,
}

/// One webhook's turn.
struct Turn<'a> {
    context: &'a Context,
    /// As it is stored.
    webhook: Webhook,
    /// How far it has come in truth.
    delivery: Delivery,
    /// Delivered or given up, but not stored as such.
    unsaved: u32,
    saved_at: Instant,
    answered: Option<bool>,
    /// What the task is part of.
    trace: Option<Trace>,
    /// The receiver said that it wants nothing any more.
    gone: Option<String>,
}

/// Runs one turn of a webhook.
pub(super) async fn run(context: &Context, key: &Key) -> Ended {
    let trouble = |error: &Error| {
        tracing::warn!(task = %key.0, webhook = %key.1, %error, "webhook delivery waits for the store");
        Next::At(Instant::now() + STORE_TROUBLE)
    };
    let webhook = match find(context, key).await {
        Ok(Some(webhook)) => webhook,
        Ok(None) => return Ended::idle(),
        Err(error) => {
            return Ended {
                next: trouble(&error),
                ..Ended::idle()
            };
        }
    };
    let failing = Some(webhook.delivery.failing_since.is_some());
    let wait = clock::until(webhook.delivery.retry_at.unwrap_or_else(clock::now));
    if !wait.is_zero() {
        let wait = wait.min(backoff::longest(&context.settings));
        return Ended {
            next: Next::At(Instant::now() + wait),
            failing,
            ..Ended::idle()
        };
    }
    let trace = match context.log.trace_of(&key.0).await {
        Ok(trace) => trace,
        Err(error) => {
            return Ended {
                next: trouble(&error),
                failing,
                ..Ended::idle()
            };
        }
    };
    let mut turn = Turn {
        context,
        delivery: webhook.delivery.clone(),
        webhook,
        unsaved: 0,
        saved_at: Instant::now(),
        answered: None,
        trace,
        gone: None,
    };
    let next = match turn.take().await {
        Ok(next) => next,
        Err(error) => {
            turn.save_after_trouble().await;
            trouble(&error)
        }
    };
    Ended {
        next,
        answered: turn.answered,
        failing: Some(turn.delivery.failing_since.is_some()),
    }
}

async fn find(context: &Context, (task, id): &Key) -> Result<Option<Webhook>, Error> {
    let webhooks = context.log.store().webhooks(task).await?;
    Ok(webhooks.into_iter().find(|webhook| webhook.id == *id))
}

impl Ended {
    fn idle() -> Self {
        Self {
            next: Next::Idle,
            answered: None,
            failing: None,
        }
    }
}

impl Turn<'_> {
    async fn take(&mut self) -> Result<Next, Error> {
        let began = Instant::now();
        let mut page = self.first_page().await?;
        while !page.is_empty() {
            for entry in page {
                if self.context.stopping.is_cancelled() {
                    self.save().await?;
                    return Ok(Next::Idle);
                }
                if let Some(next) = self.tell(&entry).await? {
                    return Ok(next);
                }
                if self.unsaved > 0 && began.elapsed() >= TURN {
                    self.save().await?;
                    return Ok(Next::Again);
                }
            }
            page = self.page().await?;
        }
        self.rest().await?;
        Ok(Next::Idle)
    }

    /// Tells the receiver of one event; `Some` ends the turn.
    async fn tell(&mut self, entry: &Entry) -> Result<Option<Next>, Error> {
        let webhook = &self.webhook;
        let notice =
            render::notice(&self.context.log, webhook.dialect, &webhook.task, entry).await?;
        let Some(notice) = notice else {
            self.delivery.delivered = entry.seq;
            return Ok(None);
        };
        // Deleted or replaced meanwhile: what was meant for the old one is not for the new one. The commit that
        // replaced it has woken the outbox, which schedules the new one at its own host.
        match find(self.context, &(webhook.task.clone(), webhook.id.clone())).await? {
            None => return Ok(Some(Next::Idle)),
            Some(stored) if stored != *webhook => {
                self.delivery = stored.delivery;
                return Ok(Some(Next::Idle));
            }
            Some(_) => {}
        }
        if let Some(reason) = self.gone.clone() {
            self.give_up(&notice, reason).await?;
            return Ok(None);
        }
        let poster = &self.context.poster;
        let trace = self.trace.as_ref().map(Trace::child);
        let mut recording = self.record(trace.as_ref());
        let attempt = poster.post(&self.webhook, &notice, trace.as_ref());
        let outcome = tokio::select! {
            outcome = attempt => outcome,
            () = self.context.stopping.cancelled() => {
                self.save().await?;
                return Ok(Some(Next::Idle));
            }
        };
        if let (Some(recording), Err(failure)) = (&mut recording, &outcome) {
            recording.fail(failure.reason.clone());
        }
        drop(recording);
        match outcome {
            Ok(()) => self.delivered(notice.seq).await.map(|()| None),
            Err(failure) => self.failed(&notice, failure).await,
        }
    }

    /// Records an attempt.
    fn record(&self, trace: Option<&Trace>) -> Option<Recording> {
        let mut recording = trace?.record("push notification", Kind::Client)?;
        recording.set(names::TASK, self.webhook.task.as_str());
        recording.set(names::SERVER, &*super::host(&self.webhook.config.url));
        Some(recording)
    }

    async fn delivered(&mut self, seq: u64) -> Result<(), Error> {
        self.answered = Some(true);
        self.context.log.metrics().delivered(Delivered::Taken);
        let recovered = self.delivery.failing_since.is_some();
        self.delivery = Delivery::up_to(seq);
        tracing::debug!(task = %self.webhook.task, webhook = %self.webhook.id, seq, "webhook event delivered");
        self.unsaved += 1;
        if recovered || self.unsaved >= SAVE_EVERY || self.saved_at.elapsed() >= SAVE_WITHIN {
            self.save().await?;
        }
        Ok(())
    }

    /// Plans the next attempt, or gives this event up.
    async fn failed(&mut self, notice: &Notice, failure: Failure) -> Result<Option<Next>, Error> {
        self.answered = Some(failure.answered);
        let settings = &self.context.settings;
        let delivery = &mut self.delivery;
        delivery.attempts = delivery.attempts.saturating_add(1);
        let since = *delivery.failing_since.get_or_insert_with(clock::now);
        delivery.last_error = Some(failure.reason.clone());
        tracing::info!(
            task = %self.webhook.task,
            webhook = %self.webhook.id,
            seq = notice.seq,
            attempts = delivery.attempts,
            reason = failure.reason,
            "webhook delivery failed, will retry"
        );
        let too_long = since <= clock::before_now(settings.give_up_after);
        if failure.gone || (too_long && delivery.attempts >= MIN_ATTEMPTS) {
            if failure.gone {
                self.gone = Some(failure.reason.clone());
            }
            self.give_up(notice, failure.reason).await?;
            return Ok(None);
        }
        let delay = backoff::delay(settings, delivery.attempts, failure.retry_after);
        delivery.retry_at = Some(clock::after_now(delay));
        self.context.log.metrics().delivered(Delivered::NotYet);
        self.save().await?;
        Ok(Some(Next::At(Instant::now() + delay)))
    }

    /// Puts an event away for the operator and goes on with the next one. The webhook counts as failing until
    /// something is delivered, so that what waits behind is not given as much time again.
    async fn give_up(&mut self, notice: &Notice, error: String) -> Result<(), Error> {
        let letter = DeadLetter {
            task: self.webhook.task.clone(),
            webhook: self.webhook.id.clone(),
            seq: notice.seq,
            url: self.webhook.config.url.clone(),
            body: notice.body.beginning(MAX_DEAD_LETTER_BODY),
            attempts: self.delivery.attempts,
            error,
            at: clock::now(),
        };
        tracing::warn!(
            task = %letter.task,
            webhook = %letter.webhook,
            seq = letter.seq,
            attempts = letter.attempts,
            error = letter.error,
            "webhook delivery became a dead letter"
        );
        self.context.log.commit(Change::DeadLetter(letter)).await?;
        self.context.log.metrics().delivered(Delivered::GivenUp);
        self.delivery.delivered = notice.seq;
        self.delivery.attempts = 0;
        self.delivery.retry_at = None;
        self.unsaved += 1;
        self.save().await
    }

    /// Nothing is left: what comes next has all its time again.
    async fn rest(&mut self) -> Result<(), Error> {
        let given_up = self.delivery.failing_since.take().is_some();
        let skipped = self.delivery.delivered - self.webhook.delivery.delivered;
        if given_up || self.unsaved > 0 || skipped >= SKIPPED {
            self.save().await?;
        }
        Ok(())
    }

    async fn save(&mut self) -> Result<(), Error> {
        if self.delivery != self.webhook.delivery {
            let (task, id) = (self.webhook.task.clone(), self.webhook.id.clone());
            let change = Change::Delivery(task, id, self.delivery.clone());
            self.context.log.commit(change).await?;
            self.webhook.delivery = self.delivery.clone();
        }
        self.unsaved = 0;
        self.saved_at = Instant::now();
        Ok(())
    }

    /// What was delivered before something went wrong is not delivered again, if the store can still be written.
    async fn save_after_trouble(&mut self) {
        if self.unsaved > 0
            && let Err(error) = self.save().await
        {
            tracing::debug!(%error, "could not record webhook progress");
        }
    }

    /// The next events, if they are all there.
    async fn page(&self) -> Result<Vec<Arc<Entry>>, Error> {
        let store = self.context.log.store();
        let after = self.delivery.delivered;
        let entries = store.events(&self.webhook.task, after, PAGE).await?;
        let gapless = entries.first().is_some_and(|first| first.seq == after + 1);
        Ok(if gapless { entries } else { Vec::new() })
    }

    /// The next events. If they were folded away, the whole task stands in for them.
    async fn first_page(&self) -> Result<Vec<Arc<Entry>>, Error> {
        let entries = self.page().await?;
        if !entries.is_empty() {
            return Ok(entries);
        }
        let log = &self.context.log;
        match log.read_internal(&self.webhook.task).await? {
            Some((head, task)) if head.seq > self.delivery.delivered => {
                // They may just have been stored.
                let entries = self.page().await?;
                if !entries.is_empty() {
                    return Ok(entries);
                }
                let whole = Event::Task(task);
                Ok(vec![Arc::new(Entry::new(
                    head.seq,
                    head.updated,
                    whole,
                    None,
                ))])
            }
            _ => Ok(Vec::new()),
        }
    }
}
