//! For people at a terminal: a line for each rule, then what is wrong in full, then the count. No control codes.

use std::fmt::Write;

use switchboard_types::printable;

use super::Report;
use crate::check::Verdict;

/// How much of an exchange is shown.
const SHOWN: usize = 4000;

/// The whole report.
pub(crate) fn write(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = lines(report, &mut text);
    text
}

fn lines(report: &Report, text: &mut String) -> std::fmt::Result {
    let (name, card) = (printable::line(&report.name), printable::line(&report.card));
    writeln!(text, "{name} ({card})")?;
    for interface in &report.interfaces {
        let note = interface
            .unchecked
            .as_ref()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        writeln!(
            text,
            "  {} {}{}",
            printable::line(&interface.place),
            printable::line(&interface.url),
            printable::line(&note)
        )?;
    }
    writeln!(text)?;
    for line in &report.lines {
        let why = match &line.verdict {
            Verdict::Pass | Verdict::Fail(_) => String::new(),
            other => format!(" ({})", other.why()),
        };
        writeln!(
            text,
            "{:<11}  {:<7}  {:<14}  {}{}",
            line.verdict.name(),
            line.check.id,
            printable::line(&line.place),
            line.check.title,
            printable::line(&why)
        )?;
    }
    for line in report.failures() {
        let Verdict::Fail(fault) = &line.verdict else {
            continue;
        };
        let check = line.check;
        writeln!(
            text,
            "\n{} {} {}, {}",
            line.level().name(),
            check.id,
            printable::line(&line.place),
            check.title
        )?;
        writeln!(text, "  found   {}", printable::line(&fault.why))?;
        writeln!(text, "  clause  {}", check.clause)?;
        writeln!(text, "  hint    {}", line.hint())?;
        if let Some(exchange) = &fault.exchange {
            let shown = exchange.text();
            let cut = shown.floor_char_boundary(SHOWN);
            for line in shown[..cut].lines() {
                writeln!(text, "  | {}", printable::line(line))?;
            }
            if cut < shown.len() {
                writeln!(text, "  | … (the whole is in --report and -o json)")?;
            }
        }
    }
    writeln!(text, "\n{}", report.count().text())?;
    let rules = report.checklist();
    if rules != super::Count::default() {
        writeln!(text, "rules of A2A 1.0: {}", rules.text())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn a_failure_is_shown_with_its_clause_exchange_and_hint() {
        let mut report = sample();
        report.name = "evil \u{1b}[2J name".to_owned();
        let text = write(&report);
        for part in [
            "fail         S-052    JSONRPC 1.0     a message to a task that is over is UnsupportedOperation",
            "not seen     S-024    JSONRPC 1.0     a send waits until the task is over or waits for the caller (needs --long-message)",
            "MUST S-052 JSONRPC 1.0, a message to a task that is over is UnsupportedOperation",
            "  found   a <wrong> number",
            "  clause  §3.1.1, §3.1.2",
            "  hint    answer -32004",
            "  | POST http://agent/<script>",
            "GRPC 1.0 agent:1: not checked",
            "2 pass, 2 fail (MUST 1, SHOULD 1), 1 not offered, 2 not seen",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }
}
