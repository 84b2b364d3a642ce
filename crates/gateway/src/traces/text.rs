//! A trace as people read it.

use std::fmt::{self, Write};

use serde_json::Value;
use switchboard_types::printable::line;

use super::node::{Internal, Node};

/// The tree, one line for each task and for each thing an agent told of its work.
pub(crate) fn tree(node: &Node) -> Result<String, fmt::Error> {
    let mut out = String::new();
    if let Some(trace) = &node.trace_id {
        writeln!(out, "trace {trace}")?;
    }
    task(node, "", "", &mut out)?;
    Ok(out)
}

fn task(node: &Node, first: &str, rest: &str, out: &mut String) -> fmt::Result {
    let asked = if node.asked { "  <- this task" } else { "" };
    write!(out, "{first}{}  {}", line(&node.agent), node.state)?;
    if let Some(millis) = node.duration_ms {
        write!(out, "  {}", lasted(millis))?;
    }
    if node.started_at.is_some() {
        let (events, bytes_in, bytes_out) = (node.events, node.bytes_in, node.bytes_out);
        write!(out, "  {events} events, {bytes_in} B in, {bytes_out} B out")?;
    }
    write!(out, "  {}", line(&node.task_id))?;
    if let Some(url) = &node.url {
        write!(out, "  at {}", line(url))?;
    }
    writeln!(out, "{asked}")?;
    let shown: Vec<&Internal> = node.internal.iter().filter(|it| !it.is_child()).collect();
    let turns = if node.turns.len() > 1 {
        &node.turns[..]
    } else {
        &[]
    };
    let mut left =
        turns.len() + shown.len() + node.children.len() + usize::from(node.error.is_some());
    let mut branch = || {
        left -= 1;
        let (here, below) = if left == 0 {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        (format!("{rest}{here}"), format!("{rest}{below}"))
    };
    for (number, turn) in turns.iter().enumerate() {
        write!(out, "{}turn {}  {}", branch().0, number + 1, turn.state)?;
        if let Some(millis) = turn.duration_ms {
            write!(out, "  {}", lasted(millis))?;
        }
        writeln!(out, "  {} events", turn.events)?;
    }
    for internal in shown {
        writeln!(out, "{}{}", branch().0, internal.told())?;
    }
    for child in &node.children {
        let (first, rest) = branch();
        task(child, &first, &rest, out)?;
    }
    if let Some(error) = &node.error {
        writeln!(out, "{}error: {}", branch().0, line(error))?;
    }
    Ok(())
}

impl Internal {
    /// It tells of a task that is shown itself.
    fn is_child(&self) -> bool {
        self.name.ends_with(":delegation")
    }

    /// What everyone tells in the same words comes first, the rest as it was told.
    fn told(&self) -> String {
        let mut told = line(&self.name);
        let Value::Object(mut rest) = self.value.clone() else {
            return format!("{told}  {}", line(&self.value.to_string()));
        };
        if let Some(Value::String(model)) = rest.remove("model") {
            told += &format!("  {}", line(&model));
        }
        if let Some(millis) = rest.remove("durationMs").and_then(|it| it.as_u64()) {
            told += &format!("  {}", lasted(millis));
        }
        if let Some(usage) = rest.remove("usage") {
            let tokens = |name: &str| usage[name].as_u64().unwrap_or_default();
            let (input, output) = (tokens("inputTokens"), tokens("outputTokens"));
            told += &format!("  {input} tokens in, {output} tokens out");
        }
        let error = rest.remove("error");
        if !rest.is_empty() {
            told += &format!("  {}", line(&Value::Object(rest).to_string()));
        }
        if let Some(error) = error {
            let text = error
                .as_str()
                .map_or_else(|| line(&error.to_string()), line);
            told += &format!("  error: {text}");
        }
        told
    }
}

fn lasted(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        _ => format!("{}.{:03} s", millis / 1000, millis % 1000),
    }
}
