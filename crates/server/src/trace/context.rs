//! `traceparent` and `tracestate`, as they are written (W3C Trace Context).

use std::fmt;

use http::{HeaderMap, HeaderName};
use uuid::Uuid;

use super::{BAGGAGE, TRACEPARENT, TRACESTATE, Trace};

/// Someone records the trace.
pub(super) const SAMPLED: u8 = 1;
/// What is known of the flags: sampled, and that the trace's id is random. Others must not be passed on.
const KNOWN_FLAGS: u8 = 3;
/// How long a `traceparent` of version 00 is.
const LENGTH: usize = 55;
/// How much is kept of a `tracestate`: what everyone must be able to pass on.
const LONGEST_STATE: usize = 512;
/// The same of `baggage`.
const LONGEST_BAGGAGE: usize = 8192;

/// Names a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// Names a piece of work within a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl TraceId {
    pub(super) fn fresh() -> Self {
        // Some bits of a UUID are always the same, but not in both of its halves: samplers count on all being random.
        let (one, two) = (Uuid::new_v4().as_u128(), Uuid::new_v4().as_u128());
        Self(one ^ two.rotate_left(64))
    }

    /// As it goes into protocols that are not text.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The part of it that a ratio of traces is told by: its last 8 bytes.
    #[must_use]
    pub fn low(self) -> u64 {
        self.0 as u64
    }
}

impl SpanId {
    pub(super) fn fresh() -> Self {
        // The low half of a version 4 UUID begins with its variant, so it is not 0.
        Self(Uuid::new_v4().as_u128() as u64)
    }

    /// As it goes into protocols that are not text.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl Trace {
    /// The caller's place in a trace, as its headers tell. A `traceparent` that cannot be read counts as none.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let parent = parents.next()?;
        if parents.any(|other| other != parent) {
            return None;
        }
        let mut trace = Self::parse(parent.to_str().ok()?)?;
        trace.state = bounded(&list(headers, &TRACESTATE, LONGEST_STATE), LONGEST_STATE);
        let baggage = list(headers, &BAGGAGE, LONGEST_BAGGAGE);
        trace.baggage = bounded(&baggage, LONGEST_BAGGAGE);
        Some(trace)
    }

    /// Reads a `traceparent`. What a later version adds is passed over.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let known = text.get(..LENGTH)?;
        let rest = &text[LENGTH..];
        let mut fields = known.split('-');
        let mut field = |length: usize| {
            let field = fields.next().filter(|field| field.len() == length)?;
            let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            field.bytes().all(is_hex).then_some(field)
        };
        let version = field(2)?;
        let readable = match version {
            "00" => rest.is_empty(),
            "ff" => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let id = u128::from_str_radix(field(32)?, 16).ok()?;
        let span = u64::from_str_radix(field(16)?, 16).ok()?;
        let flags = u8::from_str_radix(field(2)?, 16).ok()?;
        (readable && id != 0 && span != 0).then_some(Self {
            id: TraceId(id),
            span: SpanId(span),
            parent: None,
            flags: flags & KNOWN_FLAGS,
            state: None,
            baggage: None,
            spans: None,
        })
    }

    /// The value of `traceparent` for a request that is part of this work.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.id, self.span, self.flags)
    }

    /// The value of `tracestate`, if there is one.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The same with another `tracestate`, as far as it is kept.
    #[must_use]
    pub(super) fn with_state(mut self, state: &str) -> Self {
        self.state = bounded(state, LONGEST_STATE);
        self
    }

    /// The value of `baggage`, if there is one.
    #[must_use]
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// The same with other baggage, as far as it is kept.
    #[must_use]
    pub(super) fn with_baggage(mut self, baggage: &str) -> Self {
        self.baggage = bounded(baggage, LONGEST_BAGGAGE);
        self
    }
}

/// All of a list, which may come in several lines; not much more than is kept.
fn list(headers: &HeaderMap, name: &HeaderName, longest: usize) -> String {
    let lines = headers.get_all(name).iter();
    let mut all = String::new();
    for line in lines.filter_map(|line| line.to_str().ok()) {
        if !all.is_empty() {
            all.push(',');
        }
        all.push_str(line);
        if all.len() > longest {
            break;
        }
    }
    all
}

/// As many members as there is room for. The latest stand first.
fn bounded(state: &str, longest: usize) -> Option<Box<str>> {
    let mut state = state.trim();
    while state.len() > longest {
        state = state.rsplit_once(',').map_or("", |(first, _)| first.trim());
    }
    (!state.is_empty()).then(|| Box::from(state))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_continued() {
        let caller = Trace::parse(SENT).unwrap();
        assert_eq!(caller.traceparent(), SENT);
        let ours = caller.child();
        assert_eq!(ours.id(), caller.id());
        assert_eq!(ours.parent(), Some(caller.span()));
        assert_ne!(ours.span(), caller.span());
        assert!(ours.is_sampled());
        assert!(
            !Trace::parse(&SENT.replace("-01", "-00"))
                .unwrap()
                .is_sampled()
        );
        assert_eq!(Trace::begin().parent(), None);
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        for sent in [
            SENT.replacen("00-", "01-", 1),
            format!("{}-what-comes-later", SENT.replacen("00-", "cc-", 1)),
        ] {
            assert_eq!(Trace::parse(&sent).unwrap().traceparent(), SENT, "{sent}");
        }
        // Flags that nobody knows yet are not passed on.
        let flags = SENT.replace("-01", "-ff");
        assert!(Trace::parse(&flags).unwrap().traceparent().ends_with("-03"));
    }

    #[test]
    fn what_is_no_traceparent_counts_as_none() {
        for sent in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0e47é-00f067aa0ba902b7-01",
            "0-04bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Trace::parse(sent), None, "{sent}");
        }
    }

    #[test]
    fn a_tracestate_is_kept_as_it_is_as_far_as_there_is_room() {
        let mut headers = HeaderMap::new();
        headers.append(TRACESTATE, "a=1,b=2".parse().unwrap());
        assert_eq!(Trace::of(&headers), None, "nothing to go with");
        headers.insert(TRACEPARENT, SENT.parse().unwrap());
        headers.append(TRACESTATE, "c=3".parse().unwrap());
        let trace = Trace::of(&headers).unwrap();
        assert_eq!(trace.tracestate(), Some("a=1,b=2,c=3"));
        assert_eq!(trace.child().tracestate(), trace.tracestate());
        let names: Vec<_> = trace.headers().collect();
        assert_eq!(names[0], (TRACEPARENT, SENT.parse().unwrap()));
        assert_eq!(names[1], (TRACESTATE, "a=1,b=2,c=3".parse().unwrap()));

        let long = format!("a=1,b={},c=3", "x".repeat(LONGEST_STATE));
        headers.insert(TRACESTATE, long.parse().unwrap());
        assert_eq!(Trace::of(&headers).unwrap().tracestate(), Some("a=1"));
        headers.insert(TRACESTATE, "y".repeat(600).parse().unwrap());
        assert_eq!(Trace::of(&headers).unwrap().tracestate(), None);

        headers.append(BAGGAGE, "user=u1".parse().unwrap());
        headers.append(BAGGAGE, "tier=gold;p=1".parse().unwrap());
        let trace = Trace::of(&headers).unwrap();
        assert_eq!(trace.child().baggage(), Some("user=u1,tier=gold;p=1"));
        let told = (BAGGAGE, "user=u1,tier=gold;p=1".parse().unwrap());
        assert!(trace.headers().any(|header| header == told));
        headers.insert(
            BAGGAGE,
            format!("a=1,b={}", "x".repeat(LONGEST_BAGGAGE))
                .parse()
                .unwrap(),
        );
        assert_eq!(Trace::of(&headers).unwrap().baggage(), Some("a=1"));

        headers.append(TRACEPARENT, SENT.replace("-01", "-00").parse().unwrap());
        assert_eq!(Trace::of(&headers), None, "two that contradict each other");
    }
}
