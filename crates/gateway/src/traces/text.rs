//! A trace as people read it.

use std::fmt::{self, Write};

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
    let asked = if node.asked { "  <- asked for" } else { "" };
    write!(out, "{first}{}  {}", node.agent, node.state)?;
    if let Some(millis) = node.duration_ms {
        write!(out, "  {}", lasted(millis))?;
    }
    if node.started_at.is_some() {
        let (events, bytes_in, bytes_out) = (node.events, node.bytes_in, node.bytes_out);
        write!(out, "  {events} events, {bytes_in} B in, {bytes_out} B out")?;
    }
    writeln!(out, "  {}{asked}", node.task_id)?;
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
        writeln!(out, "{}{}  {}", branch().0, internal.name, internal.value)?;
    }
    for child in &node.children {
        let (first, rest) = branch();
        task(child, &first, &rest, out)?;
    }
    if let Some(error) = &node.error {
        writeln!(
            out,
            "{}error: {}",
            branch().0,
            error.replace(char::is_control, " ")
        )?;
    }
    Ok(())
}

impl Internal {
    /// It tells of a task that is shown itself.
    fn is_child(&self) -> bool {
        self.name.ends_with(":delegation")
    }
}

fn lasted(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        _ => format!("{}.{:03} s", millis / 1000, millis % 1000),
    }
}
