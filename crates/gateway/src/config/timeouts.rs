//! How long things may take: for all agents, and for each.

use std::time::Duration;

use switchboard_server::engine::Settings;

use super::load::Check;
use super::raw;
use super::yaml::{Step, Step::Key};
use super::{Backend, UNLIMITED};

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    task: Duration,
    input: Duration,
    blocking: Duration,
    upstream: Duration,
    cancel_grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            task: settings.task_timeout,
            input: settings.input_timeout,
            blocking: settings.blocking_deadline,
            upstream: settings.upstream_timeout,
            cancel_grace: settings.cancel_grace,
        }
    }
}

impl Timeouts {
    /// The settings with these.
    pub(super) fn applied_to(self, settings: Settings) -> Settings {
        Settings {
            task_timeout: self.task,
            input_timeout: self.input,
            blocking_deadline: self.blocking,
            upstream_timeout: self.upstream,
            cancel_grace: self.cancel_grace,
            ..settings
        }
    }
}

impl Check<'_> {
    /// What is said at `at`, and otherwise in `default`.
    pub(super) fn timeouts(
        &mut self,
        at: &[Step<'_>],
        raw: Option<raw::Timeouts>,
        default: Timeouts,
    ) -> Timeouts {
        let raw::Timeouts {
            task,
            input,
            blocking,
            upstream,
            cancel_grace,
        } = raw.unwrap_or_default();
        let time = |key| [at, &[Key("timeouts"), Key(key)]].concat();
        Timeouts {
            task: self.some_bound(&time("task"), task, default.task),
            input: self.some_bound(&time("input"), input, default.input),
            blocking: self.some_bound(&time("blocking"), blocking, default.blocking),
            // Zero means that nothing is retried.
            upstream: upstream.map_or(default.upstream, |bound| bound.0.unwrap_or(UNLIMITED)),
            cancel_grace: cancel_grace.map_or(default.cancel_grace, |time| time.0),
        }
    }
}

impl Backend {
    /// The same, told how long a task of its agent may take, and how long its upstream may be down.
    pub(super) fn within(mut self, settings: &Settings) -> Self {
        if let Self::OpenClaw(claw) = &mut self {
            let most = settings.task_timeout;
            claw.settings.timeout = (most < UNLIMITED).then_some(most);
            // A gateway that is gone in the middle of a run is waited for as long as one that is gone before. But a run
            // that has begun is not given up at once, and one that nobody follows does not wait for years.
            let upstream = Some(settings.upstream_timeout);
            let upstream = upstream.filter(|time| !time.is_zero() && *time < UNLIMITED);
            let upstream = upstream.unwrap_or(Timeouts::default().upstream);
            claw.settings.reconnect = claw.reconnect.unwrap_or(upstream);
        }
        self
    }
}
