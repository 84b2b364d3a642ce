//! What a check is, and what it can find. The tables stand in [`super::checks`].

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use super::discover::Discovered;
use super::exchange::Exchange;
use super::probe::Probe;

/// How much it matters: the words of RFC 2119.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// MUST and MUST NOT.
    Must,
    /// SHOULD and SHOULD NOT, and what is only described.
    Should,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }
}

/// One row of the checklist.
#[derive(Debug)]
pub(crate) struct Check {
    /// The number in the checklist: `S-…` for A2A 1.0, `V03-…` for A2A 0.3.
    pub(crate) id: &'static str,
    pub(crate) level: Level,
    /// The section of the specification.
    pub(crate) clause: &'static str,
    /// What is right, in a sentence.
    pub(crate) title: &'static str,
    /// What to do if it is not so.
    pub(crate) hint: &'static str,
    pub(crate) run: Run,
}

/// How a check is made.
#[derive(Debug)]
pub(crate) enum Run {
    /// By looking at the card.
    Card(fn(&Discovered) -> Found),
    /// By asking over one interface that has all of this.
    Link(&'static [Need], Ask),
    /// Not at all: it cannot be seen from outside, and this is why.
    Unseen(&'static str),
}

/// Asks, and judges the answers.
pub(crate) type Ask = for<'a> fn(&'a Probe) -> Pin<Box<dyn Future<Output = Found> + Send + 'a>>;

/// Nothing wrong, or what there is to say instead.
pub(crate) type Found = Result<(), Verdict>;

/// Without which a check makes no sense, or cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    JsonRpc,
    Rest,
    Grpc,
    /// JSON, whatever carries it: protobuf cannot break the rule, or cannot show it.
    Json,
    Streaming,
    NoStreaming,
    Push,
    NoPush,
    ExtendedCard,
    Security,
    /// A message that keeps the agent busy.
    Long,
    /// A message that makes the agent ask.
    Asking,
}

/// What came of a check.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    Pass,
    Fail(Fault),
    /// The agent does not offer what this is about.
    NotOffered(&'static str),
    /// It could not be told, and why.
    NotSeen(Cow<'static, str>),
}

/// What is wrong, with the exchange that shows it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// If only the weaker half of a rule was broken.
    pub(crate) only: Option<Level>,
    pub(crate) why: String,
    /// What to do about this very fault, where the hint of the rule would not help.
    pub(crate) hint: Option<Cow<'static, str>>,
    pub(crate) exchange: Option<Arc<Exchange>>,
}

impl Verdict {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::NotOffered(_) => "not offered",
            Self::NotSeen(_) => "not seen",
        }
    }

    /// The same verdict with a hint for this fault, in place of the hint of the rule.
    pub(crate) fn hinting(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        if let Self::Fail(fault) = &mut self {
            fault.hint = Some(hint.into());
        }
        self
    }

    /// The verdict at a level: with MUST alone, a rule of which only the SHOULD half is broken holds.
    pub(crate) fn at(self, level: Level) -> Self {
        match self {
            Self::Fail(fault) if level == Level::Must && fault.only == Some(Level::Should) => {
                Self::Pass
            }
            other => other,
        }
    }

    /// What a reader needs to know besides.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(fault) => &fault.why,
            Self::NotOffered(why) => why,
            Self::NotSeen(why) => why,
        }
    }
}

/// A rule is broken, as this exchange shows.
pub(crate) fn fail(why: impl Into<String>, exchange: &Arc<Exchange>) -> Verdict {
    Verdict::Fail(Fault {
        only: None,
        why: why.into(),
        hint: None,
        exchange: Some(Arc::clone(exchange)),
    })
}

/// The half of a rule that is a SHOULD is broken.
pub(crate) fn weak(why: impl Into<String>, exchange: &Arc<Exchange>) -> Verdict {
    Verdict::Fail(Fault {
        only: Some(Level::Should),
        why: why.into(),
        hint: None,
        exchange: Some(Arc::clone(exchange)),
    })
}

/// It could not be told.
pub(crate) fn unseen(why: impl Into<Cow<'static, str>>) -> Verdict {
    Verdict::NotSeen(why.into())
}

/// A rule holds, or is broken.
pub(crate) fn hold(holds: bool, why: impl Into<String>, exchange: &Arc<Exchange>) -> Found {
    if holds {
        Ok(())
    } else {
        Err(fail(why, exchange))
    }
}

/// A rule holds, or is broken in a way that has a hint of its own.
pub(crate) fn hold_or(
    holds: bool,
    why: impl Into<String>,
    hint: impl Into<Cow<'static, str>>,
    exchange: &Arc<Exchange>,
) -> Found {
    hold(holds, why, exchange).map_err(|verdict| verdict.hinting(hint))
}
