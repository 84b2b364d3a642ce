//! What a request was counted as: known once its agent is, told with its answer, whatever the answer is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::Extensions;
use parking_lot::{Mutex, MutexGuard};
use switchboard_types::{Error, ErrorKind};

use super::Caller;
use super::rate::{Rate, Rates, Standing};
use crate::clock;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Counts requests to agents that have a rate.
#[derive(Debug)]
pub(crate) struct Tallies {
    rates: Rates,
    /// An agent has a rate. Where none has, nothing is counted, and nothing travels.
    counts: AtomicBool,
}

/// What one request was counted as. It travels with the request's head.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<Option<Counted>>>);

#[derive(Debug)]
struct Counted {
    agent: Arc<str>,
    caller: Caller,
    standing: Standing,
}

impl Tallies {
    pub(crate) fn new() -> Self {
        Self {
            rates: Rates::new(),
            counts: AtomicBool::new(false),
        }
    }

    /// Counts from now on, or does not.
    pub(crate) fn set(&self, counts: bool) {
        self.counts.store(counts, Ordering::Relaxed);
    }

    /// Gives a request a tally, if anything is counted.
    pub(crate) fn begin(&self, extensions: &mut Extensions) -> Option<Tally> {
        if !self.counts.load(Ordering::Relaxed) {
            return None;
        }
        let tally = Tally::default();
        extensions.insert(tally.clone());
        Some(tally)
    }

    /// Counts a request to this agent. Once for each; if another one was thought to be meant, that one's is taken back.
    ///
    /// # Errors
    ///
    /// If the caller has asked too often.
    pub(crate) fn count(
        &self,
        extensions: &Extensions,
        agent: &Arc<str>,
        rate: Option<Rate>,
        caller: impl FnOnce() -> Caller,
    ) -> Result<(), Error> {
        let Some(tally) = extensions.get::<Tally>() else {
            return Ok(());
        };
        let rates = &self.rates;
        let mut counted = tally.counted();
        if let Some(before) = counted.take_if(|before| before.agent != *agent)
            && before.standing.wait.is_none()
        {
            rates.give_back(&before.agent, &before.caller, before.standing.rate);
        }
        let standing = match (&*counted, rate) {
            (Some(counted), _) => counted.standing,
            (None, None) => return Ok(()),
            (None, Some(rate)) => {
                let (agent, caller) = (Arc::clone(agent), caller());
                let standing = rates.take(&agent, &caller, rate);
                *counted = Some(Counted {
                    agent,
                    caller,
                    standing,
                });
                standing
            }
        };
        too_often(&standing).map_or(Ok(()), Err)
    }
}

impl Tally {
    /// Tells the caller how it stands.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        let Some(Counted { standing, .. }) = &*self.counted() else {
            return;
        };
        let full = clock::after_now(standing.full_in).as_micros();
        let full = full.saturating_add(999_999) / 1_000_000;
        headers.insert(LIMIT, HeaderValue::from(standing.rate.requests));
        headers.insert(REMAINING, HeaderValue::from(standing.remaining));
        headers.insert(RESET, HeaderValue::from(full));
    }

    fn counted(&self) -> MutexGuard<'_, Option<Counted>> {
        self.0.lock()
    }
}

fn too_often(standing: &Standing) -> Option<Error> {
    let wait = standing.wait?;
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let (most, per) = (standing.rate.requests, standing.rate.per.as_secs_f64());
    let message =
        format!("rate limit exceeded: {most} requests per {per} s; retry after {seconds} s");
    let error = Error::new(ErrorKind::ResourceExhausted, message);
    let error = error.fact("limit", most.to_string());
    Some(error.retry_in(seconds))
}
