//! Retries an upstream that is down before a message was sent to it.
//!
//! A backend calls [`Outage::wait`] after each attempt of which it is certain that the upstream did not begin to work on
//! the message: the connection was refused, or the upstream answered that it takes nothing now. The first failure puts a
//! `working` status on the task that names the upstream and the cause; further ones do so only for a cause that was not
//! reported yet, so a long outage does not fill the log of the task. When the agent's `timeouts.upstream` is used up,
//! [`Outage::wait`] returns the error that fails the task.
//!
//! The beginning of the outage is stored as a step of the task, so that a restart neither extends the time nor reports the
//! same cause twice.
//!
//! A message that *may* have arrived is not retried here. Each backend has its own rules for that.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::Retry;
use switchboard_server::agent::{AgentError, Progress, Said, Turn};
use switchboard_server::clock;
use switchboard_types::model::{Object, Timestamp};
use tokio::time::{Instant, sleep};

/// The name of the step that holds when the outage began.
const STEP: &str = "upstream";
/// Backoff between attempts: starts here, doubles, and stays at the second.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(10);
/// How many different causes of one outage are reported on the task: an upstream may alternate between them for ever.
const MAX_REPORTED_CAUSES: usize = 4;
/// The reason in the metadata of the status.
const REASON: &str = "UPSTREAM_UNAVAILABLE";

/// Why an attempt failed, without anything secret and without what the upstream said: callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Down {
    state: &'static str,
    cause: String,
    retry_after: Option<Duration>,
    /// More about it for the log.
    detail: Option<String>,
}

impl Down {
    /// No connection could be made.
    pub(crate) fn unreachable(cause: impl Into<String>) -> Self {
        Self {
            state: "unreachable",
            cause: cause.into(),
            retry_after: None,
            detail: None,
        }
    }

    /// It answered that it takes nothing now; maybe also when to come back.
    pub(crate) fn unavailable(cause: impl Into<String>, retry_after: Option<Duration>) -> Self {
        Self {
            state: "unavailable",
            cause: cause.into(),
            retry_after,
            detail: None,
        }
    }

    /// There is no token for it, for a reason that only operators may know.
    pub(crate) fn without_token(why: String) -> Self {
        Self {
            detail: Some(why),
            ..Self::unavailable("could not obtain a token for it", None)
        }
    }

    /// It answered with such a status.
    pub(crate) fn status(status: u16, retry_after: Option<Duration>) -> Self {
        Self::unavailable(format!("HTTP {status}"), retry_after)
    }
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.state, self.cause)
    }
}

/// What an error comes from in the end: `Connection refused (os error 111)`, without the layers above.
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

/// An upstream that is down, as one turn sees it.
#[derive(Debug)]
pub(crate) struct Outage<'a> {
    turn: &'a Turn,
    /// Nothing, if the task has ended: then there is nothing to wait for.
    progress: Option<&'a Progress>,
    /// Where the upstream is, without credentials.
    url: &'a str,
    backoff: Retry,
    attempts: u32,
    /// Known from the first failure on.
    course: Option<Course>,
}

/// An outage that has begun.
#[derive(Debug)]
struct Course {
    since: Timestamp,
    deadline: Instant,
    /// It began before Switchboard was restarted.
    resumed: bool,
    reported: Vec<String>,
}

impl<'a> Outage<'a> {
    /// `url` is shown to callers: see [`place`](crate::fetch::place).
    pub(crate) fn new(turn: &'a Turn, progress: Option<&'a Progress>, url: &'a str) -> Self {
        Self {
            turn,
            progress,
            url,
            backoff: Retry {
                attempts: u32::MAX,
                first: FIRST_RETRY_DELAY,
                longest: MAX_RETRY_DELAY,
            },
            attempts: 0,
            course: None,
        }
    }

    /// The same, with the backoff that is configured for the backend.
    pub(crate) fn with_backoff(self, backoff: Retry) -> Self {
        Self { backoff, ..self }
    }

    /// An attempt failed, and the upstream has not begun anything. Returns when it is time for the next one.
    ///
    /// # Errors
    ///
    /// If the time is used up, or the task was canceled meanwhile.
    pub(crate) async fn wait(&mut self, down: &Down) -> Result<(), AgentError> {
        let Some(progress) = self.progress else {
            return Err(AgentError::unavailable(down.to_string()));
        };
        self.attempts = self.attempts.saturating_add(1);
        let pause = self.backoff.delay_after(self.attempts, down.retry_after);
        if self.course.is_none() {
            self.course = Some(self.begin().await?);
        }
        let Some(course) = &mut self.course else {
            return Err(AgentError::unavailable(down.to_string()));
        };
        let left = course.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || down.retry_after.is_some_and(|asked| asked > left) {
            return Err(self.gave_up(down));
        }
        tracing::debug!(
            attempt = self.attempts,
            cause = down.cause,
            error = down.detail,
            "upstream is {}",
            down.state
        );
        let is_known = course.reported.contains(&down.cause);
        if !is_known && course.reported.len() < MAX_REPORTED_CAUSES {
            course.reported.push(down.cause.clone());
            let since = course.since.as_micros();
            let reported = course.reported.clone();
            let outage = json!({ "turn": self.turn.number, "since": since, "reported": reported });
            progress.record(STEP, outage).await?;
            self.report(progress, down, left).await?;
        }
        let canceled = &self.turn.canceled;
        match canceled.run_until_cancelled(sleep(pause.min(left))).await {
            Some(()) => Ok(()),
            None => Err(AgentError::over()),
        }
    }

    /// The upstream has accepted the message: the task says so, if it said the contrary.
    ///
    /// # Errors
    ///
    /// If the task has ended, or that cannot be stored.
    pub(crate) async fn over(&mut self) -> Result<(), AgentError> {
        let reported = match self.course.take() {
            Some(course) => !course.reported.is_empty(),
            // It may have been reported before a restart. Whatever was reported was an event.
            None => self.turn.emitted > 0 && self.recorded().await?.is_some(),
        };
        let Some(progress) = self.progress.filter(|_| reported) else {
            return Ok(());
        };
        progress.record(STEP, Value::Null).await?;
        let agent = &**self.turn.agent();
        tracing::info!(agent, task = %self.turn.task_id(), url = self.url, "upstream is reachable again");
        let text = format!("upstream {} is reachable again", self.url);
        progress.working(Said::text(text)).await
    }

    /// The outage as it stands: it may have begun before a restart.
    async fn begin(&self) -> Result<Course, AgentError> {
        let limit = self.turn.upstream_timeout();
        let recorded = match self.turn.emitted {
            0 => None,
            _ => self.recorded().await?,
        };
        let before = recorded.and_then(|step| {
            let since = Timestamp::from_micros(step["since"].as_i64()?);
            let reported = step["reported"].as_array()?.iter();
            let reported = reported.filter_map(|cause| Some(cause.as_str()?.to_owned()));
            Some((since, reported.collect()))
        });
        let resumed = before.is_some();
        let (since, reported) = before.unwrap_or_else(|| (clock::now(), Vec::new()));
        // A clock that was set back must not extend the time.
        let limit_at = clock::until(later(since, limit)).min(limit);
        Ok(Course {
            since,
            deadline: Instant::now() + limit_at,
            resumed,
            reported,
        })
    }

    /// What was recorded about an outage in this turn.
    async fn recorded(&self) -> Result<Option<Value>, AgentError> {
        let step = self.turn.last_step(STEP).await?;
        Ok(step.filter(|step| step["turn"] == self.turn.number))
    }

    async fn report(
        &self,
        progress: &Progress,
        down: &Down,
        left: Duration,
    ) -> Result<(), AgentError> {
        let (url, seconds) = (self.url, seconds(left));
        let agent = &**self.turn.agent();
        let is_first = self
            .course
            .as_ref()
            .is_none_or(|course| course.reported.len() == 1);
        // A cause that follows another one is news to the caller, but the same outage to the operator.
        match is_first {
            true => {
                tracing::warn!(agent, task = %self.turn.task_id(), url, cause = down.cause, error = down.detail, retry_seconds = seconds, "upstream is {}, retrying", down.state);
            }
            false => {
                tracing::debug!(
                    cause = down.cause,
                    error = down.detail,
                    "upstream is now {}",
                    down.state
                );
            }
        }
        let (state, cause) = (down.state, &down.cause);
        let text = format!("upstream {url} is {state}, retrying for up to {seconds} s: {cause}");
        let metadata = [
            ("error".to_owned(), text.as_str().into()),
            ("reason".to_owned(), REASON.into()),
        ];
        let said = Said {
            metadata: Some(Object::from(&serde_json::Map::from_iter(metadata))),
            ..Said::text(text)
        };
        progress.working(said).await
    }

    fn gave_up(&self, down: &Down) -> AgentError {
        let attempts = match self.attempts {
            1 => "1 attempt".to_owned(),
            many => format!("{many} attempts"),
        };
        let course = self.course.as_ref();
        let since = match course.is_some_and(|course| course.resumed) {
            true => " since the last restart",
            false => "",
        };
        let waited = course.map_or(Duration::ZERO, |course| {
            let left = course.deadline.saturating_duration_since(Instant::now());
            self.turn.upstream_timeout().saturating_sub(left)
        });
        AgentError::unavailable(format!(
            "upstream {} is {down}; gave up after {attempts}{since} in {} s: check that it runs and that the agent's URL \
             for it is right, or raise `timeouts.upstream` of the agent",
            self.url,
            seconds(waited)
        ))
    }
}

fn later(moment: Timestamp, by: Duration) -> Timestamp {
    let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(moment.as_micros().saturating_add(by))
}

/// For people: to a tenth, and none that says nothing.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchboard_server::agent::Outcome;
    use switchboard_server::engine::Settings;
    use switchboard_server::log::Log;
    use switchboard_server::store::MemoryStore;
    use switchboard_server::testing::agent::{FnAgent, Line, rest, says};
    use switchboard_types::model::{Event, Task, TaskState};

    use super::*;

    const URL: &str = "http://h/";

    /// A turn that fails to reach its upstream until it gives up; what is said and how it ends, and how long it takes.
    async fn turn(
        down: impl Fn(u32) -> Down + Clone + Send + Sync + 'static,
    ) -> (Vec<String>, Arc<Task>, Duration) {
        let agent = FnAgent::new(move |turn, progress| {
            let down = down.clone();
            async move {
                let mut outage = Outage::new(&turn, Some(&progress), URL);
                for attempt in 1.. {
                    outage.wait(&down(attempt)).await?;
                }
                Ok(Outcome::Completed(Said::default()))
            }
        });
        let log = Log::new(Arc::new(MemoryStore::default()));
        let line = Line::new(&log, Arc::new(agent), Settings::default());
        let began = Instant::now();
        let mut cursor = line.stream(says("go")).await.unwrap();
        let events = rest(&mut cursor).await;
        let said = events.iter().filter_map(|(_, event, _)| match event {
            Event::Status(update) => Some(update.status.message.as_ref()?.text()),
            _ => None,
        });
        let said = said.collect();
        let task = line.get(cursor.task_id()).await.unwrap();
        (said, task, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_reported_once_and_ends_when_the_time_is_used_up() {
        let (said, task, took) = turn(|_| Down::unreachable("refused")).await;
        assert_eq!(task.status.state, TaskState::Failed);
        assert!((120..125).contains(&took.as_secs()), "{took:?}");
        let [reported, failed] = &said[..] else {
            panic!("{said:?}")
        };
        let text = "upstream http://h/ is unreachable, retrying for up to 120 s: refused";
        assert_eq!(reported, text);
        let (begin, end) = failed.split_once("; gave up after ").unwrap();
        assert_eq!(begin, "upstream http://h/ is unreachable: refused");
        let (attempts, rest) = end
            .split_once(" attempts in 120 s: check that it runs")
            .unwrap();
        assert!((12..40).contains(&attempts.parse().unwrap()), "{failed}");
        assert!(rest.contains("raise `timeouts.upstream`"), "{failed}");
    }

    #[tokio::test(start_paused = true)]
    async fn another_cause_is_reported_but_not_for_ever() {
        let (said, _, _) =
            turn(|attempt| Down::unreachable(format!("cause {}", attempt % 9))).await;
        assert_eq!(said.len(), MAX_REPORTED_CAUSES + 1, "{said:?}");
        let (said, _, _) =
            turn(|attempt| Down::unreachable(format!("cause {}", attempt % 2))).await;
        assert_eq!(said.len(), 3, "{said:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_to_come_back_is_waited_for_if_there_is_as_much() {
        let asked = |seconds| move |_| Down::status(503, Some(Duration::from_secs(seconds)));
        let (said, _, took) = turn(asked(50)).await;
        assert!(took >= Duration::from_secs(100), "{took:?}");
        assert!(said[1].contains("after 3 attempts in 100 s"), "{said:?}");
        let (said, _, took) = turn(asked(121)).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
        let text = "upstream http://h/ is unavailable: HTTP 503; gave up after 1 attempt in 0 s";
        assert!(said[0].starts_with(text), "{said:?}");
    }

    #[test]
    fn the_cause_of_an_error_is_what_is_below_all_others() {
        let io = std::io::Error::other(std::fmt::Error);
        let root = std::fmt::Error.to_string();
        assert_eq!(root_cause(&io), root);
    }
}
