//! Expressions that people write into the configuration, in the Common Expression Language (<https://cel.dev>): read
//! once, with every name checked, and then asked often. What they are about is for others to say.
//!
//! - `cost`: how much work an expression can be.
//! - `names`: which names an expression uses, and how deep it is.
//! - `value`: what names stand for.

mod cost;
mod names;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::thread;

use cel::{Context, Env, Program};

use self::names::Names;
pub(crate) use self::value::Value;
use crate::config::problem::did_you_mean;

/// The longest expression, in bytes.
const LONGEST: usize = 2048;
/// How deep brackets may be nested; the reader of expressions does not know when to stop.
const MOST_BRACKETS: usize = 32;
/// How deep an expression may be once it is read.
const DEEPEST: usize = 64;
/// How often a loop may stand in a loop: what takes a moment with one takes a day with three.
const MOST_LOOPS: usize = 2;
/// The largest regular expression, compiled: the interpreter compiles it each time it is used.
const MAX_PATTERN: usize = 128 << 10;
/// The stack of the thread that reads an expression: it needs more for each level than others need in all.
const STACK: usize = 64 << 20;

static ENV: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(Env::stdlib().with_optional_support(false)));

/// A name that expressions may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    /// The name.
    pub(crate) name: &'static str,
    /// What can stand behind it after a dot; `None` if that is not known beforehand.
    pub(crate) fields: Option<&'static [&'static str]>,
}

/// An expression that can be asked.
pub(crate) struct Expression {
    source: Arc<str>,
    program: Program,
    names: Names,
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Unusable {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }
}

/// What names stand for when an expression is asked.
pub(crate) type Values = BTreeMap<&'static str, Value>;

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.source).finish()
    }
}

impl Expression {
    /// Reads an expression that may use these names.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is too large, or uses other names.
    pub(crate) fn compile(source: &str, known: &[Variable]) -> Result<Self, Unusable> {
        if source.trim().is_empty() {
            return Err(Unusable::new("is empty"));
        }
        if source.len() > LONGEST {
            let message = format!("is too long: an expression has at most {LONGEST} bytes");
            return Err(Unusable::new(message));
        }
        if brackets(source) > MOST_BRACKETS {
            let message = format!("has more than {MOST_BRACKETS} brackets within each other");
            return Err(Unusable::new(message));
        }
        let read = thread::scope(|scope| {
            let reader = thread::Builder::new().stack_size(STACK);
            let reader = reader.spawn_scoped(scope, || read(source, known));
            reader.ok().and_then(|reader| reader.join().ok())
        });
        read.unwrap_or_else(|| Err(Unusable::new("cannot be read")))
    }

    /// As it was written.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it uses that name.
    pub(crate) fn mentions(&self, variable: &str) -> bool {
        self.names.variables.contains(variable)
    }

    /// Whether that text is written in it.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        self.names.texts.contains(text)
    }

    /// Why it may be refused with large values, if it may: a loop over values within another one.
    pub(crate) fn expense(&self) -> Option<String> {
        (self.names.loops_over_values > 1).then(|| {
            format!(
                "has a loop within a loop: with large lists it takes more than {} steps, and is then not evaluated",
                cost::MAX_STEPS
            )
        })
    }

    /// Whether it is true.
    ///
    /// # Errors
    ///
    /// If it cannot be told: something is missing or of another kind, it is neither true nor false, or it could take
    /// more than [`cost::MAX_STEPS`] with these values.
    pub(crate) fn is_true(&self, values: &Values) -> Result<bool, String> {
        let (expression, names) = (self.program.expression(), &self.names);
        if cost::exceeds(cost::MAX_STEPS, expression, names, values) {
            return Err(format!(
                "would take more than {} steps with these values",
                cost::MAX_STEPS
            ));
        }
        let mut context = Context::with_env(Arc::clone(&ENV));
        for (name, value) in values {
            if self.mentions(name) {
                context.add_variable_from_value(*name, value.0.clone());
            }
        }
        // It runs with what callers have sent: whatever breaks must not break more than this answer.
        let run = catch_unwind(AssertUnwindSafe(|| self.program.execute(&context)));
        match run {
            Ok(Ok(cel::Value::Bool(answer))) => Ok(answer),
            Ok(Ok(other)) => Err(format!("is neither true nor false, but {}", Value(other))),
            Ok(Err(error)) => Err(value::explain(&error)),
            Err(_) => Err("broke".to_owned()),
        }
    }

    /// What it looks at, and what stands there: `None` if nothing does.
    pub(crate) fn looks_at(&self, values: &Values) -> Vec<(String, Option<Value>)> {
        let paths = self.names.paths.iter();
        let seen = paths.map(|path| {
            let mut steps = path.iter();
            let root = steps.next().and_then(|name| values.get(name.as_str()));
            steps.try_fold(root.cloned()?, |value, step| value.field(step))
        });
        let names = self.names.paths.iter().map(|path| path.join("."));
        names.zip(seen).collect()
    }
}

/// Reads an expression, on a thread with room for it.
fn read(source: &str, known: &[Variable]) -> Result<Expression, Unusable> {
    let program = ENV.compile(source).map_err(|errors| {
        let first = errors.errors.first();
        let told = first.map(|error| (error.pos.0, error.pos.1, error.msg.trim()));
        match told {
            Some((line, column, message)) => {
                let line = if line > 1 {
                    format!("line {line}, ")
                } else {
                    String::new()
                };
                Unusable::new(format!("{line}column {column}: {message}"))
            }
            None => Unusable::new("cannot be read"),
        }
    })?;
    let mut names = Names::of(program.expression());
    if names.depth > DEEPEST {
        return Err(Unusable::new("is too deep: split it into several"));
    }
    if names.loops > MOST_LOOPS {
        let message = format!("has more than {MOST_LOOPS} loops within each other");
        return Err(Unusable::new(message));
    }
    check(&names, known)?;
    check_patterns(&mut names)?;
    Ok(Expression {
        source: source.into(),
        program,
        names,
    })
}

/// # Errors
///
/// If a name is used that nothing has.
fn check(names: &Names, known: &[Variable]) -> Result<(), Unusable> {
    let unknown = |what: &str, name: &str, all: &[&str]| Unusable {
        message: format!("there is no {what} `{name}`"),
        hint: did_you_mean(name, all.iter().copied()),
    };
    let variables: Vec<&str> = known.iter().map(|variable| variable.name).collect();
    let foreign = |name: &&String| !variables.contains(&name.as_str());
    if let Some(name) = names.variables.iter().find(foreign) {
        return Err(unknown("variable", name, &variables));
    }
    let foreign = |name: &&String| !names::FUNCTIONS.contains(&name.as_str());
    if let Some(name) = names.functions.iter().find(foreign) {
        return Err(unknown("function", name, &names::FUNCTIONS));
    }
    for path in &names.paths {
        let [root, field, ..] = path.as_slice() else {
            continue;
        };
        let fields = known.iter().find(|variable| variable.name == root);
        let Some(fields) = fields.and_then(|variable| variable.fields) else {
            continue;
        };
        if !fields.contains(&field.as_str()) {
            let unknown = unknown("field", field, fields);
            let message = format!("there is no `{root}.{field}`");
            return Err(Unusable { message, ..unknown });
        }
    }
    Ok(())
}

/// # Errors
///
/// If a regular expression is invalid or too large, or comes from a value: whoever sends it decides how much work it is.
fn check_patterns(names: &mut Names) -> Result<(), Unusable> {
    if names.pattern_from_value {
        return Err(Unusable {
            message: "takes the regular expression of `matches` from a value".to_owned(),
            hint: Some("write it out as a text, or use `contains`".to_owned()),
        });
    }
    for pattern in &names.patterns {
        let size = compiled_size(pattern).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Unusable {
                message: format!("has a regular expression that is too large: {pattern:?}"),
                hint: Some(
                    "repeat less, or name fewer characters: [a-z] is less than \\w".to_owned(),
                ),
            },
            error => {
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default();
                let why = why.trim_start_matches("error: ");
                Unusable::new(format!(
                    "has an invalid regular expression {pattern:?}: {why}"
                ))
            }
        })?;
        names.pattern_costs.add(pattern, size);
    }
    Ok(())
}

/// About how large a regular expression is once it is compiled, rounded up.
///
/// # Errors
///
/// If it is invalid, or larger than [`MAX_PATTERN`].
fn compiled_size(pattern: &str) -> Result<usize, regex::Error> {
    let mut size = 1 << 10;
    loop {
        match regex::RegexBuilder::new(pattern).size_limit(size).build() {
            Ok(_) => return Ok(size),
            Err(regex::Error::CompiledTooBig(_)) if size < MAX_PATTERN => size *= 2,
            Err(error) => return Err(error),
        }
    }
}

/// How deep brackets are nested at most. Those in texts count, too: that is never too few.
fn brackets(source: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests;
