//! Which names an expression uses, and how deep it is.

use std::collections::BTreeSet;

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr, LiteralValue};

use super::cost::Patterns;

/// All functions there are. Operators and loops are none.
pub(super) const FUNCTIONS: [&str; 13] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "string",
    "int",
    "uint",
    "double",
    "bool",
    "bytes",
    "type",
    "dyn",
];

/// What `type(x)` can be compared with.
const TYPES: [&str; 9] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

/// What an expression is made of.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Variables, without those of its own loops.
    pub(super) variables: BTreeSet<String>,
    /// Functions, without operators.
    pub(super) functions: BTreeSet<String>,
    /// Texts that are written in it.
    pub(super) texts: BTreeSet<String>,
    /// Variables, and what stands behind them after dots, each once, as written.
    pub(super) paths: Vec<Vec<String>>,
    /// How deep it is.
    pub(super) depth: usize,
    /// How many nodes it has.
    pub(super) nodes: usize,
    /// How many loops are within each other.
    pub(super) loops: usize,
    /// How many loops over values, rather than over a list that is written out, are within each other.
    pub(super) loops_over_values: usize,
    /// The regular expressions that are written in it.
    pub(super) patterns: Vec<String>,
    /// What those take.
    pub(super) pattern_costs: Patterns,
    /// A regular expression is not written in it, but comes from a value.
    pub(super) pattern_from_value: bool,
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct Here<'e> {
    depth: usize,
    loops: usize,
    loops_over_values: usize,
    /// The names of the loops around, and the texts that they stand for if those are written out.
    own: &'e [(&'e str, Option<&'e [IdedExpr]>)],
}

impl Names {
    pub(super) fn of(expression: &IdedExpr) -> Self {
        let mut names = Self::default();
        let here = Here {
            depth: 1,
            loops: 0,
            loops_over_values: 0,
            own: &[],
        };
        names.walk(expression, here);
        names
    }

    fn walk(&mut self, expression: &IdedExpr, here: Here<'_>) {
        self.nodes += 1;
        self.depth = self.depth.max(here.depth);
        self.loops = self.loops.max(here.loops);
        self.loops_over_values = self.loops_over_values.max(here.loops_over_values);
        let below = Here {
            depth: here.depth + 1,
            ..here
        };
        match &expression.expr {
            Expr::Unspecified => {}
            Expr::Literal(LiteralValue::String(text)) => {
                self.texts.insert(text.inner().to_owned());
            }
            Expr::Literal(_) => {}
            Expr::Ident(_) => self.path(expression, here),
            Expr::Select(select) => {
                self.path(expression, here);
                self.walk(&select.operand, below);
            }
            Expr::Call(call) => {
                let name = &call.func_name;
                if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    self.functions.insert(name.clone());
                }
                if let ("matches", Some(pattern)) = (&**name, call.args.last()) {
                    self.pattern(pattern, here);
                }
                for part in call.target.as_deref().into_iter().chain(&call.args) {
                    self.walk(part, below);
                }
            }
            Expr::List(list) => {
                for element in &list.elements {
                    self.walk(element, below);
                }
            }
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr), below),
            Expr::Struct(made) => {
                // There are no such types: it is said that there is no such name.
                self.variables.insert(made.type_name.clone());
                self.entries(made.entries.iter().map(|entry| &entry.expr), below);
            }
            Expr::Comprehension(all) => {
                self.walk(&all.iter_range, below);
                self.walk(&all.accu_init, below);
                let written = match &all.iter_range.expr {
                    Expr::List(list) => Some(list.elements.as_slice()),
                    _ => None,
                };
                let mut own = here.own.to_vec();
                own.extend([(&*all.iter_var, written), (&*all.accu_var, None)]);
                own.extend(all.iter_var2.as_deref().map(|name| (name, None)));
                let within = Here {
                    loops: here.loops + 1,
                    loops_over_values: here.loops_over_values + usize::from(written.is_none()),
                    own: &own,
                    ..below
                };
                for part in [&all.loop_cond, &all.loop_step, &all.result] {
                    self.walk(part, within);
                }
            }
        }
    }

    /// A regular expression: a text, or each of the texts of a loop.
    fn pattern(&mut self, pattern: &IdedExpr, here: Here<'_>) {
        let named = |name: &String| here.own.iter().rev().find(|(own, _)| own == name);
        let texts = match &pattern.expr {
            Expr::Ident(name) => named(name).and_then(|(_, written)| *written),
            _ => Some(std::slice::from_ref(pattern)),
        };
        for text in texts.unwrap_or_default() {
            match &text.expr {
                Expr::Literal(LiteralValue::String(text)) => {
                    self.patterns.push(text.inner().to_owned());
                }
                _ => self.pattern_from_value = true,
            }
        }
        self.pattern_from_value |= texts.is_none();
    }

    fn entries<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>, here: Here<'_>) {
        for entry in entries {
            match entry {
                EntryExpr::StructField(field) => self.walk(&field.value, here),
                EntryExpr::MapEntry(entry) => {
                    self.walk(&entry.key, here);
                    self.walk(&entry.value, here);
                }
            }
        }
    }

    /// A name, alone or with what stands behind it.
    fn path(&mut self, expression: &IdedExpr, here: Here<'_>) {
        let mut path = Vec::new();
        let mut at = &expression.expr;
        while let Expr::Select(select) = at {
            path.push(select.field.clone());
            at = &select.operand.expr;
        }
        let Expr::Ident(name) = at else { return };
        // A dot at the beginning means the outermost of that name.
        let name = name.trim_start_matches('.');
        let is_own = here.own.iter().any(|(own, _)| *own == name) || name.starts_with('@');
        if is_own || (path.is_empty() && TYPES.contains(&name)) {
            return;
        }
        self.variables.insert(name.to_owned());
        path.push(name.to_owned());
        path.reverse();
        let begins = |known: &Vec<String>| known.starts_with(&path);
        if !self.paths.iter().any(begins) {
            self.paths.push(path);
        }
    }
}
