//! Conformance checks of A2A: tests any agent against the server's checklist of A2A 1.0, and a smaller one of 0.3, and
//! says for each violated rule which section asks for it, which exchange shows it, and what to do. [`run`] is the whole of
//! `switchboard conformance`; [`Report`] renders the result.
//!
//! # Layout
//!
//! - `discover`: finds the card.
//! - `probe`: asks over one interface of it, on `http` with the credentials of `access`; `words` is how a version spells what is asked, `answer`
//!   and `stream` what comes back, `rpc` turns gRPC into the same, `receiver` a webhook of our own, `exchange` what people are shown of it all.
//! - `check`: what a rule is; `checks`: all rules, in tables.
//! - `report`: the result for people, for programs and as a page.
//! - [`request`]: checks a single request in a file instead.
//!
//! It sends requests of its own, not through `switchboard-client`: no client would send half of them. Of the client it uses
//! only which origins may receive credentials.

mod access;
mod answer;
mod check;
mod checks;
mod discover;
mod exchange;
mod http;
mod probe;
mod receiver;
mod report;
pub mod request;
mod rpc;
mod shape;
mod sse;
mod stream;
mod words;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Origin, TrustedOrigins};
use switchboard_types::model::{Interface, Secret};
use switchboard_types::operation::Method;

use self::access::Access;
use self::answer::{Answer, Link, Outcome};
pub use self::check::Level;
use self::check::{Check, Need, Run, Verdict, fail};
use self::discover::{Discovered, discover, speaks};
use self::http::Caller;
use self::probe::Probe;
use self::receiver::Receiver;
use self::report::Line;
pub use self::report::{Count, Report};

/// What to check, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// A host, the address of a card, or a file.
    pub agent: String,
    /// Bearer token.
    pub bearer: Option<Secret>,
    /// API key, sent where the card says.
    pub api_key: Option<Secret>,
    /// Other origins that may receive credentials.
    pub credentials_to: Vec<Origin>,
    /// Headers for every request.
    pub params: Vec<(::http::HeaderName, ::http::HeaderValue)>,
    /// For one exchange.
    pub timeout: Duration,
    /// A message that the agent answers soon, with a task.
    pub message: String,
    /// A message that keeps the agent busy for some seconds.
    pub long_message: Option<String>,
    /// A message that makes the agent ask for input.
    pub ask_message: Option<String>,
    /// The address on which the webhook receiver listens, reachable by the agent.
    pub webhook_host: String,
    /// Beginnings of the numbers to check; all if empty.
    pub only: Vec<String>,
    /// Nothing that matters less.
    pub level: Level,
}

impl Plan {
    /// Whether it leaves anything to check: an empty report would look like a good one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !checks::newest()
            .chain(checks::older())
            .any(|check| self.includes(check))
    }

    fn includes(&self, check: &Check) -> bool {
        let wanted = self.only.is_empty()
            || self
                .only
                .iter()
                .any(|start| check.id.starts_with(start.as_str()));
        let matters = self.level == Level::Should || check.level == Level::Must;
        wanted && matters
    }
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no card, or none of its interfaces answers.
    #[error("{0}")]
    Unreachable(String),
    /// The checks could not start on this machine.
    #[error("{what}")]
    Start {
        /// What could not be made.
        what: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    fn start<E: Into<Box<dyn std::error::Error + Send + Sync>>>(what: &str) -> impl Fn(E) -> Self {
        move |source| Self::Start {
            what: what.to_owned(),
            source: source.into(),
        }
    }
}

/// Checks an agent; `progress` is called with what is checked next.
///
/// # Errors
///
/// If nothing could be checked. Violated rules are no error: they are in the report.
pub async fn run(plan: Plan, progress: &(dyn Fn(&str) + Sync)) -> Result<Report, Error> {
    let plan = Arc::new(plan);
    let mut caller = Caller::new(Access::of(&plan), plan.timeout)?;
    let found = discover(&caller, &plan.agent).await;
    let found = found.map_err(Error::Unreachable)?;
    caller.access.heed(found.card.security_schemes.values());
    let trusted = TrustedOrigins::new(found.url.as_ref(), &plan.credentials_to);
    caller.access.trust(trusted);
    let receiver = Arc::new(Receiver::start(&plan.webhook_host).await?);
    let found = Arc::new(found);
    let mut report = Report::of(&found, &plan.agent);
    progress(&format!("card of {:?}", found.card.name));
    about_the_card(&plan, &found, &mut report);
    let mut reached = 0;
    for interface in found.card.interfaces.clone() {
        let place = place(&found, &interface);
        let probe = Probe::new(
            Arc::clone(&plan),
            Arc::clone(&found),
            interface.clone(),
            caller.clone(),
            Arc::clone(&receiver),
        );
        match probe {
            Ok(probe) => {
                progress(&format!("{place} at {}", interface.url));
                reached += usize::from(about_an_interface(&probe, &place, &mut report).await);
                report.checked(&place, &interface, None);
            }
            Err(why) => report.checked(&place, &interface, Some(why)),
        }
    }
    let checked = report
        .interfaces
        .iter()
        .any(|interface| interface.unchecked.is_none());
    if checked && reached == 0 {
        let urls: Vec<&str> = found.card.interfaces.iter().map(|i| &*i.url).collect();
        let why = format!("nothing answers at {}", urls.join(", "));
        return Err(Error::Unreachable(why));
    }
    if found.offers("1.0") {
        about_the_rest(&plan, &mut report);
    }
    Ok(report)
}

/// An interface by its binding and version, and by its address if that is not enough.
fn place(found: &Discovered, interface: &Interface) -> String {
    let version = speaks(&interface.version).unwrap_or(&interface.version);
    let name = format!("{} {version}", interface.binding.name());
    let same = |other: &&Interface| {
        other.binding == interface.binding && speaks(&other.version) == Some(version)
    };
    if found.card.interfaces.iter().filter(same).count() > 1 {
        return format!("{name} {}", interface.url);
    }
    name
}

fn about_the_card(plan: &Plan, found: &Discovered, report: &mut Report) {
    let newest = checks::newest().filter(|_| found.offers("1.0"));
    let older = checks::older().filter(|_| found.offers("0.3"));
    for check in newest.chain(older) {
        let verdict = match &check.run {
            Run::Card(look) => look(found).err().unwrap_or(Verdict::Pass).at(plan.level),
            Run::Unseen(why) => Verdict::NotSeen((*why).into()),
            Run::Link(..) => continue,
        };
        if plan.includes(check) {
            report.lines.push(Line::new(check, "card", verdict));
        }
    }
}

/// Rules of 1.0 that no interface could be held against are named, so that none is missing.
fn about_the_rest(plan: &Plan, report: &mut Report) {
    let known: HashSet<&str> = report.lines.iter().map(|line| line.check.id).collect();
    let missing: Vec<&'static Check> = checks::newest()
        .filter(|check| plan.includes(check) && !known.contains(check.id))
        .collect();
    for check in missing {
        let why = match &check.run {
            Run::Link(needs, _) if needs.contains(&Need::Rest) => {
                "no HTTP+JSON interface of 1.0 was checked"
            }
            Run::Link(needs, _) if needs.contains(&Need::JsonRpc) => {
                "no JSON-RPC interface of 1.0 was checked"
            }
            Run::Link(needs, _) if needs.contains(&Need::Grpc) => {
                "no gRPC interface of 1.0 was checked"
            }
            Run::Link(needs, _) if needs.contains(&Need::Json) => {
                "no interface of 1.0 in JSON was checked"
            }
            _ => "no interface of 1.0 was checked",
        };
        report
            .lines
            .push(Line::new(check, "card", Verdict::NotOffered(why)));
    }
}

/// The rules of the version that an interface speaks.
fn rules(probe: &Probe) -> Vec<&'static Check> {
    match probe.words.version {
        "1.0" => checks::newest().collect(),
        _ => checks::older().collect(),
    }
}

/// Whether something answers that is not the agent: a path that a web server does not know.
fn is_elsewhere(answer: &Answer) -> bool {
    let enveloped = answer.body.as_ref().and_then(|body| body.get("jsonrpc"));
    enveloped.is_none() && matches!(answer.status, 300..=399 | 404 | 405 | 410 | 501)
}

/// The card names an address at which the interface is not.
fn wrong_address(probe: &Probe, place: &str, why: String, answer: &Answer, report: &mut Report) {
    let rule = match probe.words.version {
        "1.0" => "S-086",
        _ => "V03-001",
    };
    let rules = rules(probe).into_iter();
    let rule = rules.filter(|check| check.id == rule && probe.plan.includes(check));
    let verdict = fail(why, &answer.exchange)
        .hinting("write the URL into the card at which clients reach the interface");
    report
        .lines
        .extend(rule.map(|check| Line::new(check, place, verdict.clone())));
}

/// Whether anything answers there.
async fn about_an_interface(probe: &Probe, place: &str, report: &mut Report) -> bool {
    let answer = probe
        .call(Method::Get, serde_json::json!({"id": "nobody"}))
        .await;
    if answer.status == 0
        && let Outcome::Broken(why) = &answer.outcome
    {
        let why = format!("nothing answers at this URL: {why}");
        wrong_address(probe, place, why, &answer, report);
        return false;
    }
    if probe.link == Link::JsonRpc && is_elsewhere(&answer) {
        let why = format!("HTTP {} without JSON-RPC at this URL", answer.status);
        wrong_address(probe, place, why, &answer, report);
    }
    drop(probe.exchanges());
    let rules = rules(probe);
    for check in rules.into_iter().filter(|check| probe.plan.includes(check)) {
        let Run::Link(needs, ask) = &check.run else {
            continue;
        };
        let other = [Need::JsonRpc, Need::Rest, Need::Grpc, Need::Json];
        if needs
            .iter()
            .any(|need| other.contains(need) && probe.lacks(*need).is_err())
        {
            continue; // a rule of another binding
        }
        let verdict = match needs.iter().find_map(|need| probe.lacks(*need).err()) {
            Some(lacking) => lacking,
            None => ask(probe).await.err().unwrap_or(Verdict::Pass),
        };
        let verdict = verdict.at(probe.plan.level);
        report.lines.push(Line {
            exchanges: probe.exchanges(),
            ..Line::new(check, place, verdict)
        });
    }
    true
}
