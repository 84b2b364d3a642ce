//! How much work an expression can be with given values, bounded before it runs: the interpreter cannot be stopped, and
//! it runs on a thread that serves other requests.
//!
//! The bound is in steps of about 50 nanoseconds. It follows the expression with the real sizes of the values
//! and assumes that no loop ends early. Called by `Expression::is_true`.

use cel::IdedExpr;
use cel::common::ast::operators::{
    ADD, CONDITIONAL, INDEX, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, NOT_STRICTLY_FALSE,
};
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue};
use cel::objects::Key;
use switchboard_agents::script::SearchCost;

use super::Values;
use super::names::Names;

/// The most steps of one evaluation: about ten milliseconds.
pub(super) const MAX_STEPS: u64 = 200_000;

/// Bytes of text that are compared, copied or searched in one step.
const BYTES_PER_STEP: usize = 64;

/// How long a step takes, in nanoseconds.
const STEP_NANOS: u64 = 50;

/// What it takes at least to compile a regular expression: the interpreter does so each time it is used.
const COMPILE_STEPS: u64 = 1_000;
/// What it takes more for each KiB of the compiled expression, and at most.
const COMPILE_STEPS_PER_KIB: u64 = 500;
const MAX_COMPILE_STEPS: u64 = 20_000;

/// Steps to look at everything that is written in an expression itself.
const MAX_LITERALS: u64 = 1 + (super::LONGEST / BYTES_PER_STEP) as u64;

/// What one turn of a loop takes beside its body.
const LOOP_STEPS: u64 = 5;

/// How large a value can be.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// Elements that a loop over it has.
    elements: u64,
    /// Steps to look at all of it.
    whole: u64,
}

/// What is neither a list nor a text.
const SCALAR: Size = Size {
    elements: 0,
    whole: 1,
};

/// What an expression takes, and what it gives.
#[derive(Clone, Copy)]
struct Cost<'a> {
    steps: u64,
    size: Size,
    /// The value itself, where it is known.
    value: Option<&'a cel::Value>,
}

/// What the regular expressions take that are written in an expression.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    compile: u64,
    searches: Vec<SearchCost>,
}

impl Patterns {
    /// Takes one more into account, which has at most `size` bytes once it is compiled.
    pub(super) fn add(&mut self, pattern: &str, size: usize) {
        let more = COMPILE_STEPS_PER_KIB.saturating_mul((size >> 10) as u64);
        let compile = add(COMPILE_STEPS, more).min(MAX_COMPILE_STEPS);
        self.compile = self.compile.max(compile);
        self.searches.extend(SearchCost::parse(pattern));
    }

    /// The steps of a search for the slowest of them, for as much of a text as is compared in one step.
    fn search_steps(&self, is_ascii: bool) -> u64 {
        let nanos = self.searches.iter().map(|one| one.nanos_per_byte(is_ascii));
        let nanos = nanos.max().unwrap_or(0);
        let nanos = nanos.saturating_mul(BYTES_PER_STEP as u64);
        nanos.div_ceil(STEP_NANOS)
    }
}

/// What an expression is evaluated with.
struct Given<'a> {
    values: &'a Values,
    /// The steps to compile a regular expression, and to search [`BYTES_PER_STEP`] for it.
    compile: u64,
    search: u64,
}

/// The variables of the loops around an expression, innermost last.
type Loops<'a> = [(&'a str, Size)];

/// Whether an expression can take more steps than `limit` with these values.
pub(super) fn exceeds(limit: u64, expression: &IdedExpr, names: &Names, values: &Values) -> bool {
    let used = values
        .iter()
        .filter(|(name, _)| names.variables.contains(**name));
    let is_ascii = !names.patterns.is_empty() && used.clone().all(|(_, value)| is_ascii(&value.0));
    let given = Given {
        values,
        compile: names.pattern_costs.compile,
        search: names.pattern_costs.search_steps(is_ascii),
    };
    // Without loops each node is evaluated once and looks at no more than all values: most expressions need no walk.
    if names.loops == 0 {
        let whole = used
            .map(|(_, value)| size_of(&value.0).whole)
            .fold(MAX_LITERALS, add);
        let pattern = add(given.compile, whole.saturating_mul(given.search));
        let patterns = pattern.saturating_mul(names.patterns.len() as u64);
        let nodes = (names.nodes as u64).saturating_mul(whole);
        if add(nodes, patterns) <= limit {
            return false;
        }
    }
    cost(expression, &given, &[]).steps > limit
}

fn cost<'a>(expression: &'a IdedExpr, given: &Given<'a>, loops: &Loops<'a>) -> Cost<'a> {
    match &expression.expr {
        Expr::Unspecified => scalar(0),
        Expr::Literal(LiteralValue::String(text)) => Cost {
            steps: 1,
            size: size_of_text(text.inner()),
            value: None,
        },
        Expr::Literal(_) => scalar(1),
        Expr::Ident(name) => variable(name, given, loops),
        Expr::Select(select) => {
            let operand = cost(&select.operand, given, loops);
            member(operand, Some(&select.field))
        }
        Expr::Call(call) => {
            let parts = call.target.as_deref().into_iter().chain(&call.args);
            let parts: Vec<Cost<'a>> = parts.map(|part| cost(part, given, loops)).collect();
            let mut steps = parts.iter().fold(1, |sum, part| add(sum, part.steps));
            match (&*call.func_name, parts.as_slice()) {
                (INDEX, [operand, _]) => {
                    let key = match &call.args.last().map(|key| &key.expr) {
                        Some(Expr::Literal(LiteralValue::String(key))) => Some(key.inner()),
                        _ => None,
                    };
                    Cost {
                        steps,
                        ..member(*operand, key)
                    }
                }
                (name, parts) => {
                    if name == "matches" {
                        let text = parts.first().map_or(0, |text| text.size.whole);
                        let search = text.saturating_mul(given.search);
                        steps = add(steps, add(given.compile, search));
                    }
                    let whole = parts.iter().fold(0, |sum, part| add(sum, part.size.whole));
                    let elements = parts.iter().map(|part| part.size.elements);
                    let (read, size) = match name {
                        // They look at nothing but true and false.
                        LOGICAL_AND | LOGICAL_OR | LOGICAL_NOT | NOT_STRICTLY_FALSE => (0, SCALAR),
                        CONDITIONAL => {
                            let elements = elements.max().unwrap_or(0);
                            (0, Size { elements, whole })
                        }
                        ADD | "string" | "bytes" | "dyn" => {
                            let elements = elements.fold(0, add);
                            (whole, Size { elements, whole })
                        }
                        _ => (whole, SCALAR),
                    };
                    Cost {
                        steps: add(steps, read),
                        size,
                        value: None,
                    }
                }
            }
        }
        Expr::List(list) => gathered(list.elements.iter(), given, loops),
        Expr::Map(map) => gathered(entries(&map.entries), given, loops),
        Expr::Struct(made) => gathered(entries(&made.entries), given, loops),
        Expr::Comprehension(comprehension) => repeated(comprehension, given, loops),
    }
}

/// A loop: its body for each element, and what it gathers.
fn repeated<'a>(
    comprehension: &'a ComprehensionExpr,
    given: &Given<'a>,
    loops: &Loops<'a>,
) -> Cost<'a> {
    let range = cost(&comprehension.iter_range, given, loops);
    let start = cost(&comprehension.accu_init, given, loops);
    let element = match range.value {
        Some(value) => largest_element(value),
        // Each element is within the whole, and so are the elements of an element.
        None => Size {
            elements: range.size.whole,
            whole: range.size.whole,
        },
    };
    let mut within = loops.to_vec();
    within.push((&comprehension.accu_var, Size::default()));
    within.push((&comprehension.iter_var, element));
    if let Some(second) = &comprehension.iter_var2 {
        within.push((second, element));
    }
    let condition = cost(&comprehension.loop_cond, given, &within);
    let step = cost(&comprehension.loop_step, given, &within);
    let result = cost(&comprehension.result, given, &within);
    let turns = range.size.elements;
    let turn = [condition.steps, step.steps, LOOP_STEPS];
    let turn = turn.into_iter().fold(0, add);
    // All elements are copied, each once.
    let copies = range.size.whole;
    let steps = [range.steps, start.steps, copies, result.steps];
    Cost {
        steps: add(steps.into_iter().fold(0, add), turns.saturating_mul(turn)),
        size: Size {
            elements: turns.saturating_mul(step.size.elements),
            whole: add(1, turns.saturating_mul(step.size.whole)),
        },
        value: None,
    }
}

fn variable<'a>(name: &'a str, given: &Given<'a>, loops: &Loops<'a>) -> Cost<'a> {
    // A dot at the beginning means the outermost of that name.
    let loops = if name.starts_with('.') { &[] } else { loops };
    let name = name.trim_start_matches('.');
    let own = loops.iter().rev().find(|(own, _)| *own == name);
    let (size, value) = match own {
        Some((_, size)) => (*size, None),
        None => match given.values.get(name) {
            Some(value) => (size_of(&value.0), Some(&value.0)),
            None => (Size::default(), None),
        },
    };
    Cost {
        steps: 1,
        size,
        value,
    }
}

/// What stands in a value: a field by its name, or any element.
fn member<'a>(operand: Cost<'a>, key: Option<&str>) -> Cost<'a> {
    let steps = add(operand.steps, 1);
    let known = match (operand.value, key) {
        (Some(cel::Value::Map(map)), Some(key)) => Some(map.get(&Key::from(key))),
        _ => None,
    };
    match known {
        Some(value) => Cost {
            steps,
            size: value.map_or_else(Size::default, size_of),
            value,
        },
        None => Cost {
            steps,
            size: Size {
                elements: operand.size.whole,
                whole: operand.size.whole,
            },
            value: None,
        },
    }
}

fn gathered<'a>(
    parts: impl Iterator<Item = &'a IdedExpr>,
    given: &Given<'a>,
    loops: &Loops<'a>,
) -> Cost<'a> {
    let mut all = scalar(1);
    for part in parts {
        let part = cost(part, given, loops);
        all.steps = add(all.steps, part.steps);
        all.size.elements = add(all.size.elements, 1);
        all.size.whole = add(all.size.whole, part.size.whole);
    }
    all
}

fn entries(entries: &[IdedEntryExpr]) -> impl Iterator<Item = &IdedExpr> {
    entries.iter().flat_map(|entry| match &entry.expr {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    })
}

fn scalar<'a>(steps: u64) -> Cost<'a> {
    Cost {
        steps,
        size: SCALAR,
        value: None,
    }
}

/// The size of a value that is there.
fn size_of(value: &cel::Value) -> Size {
    match value {
        cel::Value::String(text) => size_of_text(text),
        cel::Value::List(items) => Size {
            elements: items.len() as u64,
            whole: items.iter().map(|item| size_of(item).whole).fold(1, add),
        },
        cel::Value::Map(map) => {
            let entry =
                |(key, value): (&Key, &cel::Value)| add(key_size(key), size_of(value).whole);
            Size {
                elements: map.map.len() as u64,
                whole: map.map.iter().map(entry).fold(1, add),
            }
        }
        _ => SCALAR,
    }
}

/// Whether all texts in a value are ASCII.
fn is_ascii(value: &cel::Value) -> bool {
    let is_ascii_key = |key: &Key| match key {
        Key::String(text) => text.is_ascii(),
        _ => true,
    };
    match value {
        cel::Value::String(text) => text.is_ascii(),
        cel::Value::List(items) => items.iter().all(is_ascii),
        cel::Value::Map(map) => {
            let mut entries = map.map.iter();
            entries.all(|(key, value)| is_ascii_key(key) && is_ascii(value))
        }
        cel::Value::Bytes(_) => false,
        _ => true,
    }
}

fn size_of_text(text: &str) -> Size {
    Size {
        elements: 0,
        whole: 1 + (text.len() / BYTES_PER_STEP) as u64,
    }
}

fn key_size(key: &Key) -> u64 {
    match key {
        Key::String(text) => size_of_text(text).whole,
        _ => 1,
    }
}

/// The largest that a loop over a list or the keys of a map meets.
fn largest_element(value: &cel::Value) -> Size {
    let mut largest = SCALAR;
    match value {
        cel::Value::List(items) => {
            for size in items.iter().map(size_of) {
                largest.elements = largest.elements.max(size.elements);
                largest.whole = largest.whole.max(size.whole);
            }
        }
        cel::Value::Map(map) => largest.whole = map.map.keys().map(key_size).max().unwrap_or(1),
        _ => {}
    }
    largest
}

fn add(one: u64, other: u64) -> u64 {
    one.saturating_add(other)
}
