//! The metrics as Prometheus reads them (text format 0.0.4).

use std::fmt::{self, Display, Write as _};
use std::sync::atomic::Ordering;

use switchboard_types::operation::Method;

use super::histogram::Histogram;
use super::meter::{Meter, STATES, STATUSES, Status};
use super::{Metrics, asking};

/// Lines of numbers that are being written.
#[derive(Debug, Default)]
pub struct Lines(String);

/// A pair of label and value.
type Label<'a> = (&'a str, &'a str);

impl Lines {
    /// Begins a series: its name, `counter`, `gauge` or `histogram`, and what it is.
    pub fn series(&mut self, name: &str, kind: &str, help: &str) {
        // A text takes every write.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One number of a series.
    pub fn number(&mut self, name: &str, labels: &[Label<'_>], value: impl Display) {
        let _ = writeln!(self.0, "{name}{} {value}", Labels(labels));
    }

    pub(super) fn histogram(&mut self, name: &str, labels: &[Label<'_>], histogram: &Histogram) {
        let (counts, all, sum) = histogram.read();
        if all == 0 {
            return;
        }
        for (bound, below) in counts {
            let bound = bound.to_string();
            let labels = [labels, &[("le", &bound)]].concat();
            self.number(&format!("{name}_bucket"), &labels, below);
        }
        let labels_all = [labels, &[("le", "+Inf")]].concat();
        self.number(&format!("{name}_bucket"), &labels_all, all);
        self.number(&format!("{name}_sum"), labels, sum);
        self.number(&format!("{name}_count"), labels, all);
    }

    /// The text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Labels in braces. Names of agents need no escapes; others are written as they must be.
struct Labels<'a>(&'a [Label<'a>]);

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(f, "{before}{name}=\"")?;
            for c in value.chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    c => f.write_char(c)?,
                }
            }
            f.write_char('"')?;
        }
        match self.0 {
            [] => Ok(()),
            _ => f.write_char('}'),
        }
    }
}

impl Metrics {
    /// Writes all numbers.
    pub fn write(&self, out: &mut Lines) {
        let agents = self.agents.read();
        // What is no agent's has no name.
        let named = agents
            .iter()
            .filter(|(name, meter)| !name.is_empty() && meter.is_told());
        let agents: Vec<(&str, &Meter)> = named.map(|(n, m)| (&**n, &**m)).collect();
        self.requests(&agents, out);
        streams(&agents, out);
        tasks(&agents, out);
        delegations(&agents, out);
        asking::write(agents.iter().map(|(n, m)| (*n, &m.asked)), out);
        self.deliveries(out);
        self.server(out);
    }

    fn deliveries(&self, out: &mut Lines) {
        let name = "switchboard_webhook_deliveries_total";
        let help = "Attempts to deliver an event to a webhook, by outcome.";
        out.series(name, "counter", help);
        for (outcome, counter) in [
            ("delivered", &self.delivered),
            ("failed", &self.failed),
            ("dead_letter", &self.given_up),
        ] {
            out.number(name, &[("outcome", outcome)], counter.get());
        }
    }

    /// What belongs to no agent.
    fn server(&self, out: &mut Lines) {
        let name = "switchboard_commit_duration_seconds";
        let help = "Time to commit one batch of events to the store.";
        out.series(name, "histogram", help);
        out.histogram(name, &[], &self.commits.0);
        let name = "switchboard_authentication_failures_total";
        let help = "Requests with credentials that were not accepted.";
        out.series(name, "counter", help);
        out.number(name, &[], self.authentication_failures.get());
        let name = "switchboard_open_connections";
        out.series(name, "gauge", "Open connections of callers.");
        out.number(name, &[], self.open_connections.load(Ordering::Relaxed));
    }

    fn requests(&self, agents: &[(&str, &Meter)], out: &mut Lines) {
        let name = "switchboard_requests_total";
        out.series(
            name,
            "counter",
            "A2A requests, by agent, operation and status.",
        );
        for (agent, meter) in agents {
            for (method, counts) in Method::ALL.iter().zip(&meter.requests) {
                for place in (0..STATUSES).filter(|place| counts[*place].get() > 0) {
                    let status = Status::name(place);
                    let labels = [
                        ("agent", *agent),
                        ("operation", method.name()),
                        ("status", status),
                    ];
                    out.number(name, &labels, counts[place].get());
                }
            }
        }
        let unknown = [
            ("agent", ""),
            ("operation", "unknown"),
            ("status", "REFUSED"),
        ];
        out.number(name, &unknown, self.unknown.get());
        let name = "a2a_server_operation_duration_seconds";
        out.series(
            name,
            "histogram",
            "Duration of A2A requests; of streams, until they end.",
        );
        for (agent, meter) in agents {
            for (method, durations) in Method::ALL.iter().zip(&meter.durations) {
                let labels = [("agent", *agent), ("operation", method.name())];
                out.histogram(name, &labels, durations);
            }
        }
        let name = "switchboard_rate_limited_total";
        let help = "Requests refused with 429 because their caller exceeded the rate limit.";
        out.series(name, "counter", help);
        for (agent, meter) in agents {
            out.number(name, &[("agent", agent)], meter.rate_limited.get());
        }
        let name = "switchboard_queue_wait_seconds";
        out.series(
            name,
            "histogram",
            "Time that calls and turns spent queued for capacity, if they were queued.",
        );
        for (agent, meter) in agents {
            for (line, waits) in ["calls", "turns"].iter().zip(&meter.waits) {
                out.histogram(name, &[("agent", agent), ("queue", line)], waits);
            }
        }
    }
}

fn streams(agents: &[(&str, &Meter)], out: &mut Lines) {
    let name = "switchboard_open_streams";
    out.series(name, "gauge", "Open streams.");
    for (agent, meter) in agents {
        let open = meter.open_streams.load(Ordering::Relaxed);
        out.number(name, &[("agent", agent)], open);
    }
    let name = "switchboard_stream_events_total";
    out.series(name, "counter", "Events sent on streams that have ended.");
    for (agent, meter) in agents {
        out.number(name, &[("agent", agent)], meter.stream_events.get());
    }
    let name = "switchboard_time_to_first_event_seconds";
    out.series(
        name,
        "histogram",
        "Time from a streaming request to its first event.",
    );
    for (agent, meter) in agents {
        out.histogram(name, &[("agent", agent)], &meter.first_event);
    }
}

fn tasks(agents: &[(&str, &Meter)], out: &mut Lines) {
    let name = "switchboard_tasks";
    out.series(name, "gauge", "Unfinished tasks, by state.");
    for (agent, meter) in agents {
        for (state, live) in STATES.iter().zip(&meter.live) {
            if !state.is_terminal() {
                let labels = [("agent", *agent), ("state", state.name())];
                out.number(name, &labels, live.load(Ordering::Relaxed));
            }
        }
    }
    let name = "switchboard_task_transitions_total";
    out.series(
        name,
        "counter",
        "Transitions of tasks to a state since startup.",
    );
    for (agent, meter) in agents {
        for (state, count) in STATES.iter().zip(&meter.transitions) {
            if count.get() > 0 {
                let labels = [("agent", *agent), ("state", state.name())];
                out.number(name, &labels, count.get());
            }
        }
    }
    let name = "gen_ai_invoke_agent_duration_seconds";
    out.series(
        name,
        "histogram",
        "Duration of a turn: one run of an agent from a message to an outcome.",
    );
    for (agent, meter) in agents {
        out.histogram(name, &[("agent", agent)], &meter.turns);
    }
}

fn delegations(agents: &[(&str, &Meter)], out: &mut Lines) {
    let name = "switchboard_delegation_depth";
    out.series(
        name,
        "histogram",
        "Length of the hop path of delegated calls, in agents.",
    );
    for (agent, meter) in agents {
        out.histogram(name, &[("agent", agent)], &meter.depth);
    }
    let name = "switchboard_delegations_refused_total";
    out.series(
        name,
        "counter",
        "Delegated calls refused by loop protection, by reason.",
    );
    for (agent, meter) in agents {
        for (reason, counter) in [("loop", &meter.loops), ("too_deep", &meter.too_deep)] {
            out.number(name, &[("agent", agent), ("reason", reason)], counter.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use switchboard_types::ErrorKind;
    use switchboard_types::model::TaskState;

    use super::*;

    #[test]
    fn numbers_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        let meter = metrics.agent(&Arc::from("echo"));
        meter.comes();
        meter.answered(Method::Get, Status::Ok, Duration::from_millis(3));
        meter.answered(
            Method::Get,
            Status::Error(ErrorKind::TaskNotFound),
            Duration::from_millis(1),
        );
        meter.stands(None, Some(TaskState::Working));
        meter.goes_to(TaskState::Working);
        metrics.unknown();
        let mut lines = Lines::default();
        metrics.write(&mut lines);
        let text = lines.into_text();
        for line in [
            r#"switchboard_requests_total{agent="echo",operation="GetTask",status="OK"} 1"#,
            r#"switchboard_requests_total{agent="echo",operation="GetTask",status="TASK_NOT_FOUND"} 1"#,
            r#"switchboard_requests_total{agent="",operation="unknown",status="REFUSED"} 1"#,
            r#"a2a_server_operation_duration_seconds_bucket{agent="echo",operation="GetTask",le="0.001"} 1"#,
            r#"a2a_server_operation_duration_seconds_bucket{agent="echo",operation="GetTask",le="+Inf"} 2"#,
            r#"a2a_server_operation_duration_seconds_sum{agent="echo",operation="GetTask"} 0.004"#,
            r#"switchboard_tasks{agent="echo",state="working"} 1"#,
            r#"switchboard_task_transitions_total{agent="echo",state="working"} 1"#,
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        // Agents that come and go leave no series behind, once their tasks are over.
        metrics.gone("echo");
        let told = || {
            let mut lines = Lines::default();
            metrics.write(&mut lines);
            lines.into_text().contains("echo")
        };
        assert!(told(), "one is at work");
        meter.stands(Some(TaskState::Working), Some(TaskState::Completed));
        assert!(!told());
        meter.comes();
        assert!(told(), "it is back");
        let mut escaped = Lines::default();
        escaped.number("x", &[("a", "q\"b\\n\nl")], 1);
        assert_eq!(escaped.into_text(), "x{a=\"q\\\"b\\\\n\\nl\"} 1\n");
    }
}
