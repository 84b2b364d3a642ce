//! How an operation gets through: what is refused beforehand, what is asked again, what is asked elsewhere.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_types::model::{AgentCard, Task, TaskState};
use switchboard_types::operation::{GetTask, Method, Operation, Response};
use switchboard_types::wire::jsonrpc;
use tokio::time::{Instant, sleep};

use crate::client::{Candidate, Client};
use crate::error::{Error, Kind, Reach};
use crate::options::CallOptions;
use crate::retry::may_repeat;
use crate::stream::fold::fold;
use crate::stream::resume::ends;
use crate::transport::failure::too_slow;
use crate::transport::record::shown;
use crate::transport::{Arrival, Reply};

impl Client {
    /// What can be known before anything is sent.
    pub(crate) fn require(&self, method: Method, options: &CallOptions) -> Result<(), Error> {
        let card = self.card();
        let capabilities = &card.capabilities;
        let offered = |flag: Option<bool>, what: &str| match flag {
            Some(true) => Ok(()),
            _ => Err(not_offered(&card, what)),
        };
        match method {
            Method::Stream | Method::Subscribe => offered(capabilities.streaming, "streams")?,
            Method::CreatePushConfig
            | Method::GetPushConfig
            | Method::ListPushConfigs
            | Method::DeletePushConfig => offered(capabilities.push_notifications, "webhooks")?,
            Method::ExtendedCard => {
                offered(capabilities.extended_agent_card, "an extended card")?;
            }
            Method::Send | Method::Get | Method::List | Method::Cancel => {}
        }
        if method == Method::Subscribe && self.inner().quirks.unwatchable {
            return Err(not_offered(&card, "a way to watch a task"));
        }
        if !jsonrpc::offers(self.candidate().dialect, method) {
            return Err(not_offered(
                &card,
                &format!("{} in this version", method.name()),
            ));
        }
        let asked = |uri: &String| {
            options.extensions.contains(uri) || self.inner().shared.params.extensions.contains(uri)
        };
        let mut required = capabilities.extensions.iter().filter(|one| one.required);
        if let Some(missing) = required.find(|one| !asked(&one.uri)) {
            let message = format!("the agent requires the extension {}", missing.uri);
            return Err(Error::new(Kind::ExtensionRequired, message)
                .hinting("ask for it, if you know what it wants of you"));
        }
        Ok(())
    }

    /// Sends, and again if it may be. A connection that cannot be made is tried at the next interface.
    pub(crate) async fn reach(
        &self,
        operation: &Operation,
        options: &CallOptions,
    ) -> Result<Reply, Error> {
        let method = operation.method();
        let shared = &self.inner().shared;
        let timeout = options.timeout.unwrap_or(shared.timeout);
        // A year is as good as never, and can be added to any moment.
        let most = timeout.min(Duration::from_secs(365 * 24 * 3600));
        shared.authority.ready(Instant::now() + most).await?;
        let start = Instant::now();
        let mut options = options.clone();
        let mut failed = 0;
        loop {
            options.timeout = Some(timeout.saturating_sub(start.elapsed()));
            let at = self.inner().current.load(Ordering::Relaxed);
            let error = match self.reach_once(operation, &options).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if error.kind() == Kind::Unreachable
                && error.reach() == Reach::NotSent
                && self.move_on(at)
            {
                continue;
            }
            failed += 1;
            let pause = self.inner().retry.delay_after(failed, error.wait());
            let late = start.elapsed().saturating_add(pause) >= timeout;
            let keyed = options.idempotency_key.is_some();
            if late || failed >= self.inner().retry.attempts || !may_repeat(method, keyed, &error) {
                return Err(self.explained(operation, error));
            }
            tracing::debug!(%error, method = method.name(), failed, "asking again");
            sleep(pause).await;
        }
    }

    /// Sends once, to the interface that is spoken to.
    pub(crate) async fn reach_once(
        &self,
        operation: &Operation,
        options: &CallOptions,
    ) -> Result<Reply, Error> {
        let candidate = self.candidate();
        let old_name = matches!(
            operation.method(),
            Method::Send | Method::Stream | Method::Get | Method::Cancel
        );
        let transport = match &candidate.older {
            Some(older) if old_name => older,
            _ => &candidate.transport,
        };
        transport.call(operation, options).await
    }

    /// Goes on from an interface that cannot be reached to the next one at another address. Whether there is one; if
    /// there is none, the best one is next again, so that an agent that was away for a moment is not spoken to in
    /// another way for good.
    fn move_on(&self, at: usize) -> bool {
        let candidates = &self.inner().candidates;
        let dead = |other: &Candidate| {
            let failed = candidates.get(at).map(|failed| failed.url.origin());
            failed == Some(other.url.origin())
        };
        let mut later = candidates.iter().enumerate().skip(at + 1);
        let next = later.find(|(_, other)| !dead(other)).map(|(next, _)| next);
        // Others may have moved on meanwhile; then theirs is as good.
        let order = Ordering::Relaxed;
        let current = &self.inner().current;
        let moved = current.compare_exchange(at, next.unwrap_or(0), order, order);
        next.is_some() || moved.is_err_and(|elsewhere| elsewhere != 0)
    }

    /// An error, with what is known of the agent and where it is.
    pub(crate) fn explained(&self, operation: &Operation, error: Error) -> Error {
        if error.kind() == Kind::Unreachable && self.candidate().elsewhere {
            return error.hinting(
                "the card names another host than you did: use the address that you gave instead",
            );
        }
        self.inner().quirks.explained(operation, error)
    }

    /// Whether a task may have ended in another way than the agent says.
    pub(crate) fn doubts(&self, task: &Task) -> bool {
        let done = task.status.state == TaskState::Completed;
        self.inner().quirks.hides_cancel && done && crate::answer_text(task).is_empty()
    }

    /// There are agents that say completed, and nothing, of what was canceled. If that cannot be found out, the first
    /// answer stands.
    pub(crate) async fn looked_at_again(
        &self,
        response: Response,
        options: &CallOptions,
    ) -> Response {
        let Response::SentTask(view) = &response else {
            return response;
        };
        let task = &view.task;
        if !self.doubts(task) {
            return response;
        }
        let get = Operation::Get(GetTask {
            id: task.id.clone(),
            history_length: None,
        });
        let options = CallOptions {
            request_id: None,
            idempotency_key: None,
            ..options.clone()
        };
        let now = match self.get_task(get, &options).await {
            Ok(now) => now,
            Err(error) => {
                tracing::debug!(%error, "a task could not be looked at again");
                return response;
            }
        };
        let mut view = view.clone();
        Arc::make_mut(&mut view.task).status = now.status.clone();
        Response::SentTask(view)
    }

    /// Does an operation that gives a task.
    pub(crate) async fn get_task(
        &self,
        operation: Operation,
        options: &CallOptions,
    ) -> Result<Arc<Task>, Error> {
        let timeout = options.timeout.unwrap_or(self.inner().shared.timeout);
        let start = Instant::now();
        match Box::pin(self.reach(&operation, options)).await? {
            Reply::Response(Response::Task(view) | Response::SentTask(view)) => Ok(view.task),
            Reply::Response(other) => Err(unexpected(&other)),
            // There are agents that answer everything by a stream. What comes over this connection counts.
            Reply::Events(mut arriving) => {
                let mut task = None;
                loop {
                    let left = timeout.saturating_sub(start.elapsed());
                    let arrival = match tokio::time::timeout(left, arriving.next()).await {
                        Ok(Some(arrival)) => arrival,
                        Ok(None) => break,
                        // How it stood when time was up.
                        Err(_) if task.is_some() => break,
                        Err(_) => return Err(too_slow(&shown(self.resolved()))),
                    };
                    let Some(Arrival { event, last, .. }) = arrival? else {
                        continue;
                    };
                    fold(&mut task, &event);
                    if last || task.as_ref().is_some_and(|task| ends(task.status.state)) {
                        break;
                    }
                }
                task.ok_or_else(|| Error::unintelligible("it is a stream without a task"))
            }
        }
    }
}

fn not_offered(card: &AgentCard, what: &str) -> Error {
    let message = format!("{:?} does not offer {what}", card.name);
    Error::new(Kind::NotOffered, message)
}

/// What is said of an answer to another question.
pub(crate) fn unexpected(what: &impl std::fmt::Debug) -> Error {
    // Names what kind of answer it is, and not all of it.
    let shown = format!("{what:?}");
    let name = shown.split(['(', '{']).next().unwrap_or_default().trim();
    Error::unintelligible(format!("it is {name}, which was not asked for"))
}
