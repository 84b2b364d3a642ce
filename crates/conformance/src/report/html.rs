//! A page that a person can read and send on: one file, no scripts, what is wrong first.

use std::fmt::Write;

use switchboard_types::printable;

use super::{Line, Report};
use crate::check::Verdict;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1b1b1b;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid #ddd}
pre{background:#f5f5f5;padding:.75rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
.pass{color:#0a6b2d}.fail{color:#b00020;font-weight:600}.quiet{color:#595959}
section{border-left:4px solid #b00020;padding-left:1rem;margin:1rem 0}section.should{border-color:#b26a00}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#222}th,td{border-color:#333}
.pass{color:#6fd08c}.fail{color:#ff8a80}.quiet{color:#aaa}}";

/// The whole page.
pub(crate) fn write(report: &Report) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = body(report, &mut page);
    page
}

fn body(report: &Report, page: &mut String) -> std::fmt::Result {
    let name = escaped(&report.name);
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>A2A conformance of {name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>A2A conformance of {name}</h1>\n"
    )?;
    let verdict = if report.count().must == 0 {
        "<p class=\"pass\">No MUST is broken.</p>"
    } else {
        "<p class=\"fail\">A MUST is broken.</p>"
    };
    writeln!(page, "{verdict}\n<p>{}</p>", report.count().text())?;
    writeln!(
        page,
        "<p>Rules of A2A 1.0: {}</p>",
        report.checklist().text()
    )?;
    writeln!(
        page,
        "<p class=\"quiet\">Card: {}</p>\n<ul>",
        escaped(&report.card)
    )?;
    for interface in &report.interfaces {
        let note = interface
            .unchecked
            .as_ref()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        writeln!(
            page,
            "<li>{} {}{}</li>",
            escaped(&interface.place),
            escaped(&interface.url),
            escaped(&note)
        )?;
    }
    writeln!(page, "</ul>")?;
    let failures = report.failures();
    if !failures.is_empty() {
        writeln!(page, "<h2>What is wrong</h2>")?;
        failures
            .into_iter()
            .try_for_each(|line| failure(line, page))?;
    }
    all(report, page)?;
    page.push_str("</main>\n</body>\n</html>\n");
    Ok(())
}

fn failure(line: &Line, page: &mut String) -> std::fmt::Result {
    let Verdict::Fail(fault) = &line.verdict else {
        return Ok(());
    };
    writeln!(
        page,
        "<section class=\"{}\">\n<h3>{} {} <span class=\"quiet\">{}, {}</span></h3>\n<p>{}</p>\n<p><b>Found:</b> {}</p>\n\
         <p><b>Hint:</b> {}</p>",
        line.level().name().to_lowercase(),
        line.level().name(),
        line.check.id,
        escaped(&line.place),
        escaped(line.check.clause),
        escaped(line.check.title),
        escaped(&fault.why),
        escaped(line.hint()),
    )?;
    if let Some(exchange) = &fault.exchange {
        writeln!(
            page,
            "<details><summary>The exchange</summary>\n<pre>{}</pre>\n</details>",
            escaped(&exchange.text())
        )?;
    }
    writeln!(page, "</section>")
}

fn all(report: &Report, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Every rule</h2>\n<table>\n<thead><tr><th>Rule</th><th>Level</th><th>Where</th><th>Result</th><th>What</th></tr></thead>\n<tbody>"
    )?;
    for line in &report.lines {
        let class = match &line.verdict {
            Verdict::Pass => "pass",
            Verdict::Fail(_) => "fail",
            _ => "quiet",
        };
        let why = match &line.verdict {
            Verdict::Pass | Verdict::Fail(_) => String::new(),
            other => format!(" ({})", other.why()),
        };
        write!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{}</td><td>{}<span class=\"quiet\">{} {}</span>",
            line.check.id,
            line.level().name(),
            escaped(&line.place),
            line.verdict.name(),
            escaped(line.check.title),
            escaped(&why),
            escaped(line.check.clause),
        )?;
        said(line, page)?;
        writeln!(page, "</td></tr>")?;
    }
    writeln!(page, "</tbody>\n</table>")
}

/// All that was said to check a rule.
fn said(line: &Line, page: &mut String) -> std::fmt::Result {
    let count = line.exchanges.len();
    if count == 0 {
        return Ok(());
    }
    let noun = if count == 1 { "exchange" } else { "exchanges" };
    write!(page, "<details><summary>{count} {noun}</summary>")?;
    for exchange in &line.exchanges {
        write!(page, "<pre>{}</pre>", escaped(&exchange.text()))?;
    }
    write!(page, "</details>")
}

/// Text that the page does not take for its own.
fn escaped(text: &str) -> String {
    let text = printable::escape(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn nothing_that_an_agent_says_becomes_part_of_the_page() {
        let page = write(&sample());
        for foreign in ["<script", "<b>bold", "<i>", "<wrong>", "</pre><script"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.contains("&quot;quoted&quot; &amp; &#39;so&#39;"));
    }

    #[test]
    fn what_is_wrong_comes_first_with_its_exchange_folded_away() {
        let page = write(&sample());
        let wrong = page.find("What is wrong").unwrap();
        let every = page.find("Every rule").unwrap();
        assert!(wrong < every);
        assert_eq!(page.matches("<summary>The exchange</summary>").count(), 2);
        assert_eq!(page.matches("<summary>1 exchange</summary>").count(), 7);
    }
}
