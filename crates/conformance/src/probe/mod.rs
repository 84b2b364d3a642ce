//! Asks over one interface of an agent, and remembers all answers. What to say, and what was learned from it, is in
//! `learned`; streams are opened in `open`; how a call is
//! written is in `write`.

mod learned;
mod open;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use switchboard_types::model::{Binding, Interface};
use switchboard_types::operation::Method;
use switchboard_types::{Dialect, ProtocolVersion};
use tokio::sync::OnceCell;
use url::Url;

use super::Plan;
use super::answer::{Answer, Link, Outcome, Refusal};
use super::check::{Found, Need, Verdict, unseen};
use super::discover::Discovered;
use super::exchange::Exchange;
use super::http::Caller;
use super::receiver::Receiver;
use super::rpc;
use super::stream::Streamed;
use super::words::Words;

/// One interface of an agent, and what is known of it.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) plan: Arc<Plan>,
    pub(crate) found: Arc<Discovered>,
    pub(crate) interface: Interface,
    pub(crate) link: Link,
    pub(crate) words: &'static Words,
    pub(crate) dialect: Dialect,
    pub(crate) receiver: Arc<Receiver>,
    caller: Caller,
    base: Url,
    ids: AtomicUsize,
    seen: Mutex<Seen>,
    sent: OnceCell<Result<Sent, Verdict>>,
    streamed: OnceCell<Result<Streamed, Verdict>>,
}

/// All answers of an interface, for checks that look at everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Results, by what they are the result of.
    pub(crate) results: Vec<(Method, Value, Arc<Exchange>)>,
    pub(crate) refusals: Vec<(Refusal, Arc<Exchange>)>,
    /// Answers of JSON-RPC, with the id that was sent.
    pub(crate) envelopes: Vec<(Value, Value, Arc<Exchange>)>,
}

/// An answer to a send.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) answer: Answer,
    /// The task, if it was one.
    pub(crate) task: Option<Value>,
}

/// How a request differs from a proper one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner<'a> {
    /// Another `A2A-Version`; empty leaves the header out.
    pub(crate) version: Option<&'a str>,
    pub(crate) anonymous: bool,
    pub(crate) titled: bool,
    /// In place of the extensions that the card requires.
    pub(crate) extensions: Option<&'a str>,
    pub(crate) media_type: Option<&'a str>,
}

impl Probe {
    /// An interface of a card, if it is of a kind that this build checks.
    pub(crate) fn new(
        plan: Arc<Plan>,
        found: Arc<Discovered>,
        interface: Interface,
        caller: Caller,
        receiver: Arc<Receiver>,
    ) -> Result<Self, String> {
        let link = match &interface.binding {
            Binding::JsonRpc => Link::JsonRpc,
            Binding::HttpJson => Link::Rest,
            Binding::Grpc => Link::Grpc,
            Binding::Other(name) => return Err(format!("{name} is not checked by this build")),
        };
        let version = ProtocolVersion::requested(&interface.version);
        let version = version
            .map_err(|_| format!("A2A {:?} is not checked by this build", interface.version))?;
        let words = Words::of(version).ok_or("no words for this version")?;
        let address = match link {
            Link::Grpc => {
                let card = found.url.as_ref();
                let plain = card.is_none_or(|url| url.scheme() == "http");
                rpc::address(&interface.url, plain)
            }
            _ => interface.url.clone(),
        };
        let base = Url::parse(&address).map_err(|error| format!("{:?}: {error}", interface.url))?;
        caller.access.require(&base)?;
        Ok(Self {
            dialect: Dialect::spoken(&interface.binding, version),
            plan,
            found,
            interface,
            link,
            words,
            receiver,
            caller,
            base,
            ids: AtomicUsize::new(1),
            seen: Mutex::new(Seen::default()),
            sent: OnceCell::new(),
            streamed: OnceCell::new(),
        })
    }

    /// What is missing for a check, if anything is.
    pub(crate) fn lacks(&self, need: Need) -> Found {
        let card = &self.found.card;
        let offered = |has: Option<bool>| has == Some(true);
        let lacking = |has: bool, why| {
            if has {
                Ok(())
            } else {
                Err(Verdict::NotOffered(why))
            }
        };
        match need {
            Need::JsonRpc => lacking(self.link == Link::JsonRpc, "a rule of the JSON-RPC binding"),
            Need::Rest => lacking(self.link == Link::Rest, "a rule of the HTTP+JSON binding"),
            Need::Grpc => lacking(self.link == Link::Grpc, "a rule of the gRPC binding"),
            Need::Json => lacking(self.link != Link::Grpc, "a rule of JSON"),
            Need::Streaming => lacking(
                offered(card.capabilities.streaming),
                "the card offers no streaming",
            ),
            Need::NoStreaming => lacking(
                !offered(card.capabilities.streaming),
                "the card offers streaming",
            ),
            Need::Push => lacking(
                offered(card.capabilities.push_notifications),
                "the card offers no push notifications",
            ),
            Need::NoPush => lacking(
                !offered(card.capabilities.push_notifications),
                "the card offers push notifications",
            ),
            Need::ExtendedCard => lacking(
                offered(card.capabilities.extended_agent_card),
                "the card offers no extended card",
            ),
            // A requirement that names no scheme lets everybody in: credentials are optional.
            Need::Security => lacking(
                !card.security.is_empty() && card.security.iter().all(|one| !one.0.is_empty()),
                "the card asks for no credentials, or leaves them to the caller",
            ),
            Need::Long if self.plan.long_message.is_none() => Err(unseen(
                "needs --long-message, a text that keeps the agent busy for some seconds",
            )),
            Need::Asking if self.plan.ask_message.is_none() => Err(unseen(
                "needs --ask-message, a text that makes the agent ask for input",
            )),
            Need::Long | Need::Asking => Ok(()),
        }
    }

    /// A number that was not given before.
    pub(crate) fn next(&self) -> usize {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// An operation, asked properly.
    pub(crate) async fn call(&self, method: Method, params: Value) -> Answer {
        self.call_as(method, params, Manner::default()).await
    }

    /// An operation, asked in some other manner.
    pub(crate) async fn call_as(
        &self,
        method: Method,
        mut params: Value,
        manner: Manner<'_>,
    ) -> Answer {
        self.put_tenant(&mut params);
        let (verb, path, body, id) = match self.written(method, &params) {
            Ok(written) => written,
            Err(unsaid) => return *unsaid,
        };
        let answer = self.ask(verb, &path, body, manner).await;
        self.note(method, id, &answer);
        answer
    }

    fn note(&self, method: Method, id: Value, answer: &Answer) {
        let mut seen = self.seen.lock();
        match &answer.outcome {
            Outcome::Result(result) => {
                let row = (method, result.clone(), Arc::clone(&answer.exchange));
                seen.results.push(row);
            }
            Outcome::Refused(refusal) if answer.status != 401 && answer.status != 403 => {
                let row = (refusal.clone(), Arc::clone(&answer.exchange));
                seen.refusals.push(row);
            }
            _ => {}
        }
        // Who asks for credentials may stand before the agent, and speak no JSON-RPC.
        let admitted = answer.status != 401 && answer.status != 403;
        if let (Link::JsonRpc, Some(body), true) = (self.link, &answer.body, admitted) {
            let row = (id, body.clone(), Arc::clone(&answer.exchange));
            seen.envelopes.push(row);
        }
    }

    /// A request that says what it likes. The path is below the interface's address.
    pub(crate) async fn ask(
        &self,
        verb: &'static str,
        path: &str,
        body: Vec<u8>,
        manner: Manner<'_>,
    ) -> Answer {
        let out = self.outgoing(
            verb,
            path,
            body,
            manner,
            "application/a2a+json, application/json",
        );
        Answer::of(self.caller.whole(out).await, self.link, self.dialect)
    }

    /// Keeps the events of a stream for the checks that look at everything.
    pub(crate) fn keep(&self, streamed: &Streamed) {
        let mut seen = self.seen.lock();
        for item in &streamed.items {
            if item.event.is_object() {
                let row = (
                    Method::Stream,
                    item.event.clone(),
                    Arc::clone(&streamed.exchange),
                );
                seen.results.push(row);
            }
        }
    }

    /// All exchanges since this was asked for.
    pub(crate) fn exchanges(&self) -> Vec<Arc<Exchange>> {
        self.caller.exchanges()
    }

    /// All that was seen so far.
    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }

    /// The address of this interface with a path below it.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let (path, query) = path
            .split_once('?')
            .map_or((path, None), |(p, q)| (p, Some(q)));
        if !path.is_empty() {
            url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        }
        if query.is_some() {
            url.set_query(query);
        }
        url
    }

    /// The interfaces that offer the same over another binding.
    pub(crate) fn siblings(&self) -> Vec<Self> {
        let others = self.found.card.interfaces.iter().filter(|other| {
            other.binding != self.interface.binding && other.version == self.interface.version
        });
        let probes = others.map(|other| {
            Self::new(
                Arc::clone(&self.plan),
                Arc::clone(&self.found),
                other.clone(),
                self.caller.clone(),
                Arc::clone(&self.receiver),
            )
        });
        probes.filter_map(Result::ok).collect()
    }

    /// The extensions that every caller must ask for.
    pub(crate) fn required(&self) -> String {
        let extensions = self.found.card.capabilities.extensions.iter();
        let required: Vec<&str> = extensions.filter(|e| e.required).map(|e| &*e.uri).collect();
        required.join(", ")
    }
}

/// The members of an object, or none.
pub(crate) fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
