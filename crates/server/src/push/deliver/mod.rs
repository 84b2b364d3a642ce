//! Delivers events to webhooks: the outbox.
//!
//! One task, the [`Outbox`], keeps the [`queue`] and hands each webhook whose turn it is to a [`worker`]. It
//! learns of work from the log while it runs, and from the store at the start and every now and then: so
//! whatever is missed, by a crash or by a store in trouble, is found again.
//!
//! What is sent where is the business of [`render`] and [`post`]; when it is tried again, of [`backoff`].

mod backoff;
mod clients;
mod lane;
mod post;
mod queue;
mod render;
mod worker;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use switchboard_types::model::TaskId;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

pub(super) use self::clients::Clients;
use self::post::Poster;
use self::queue::{Ended, HostName, Key, Next, Queue, Route};
use self::worker::Context;
use crate::clock;
use crate::egress::Guard;
use crate::log::Log;
use crate::shutdown::Tasks;
use crate::sign::Signer;
use crate::store;
use crate::task::Webhook;

/// How many webhooks are looked up at once.
const PAGE: usize = 256;
/// How often the store is asked for what was missed.
const SWEEP: Duration = Duration::from_secs(60);
/// How long to wait when the store is in trouble.
const STORE_TROUBLE: Duration = Duration::from_secs(5);

/// How webhooks are called.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long one attempt may take (A2A 1.0 §13.2 recommends 10 to 30 s).
    pub timeout: Duration,
    /// How much of that for name resolution, connection and handshake.
    pub connect_timeout: Duration,
    /// How many webhooks are called at the same time. A quarter of it is for those whose last attempt failed, the rest
    /// for first attempts; one owner gets at most three quarters of either.
    pub concurrency: usize,
    /// How many of one owner at one receiver, a quarter of it for those whose last attempt failed.
    pub per_host: usize,
    /// How long an event is tried before it becomes a dead letter.
    pub give_up_after: Duration,
    /// The longest wait before the second attempt; it doubles with each failure.
    pub first_retry: Duration,
    /// The longest wait between attempts.
    pub max_retry: Duration,
    /// Signs what is sent, if it is signed.
    pub signer: Option<Arc<Signer>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(5),
            concurrency: 128,
            per_host: 8,
            give_up_after: Duration::from_secs(24 * 60 * 60),
            first_retry: Duration::from_secs(1),
            max_retry: Duration::from_secs(600),
            signer: None,
        }
    }
}

/// Delivers what is stored to whoever registered for it.
#[derive(Debug)]
pub struct Outbox {
    context: Arc<Context>,
    tasks: Tasks,
    queue: Queue,
    ended: mpsc::Receiver<(Key, Ended)>,
    report: mpsc::Sender<(Key, Ended)>,
    sweep: Sweep,
}

/// Where the walk over all undelivered webhooks stands.
#[derive(Debug)]
struct Sweep {
    after: Option<Key>,
    at: Instant,
}

/// Reports the end of a worker, even of one that panics.
struct Report {
    key: Key,
    ended: Ended,
    to: mpsc::Sender<(Key, Ended)>,
}

impl Outbox {
    /// Delivers until shutdown: first what was left over, then what comes.
    pub fn start(log: Log, guard: Arc<Guard>, settings: Settings, tasks: Tasks) {
        let queue = Queue::new(settings.concurrency, settings.per_host);
        // Every running worker reports once, so there is always room. The queue runs at least two.
        let (report, ended) = mpsc::channel(settings.concurrency.max(2));
        let context = Arc::new(Context {
            log,
            poster: Poster::new(guard, &settings),
            settings,
            stopping: tasks.stopping().clone(),
        });
        let outbox = Self {
            context,
            tasks,
            queue,
            ended,
            report,
            sweep: Sweep {
                after: None,
                at: Instant::now(),
            },
        };
        let tasks = outbox.tasks.clone();
        tasks.spawn(outbox.run());
    }

    async fn run(mut self) {
        let context = Arc::clone(&self.context);
        loop {
            self.dispatch();
            tokio::select! {
                () = context.stopping.cancelled() => return,
                Some((key, ended)) = self.ended.recv() => {
                    self.queue.done(key, ended);
                }
                tasks = context.log.to_push() => self.look_at(tasks).await,
                () = wait_until(self.queue.next_wake()) => self.queue.wake(Instant::now()),
                () = sleep_until(self.sweep.at) => self.sweep().await,
            }
        }
    }

    /// Lets as many run as may.
    fn dispatch(&mut self) {
        while let Some(key) = self.queue.next() {
            let context = Arc::clone(&self.context);
            let mut report = Report {
                key,
                ended: Ended {
                    next: Next::At(Instant::now() + SWEEP),
                    answered: None,
                    failing: None,
                },
                to: self.report.clone(),
            };
            self.tasks.spawn(async move {
                let ended = worker::run(&context, &report.key).await;
                report.set(ended);
            });
        }
    }

    /// Schedules the webhooks of tasks with new events.
    async fn look_at(&mut self, tasks: Vec<TaskId>) {
        let mut seen = HashSet::with_capacity(tasks.len());
        for task in tasks {
            if self.context.stopping.is_cancelled() || seen.contains(&task) {
                continue;
            }
            match self.context.log.store().webhooks(&task).await {
                Ok(webhooks) => webhooks.iter().for_each(|webhook| self.schedule(webhook)),
                Err(error) => self.sweep_soon(&error),
            }
            seen.insert(task);
        }
    }

    /// Schedules a page of the webhooks that have something left, wherever it comes from.
    async fn sweep(&mut self) {
        let after = self.sweep.after.clone();
        match self.context.log.store().undelivered(after, PAGE).await {
            Ok(page) => {
                page.iter().for_each(|webhook| self.schedule(webhook));
                let more = page.last().filter(|_| page.len() == PAGE);
                self.sweep.after = more.map(|last| (last.task.clone(), last.id.clone()));
                let pause = if more.is_some() {
                    Duration::ZERO
                } else {
                    SWEEP
                };
                self.sweep.at = Instant::now() + pause;
            }
            Err(error) => self.sweep_soon(&error),
        }
    }

    fn sweep_soon(&mut self, error: &store::Error) {
        tracing::warn!(%error, "could not read pending webhooks, will retry");
        self.sweep.at = Instant::now() + STORE_TROUBLE;
    }

    fn schedule(&mut self, webhook: &Webhook) {
        let wait = webhook.delivery.retry_at.map(clock::until);
        let until = wait.filter(|wait| !wait.is_zero()).map(|wait| {
            // A clock that was set back must not make anyone wait for ever.
            Instant::now() + wait.min(backoff::longest(&self.context.settings))
        });
        let key = (webhook.task.clone(), webhook.id.clone());
        let route = Route {
            owner: webhook.owner.clone(),
            host: host(&webhook.config.url),
            failing: webhook.delivery.failing_since.is_some(),
        };
        self.queue.add(key, route, until);
    }
}

impl Report {
    fn set(&mut self, ended: Ended) {
        self.ended = ended;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // Refused only if the outbox is gone: then nobody needs it.
        drop(self.to.try_send((self.key.clone(), self.ended)));
    }
}

/// Host and port: one receiver, as far as one can tell from here.
fn host(url: &str) -> HostName {
    let authority = Url::parse(url).ok().map(|url| url.authority().to_owned());
    authority.unwrap_or_default().into()
}

async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
