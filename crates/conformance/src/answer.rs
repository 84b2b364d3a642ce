//! What was answered: a result, a refusal, or nothing that makes sense.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;
use switchboard_types::{Dialect, Error, ErrorKind, ProtocolVersion, wire};

use super::check::{Found, Verdict, fail};
use super::exchange::Exchange;
use super::http::Whole;

/// How requests travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    JsonRpc,
    Rest,
    Grpc,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body, if it is JSON.
    pub(crate) body: Option<Value>,
    pub(crate) outcome: Outcome,
    link: Link,
    dialect: Dialect,
}

/// What it comes to.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Result(Value),
    Refused(Refusal),
    Broken(String),
}

/// An error that the agent answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusal {
    /// The number of JSON-RPC; REST of 0.3 may repeat it.
    pub(crate) code: Option<i64>,
    /// The HTTP status; for gRPC the one that means the same.
    pub(crate) status: u16,
    /// The code of gRPC.
    pub(crate) grpc: Option<i64>,
    /// From `google.rpc.ErrorInfo`.
    pub(crate) reason: Option<String>,
    pub(crate) message: String,
    /// The error object as it was sent.
    pub(crate) object: Value,
}

/// The statuses of A2A 1.0.0 and of the official SDKs that speak 0.3, where they differ from 1.0.1.
fn other_statuses(kind: ErrorKind) -> &'static [u16] {
    match kind {
        ErrorKind::TaskNotCancelable => &[409],
        ErrorKind::ContentTypeNotSupported => &[415],
        ErrorKind::InvalidAgentResponse => &[502],
        ErrorKind::InvalidParams => &[422],
        ErrorKind::UnsupportedOperation | ErrorKind::PushNotificationNotSupported => &[501],
        _ => &[],
    }
}

/// The code that gRPC has for an error.
pub(crate) fn grpc_code(dialect: Dialect, kind: ErrorKind) -> i64 {
    let status = wire::grpc::write_status(dialect.version(), &Error::new(kind, ""));
    status.code.into()
}

impl Answer {
    pub(crate) fn of(whole: Whole, link: Link, dialect: Dialect) -> Self {
        let body: Option<Value> = serde_json::from_slice(&whole.body).ok();
        let outcome = match &whole.broken {
            Some(why) => Outcome::Broken(why.clone()),
            None if link == Link::JsonRpc => enveloped(body.as_ref(), whole.status),
            None => bare(body.as_ref(), whole.status, whole.body.is_empty()),
        };
        Self {
            exchange: whole.exchange,
            status: whole.status,
            headers: whole.headers,
            body,
            outcome,
            link,
            dialect,
        }
    }

    /// The result, or a fault: it should have succeeded.
    pub(crate) fn result(&self, what: &str) -> Result<&Value, Verdict> {
        match &self.outcome {
            Outcome::Result(result) => Ok(result),
            Outcome::Refused(refusal) => {
                Err(self.fail(format!("{what} was refused: {}", refusal.text())))
            }
            Outcome::Broken(why) => Err(self.fail(format!("{what} got no answer: {why}"))),
        }
    }

    /// The refusal, or a fault: it should have been refused.
    pub(crate) fn refusal(&self, what: &str) -> Result<&Refusal, Verdict> {
        match &self.outcome {
            Outcome::Refused(refusal) => Ok(refusal),
            Outcome::Result(_) => Err(self.fail(format!("{what} was taken instead of refused"))),
            Outcome::Broken(why) => Err(self.fail(format!("{what} got no answer: {why}"))),
        }
    }

    /// Whether it does not say why it was refused: then it may come from another layer than A2A's.
    pub(crate) fn names_no_reason(&self) -> bool {
        matches!(&self.outcome, Outcome::Refused(refusal) if refusal.reason.is_none() && refusal.code.is_none())
    }

    /// Whether it was refused in this way.
    pub(crate) fn is(&self, kind: ErrorKind) -> bool {
        matches!(&self.outcome, Outcome::Refused(refusal) if self.matches(refusal, kind))
    }

    /// It must be refused in one of these ways.
    pub(crate) fn refused_as(&self, kinds: &[ErrorKind], what: &str) -> Found {
        let refusal = self.refusal(what)?;
        if kinds.iter().any(|kind| self.matches(refusal, *kind)) {
            return Ok(());
        }
        let expected: Vec<String> = kinds.iter().map(|kind| self.expected(*kind)).collect();
        Err(self.fail(format!(
            "{what} was refused as {}, expected {}",
            refusal.text(),
            expected.join(" or ")
        )))
    }

    pub(crate) fn fail(&self, why: impl Into<String>) -> Verdict {
        fail(why, &self.exchange)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// JSON-RPC tells errors apart by number; the others by reason, and if there is none by what is left.
    fn matches(&self, refusal: &Refusal, kind: ErrorKind) -> bool {
        let code = i64::from(wire::error_code(self.dialect, kind));
        if self.link == Link::JsonRpc {
            return refusal.code == Some(code);
        }
        match (&refusal.reason, refusal.code) {
            (Some(reason), _) => reason == kind.reason(),
            // A number alone may come with any status; clients look at the status first.
            (None, Some(number)) => number == code && is_refusal(refusal.status),
            (None, None) => self.right_status(refusal, kind),
        }
    }

    fn right_status(&self, refusal: &Refusal, kind: ErrorKind) -> bool {
        if let Some(code) = refusal.grpc {
            // 0.3 §3.2.2 leaves the codes to annotations that do not exist: what the official SDK sends is as good.
            let older = self.dialect.version() != ProtocolVersion::ALL[0];
            return code == grpc_code(self.dialect, kind) || older && sdk_code(kind) == Some(code);
        }
        let status = refusal.status;
        status == wire::error_status(self.dialect, kind) || other_statuses(kind).contains(&status)
    }

    fn expected(&self, kind: ErrorKind) -> String {
        match self.link {
            Link::JsonRpc => format!(
                "{} ({})",
                wire::error_code(self.dialect, kind),
                kind.reason()
            ),
            Link::Rest => format!(
                "HTTP {} ({})",
                wire::error_status(self.dialect, kind),
                kind.reason()
            ),
            Link::Grpc => format!("gRPC {} ({})", grpc_code(self.dialect, kind), kind.reason()),
        }
    }
}

/// Whether a status says that the caller was wrong, or asked for what is not offered.
fn is_refusal(status: u16) -> bool {
    matches!(status, 400..=499 | 501)
}

/// What the Python SDK of 0.3 says over gRPC where our own code is another one.
fn sdk_code(kind: ErrorKind) -> Option<i64> {
    const UNIMPLEMENTED: i64 = 12;
    matches!(
        kind,
        ErrorKind::TaskNotCancelable
            | ErrorKind::PushNotificationNotSupported
            | ErrorKind::UnsupportedOperation
            | ErrorKind::ContentTypeNotSupported
    )
    .then_some(UNIMPLEMENTED)
}

impl Refusal {
    /// What was said, for people.
    pub(crate) fn text(&self) -> String {
        let number = match self.code {
            Some(code) if self.status >= 400 => format!("{code}, HTTP {}", self.status),
            Some(code) => code.to_string(),
            None => match self.grpc {
                Some(code) => format!("gRPC {code}"),
                None => format!("HTTP {}", self.status),
            },
        };
        let reason = self
            .reason
            .as_ref()
            .map(|r| format!(" {r}"))
            .unwrap_or_default();
        format!("{number}{reason} “{}”", self.message)
    }

    /// From the error object of JSON-RPC.
    pub(crate) fn enveloped(error: &Value, status: u16) -> Self {
        Self {
            code: error["code"].as_i64(),
            status,
            grpc: None,
            reason: reason(&error["data"]),
            message: text(&error["message"]),
            object: error.clone(),
        }
    }
}

fn enveloped(body: Option<&Value>, status: u16) -> Outcome {
    let Some(body) = body else {
        return Outcome::Broken(format!("HTTP {status} with a body that is not JSON"));
    };
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Outcome::Refused(Refusal::enveloped(error, status));
    }
    match body.get("result") {
        Some(result) => Outcome::Result(result.clone()),
        // Refused by something in front of the agent, such as a proxy that wants credentials.
        None if status >= 400 => Outcome::Refused(Refusal {
            status,
            message: text(&body["message"]),
            object: body.clone(),
            ..Refusal::default()
        }),
        None => Outcome::Broken(format!("HTTP {status} with neither result nor error")),
    }
}

fn bare(body: Option<&Value>, status: u16, empty: bool) -> Outcome {
    if (200..300).contains(&status) {
        return match body {
            Some(body) => Outcome::Result(body.clone()),
            None if empty => Outcome::Result(Value::Null),
            None => Outcome::Broken(format!("HTTP {status} with a body that is not JSON")),
        };
    }
    if (300..400).contains(&status) {
        return Outcome::Broken(format!("HTTP {status}"));
    }
    let body = body.cloned().unwrap_or_default();
    let error = body
        .get("error")
        .filter(|error| error.is_object())
        .unwrap_or(&body);
    let numbers = [&body["code"], &error["code"]];
    let negative = numbers.iter().filter_map(|n| n.as_i64()).find(|n| *n < 0);
    let said = [
        &error["message"],
        &body["message"],
        &body["detail"],
        &body["error"],
    ];
    Outcome::Refused(Refusal {
        code: negative,
        status,
        // HTTP has no status that small.
        grpc: error["code"].as_i64().filter(|n| (1..=16).contains(n)),
        reason: reason(&error["details"]),
        message: said
            .iter()
            .map(|v| text(v))
            .find(|t| !t.is_empty())
            .unwrap_or_default(),
        object: error.clone(),
    })
}

fn reason(details: &Value) -> Option<String> {
    let details = details.as_array()?;
    let mut reasons = details
        .iter()
        .filter_map(|detail| detail["reason"].as_str());
    reasons.next().map(str::to_owned)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
