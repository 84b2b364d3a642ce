//! How long it may take to search a text for a regular expression.
//!
//! The engine takes a few nanoseconds for a byte unless it must follow every position of the expression by itself: at
//! Unicode word boundaries in a text that is not ASCII, and where the automaton has too many states to keep. Then it takes
//! up to 50 nanoseconds for each position and byte, as measured with expressions made for that.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind};

/// What a byte takes that the automaton reads.
const FAST_NANOS: u64 = 6;
/// What a byte takes for each position otherwise.
const POSITION_NANOS: u64 = 50;
/// With no more classes of characters than this, the automaton has few enough states.
const MAX_CLASSES: u64 = 8;

/// How long a search may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchCost {
    positions: u64,
    has_word_boundary: bool,
    has_many_states: bool,
}

/// What an expression is made of, its repetitions written out.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    positions: u64,
    classes: u64,
}

impl SearchCost {
    /// The cost of an expression; nothing if it is invalid.
    #[must_use]
    pub fn parse(expression: &str) -> Option<Self> {
        let read = Parser::new().parse(expression).ok()?;
        Some(Self::of(&read))
    }

    pub(super) fn of(expression: &Hir) -> Self {
        let count = Count::of(expression);
        Self {
            positions: count.positions,
            has_word_boundary: expression.properties().look_set().contains_word_unicode(),
            has_many_states: count.classes > MAX_CLASSES,
        }
    }

    /// How many nanoseconds each byte of a text may take.
    #[must_use]
    pub fn nanos_per_byte(self, is_ascii: bool) -> u64 {
        if self.has_many_states || (self.has_word_boundary && !is_ascii) {
            POSITION_NANOS.saturating_mul(self.positions)
        } else {
            FAST_NANOS
        }
    }

    /// How many nanoseconds a search of this text may take.
    #[must_use]
    pub fn nanos(self, text: &str) -> u64 {
        let is_ascii = self.has_word_boundary && text.is_ascii();
        self.nanos_per_byte(is_ascii)
            .saturating_mul(text.len() as u64)
    }
}

impl Count {
    fn of(expression: &Hir) -> Self {
        match expression.kind() {
            HirKind::Empty => Self::default(),
            HirKind::Look(_) => Self {
                positions: 1,
                classes: 0,
            },
            HirKind::Literal(literal) => Self {
                positions: literal.0.len() as u64,
                classes: 0,
            },
            HirKind::Class(class) => Self {
                positions: 1,
                classes: u64::from(!is_letter(class)),
            },
            HirKind::Repetition(again) => {
                let times = u64::from(again.max.unwrap_or(again.min).max(1));
                let once = Self::of(&again.sub);
                Self {
                    positions: once.positions.saturating_mul(times),
                    classes: once.classes.saturating_mul(times),
                }
            }
            HirKind::Capture(group) => Self::of(&group.sub),
            HirKind::Concat(all) | HirKind::Alternation(all) => {
                all.iter().map(Self::of).fold(Self::default(), Self::add)
            }
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            positions: self.positions.saturating_add(other.positions),
            classes: self.classes.saturating_add(other.classes),
        }
    }
}

/// Whether a class is one letter in its upper and lower case.
fn is_letter(class: &Class) -> bool {
    match class {
        Class::Unicode(class) => class.iter().map(|range| range.len()).sum::<usize>() <= 3,
        Class::Bytes(class) => class.iter().map(|range| range.len()).sum::<usize>() <= 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_automaton_reads_is_fast_and_the_rest_takes_time_by_its_positions() {
        let nanos = |expression, is_ascii| {
            let cost = SearchCost::parse(expression).unwrap();
            cost.nanos_per_byte(is_ascii)
        };
        for (expression, ascii, other) in [
            (r"(?i)urgent|invoice", FAST_NANOS, FAST_NANOS),
            (r"^\d{4}-\d\d-\d\d$", FAST_NANOS, FAST_NANOS),
            (r"(?-u:\b)poem(?-u:\b)", FAST_NANOS, FAST_NANOS),
            (r"\bpoem\b", FAST_NANOS, 6 * POSITION_NANOS),
            (r"(.*\b){8}[zx]", FAST_NANOS, 17 * POSITION_NANOS),
            (r"[ab].{20}[x0-9]", 22 * POSITION_NANOS, 22 * POSITION_NANOS),
        ] {
            assert_eq!(nanos(expression, true), ascii, "{expression}");
            assert_eq!(nanos(expression, false), other, "{expression}");
        }
        assert_eq!(SearchCost::parse("("), None);
    }

    #[test]
    fn the_text_decides_whether_word_boundaries_take_time() {
        let cost = SearchCost::parse(r"\bpoem\b").unwrap();
        assert_eq!(cost.nanos("a poem"), 6 * FAST_NANOS);
        assert_eq!(cost.nanos("é"), 2 * 6 * POSITION_NANOS);
    }
}
