//! For programs: one JSON object.

use serde_json::{Value, json};

use super::{Count, Line, Report};
use crate::check::{Level, Verdict};
use crate::exchange::Exchange;

/// The whole report.
pub(crate) fn write(report: &Report) -> String {
    let interfaces = report.interfaces.iter().map(|interface| {
        json!({
            "name": interface.place, "url": interface.url,
            "checked": interface.unchecked.is_none(), "why": interface.unchecked,
        })
    });
    let whole = json!({
        "agent": report.agent,
        "name": report.name,
        "card": report.card,
        "passed": report.count().must == 0,
        "count": count(report.count()),
        "rules": count(report.checklist()),
        "interfaces": interfaces.collect::<Vec<Value>>(),
        "checks": report.lines.iter().map(line).collect::<Vec<Value>>(),
    });
    format!("{whole:#}\n")
}

fn count(count: Count) -> Value {
    json!({
        "pass": count.pass, "failMust": count.must, "failShould": count.should,
        "notOffered": count.not_offered, "notSeen": count.not_seen,
    })
}

fn line(line: &Line) -> Value {
    let level = match line.level() {
        Level::Must => "must",
        Level::Should => "should",
    };
    let mut value = json!({
        "id": line.check.id, "level": level, "clause": line.check.clause, "title": line.check.title,
        "interface": line.place, "verdict": line.verdict.name(),
    });
    if !line.verdict.why().is_empty() {
        value["why"] = json!(line.verdict.why());
    }
    if let Verdict::Fail(fault) = &line.verdict {
        value["hint"] = json!(line.hint());
        value["exchange"] = fault
            .exchange
            .as_ref()
            .map(|e| exchange(e))
            .unwrap_or_default();
    }
    value
}

fn exchange(exchange: &Exchange) -> Value {
    let headers = |all: &[(String, String)]| -> Vec<String> {
        all.iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    };
    json!({
        "request": exchange.line, "headers": headers(&exchange.headers), "body": exchange.body,
        "status": exchange.status, "answerHeaders": headers(&exchange.answer_headers), "answer": exchange.answer,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn it_is_one_object_with_every_check() {
        let report: Value = serde_json::from_str(&write(&sample())).unwrap();
        assert_eq!(report["passed"], false);
        assert_eq!(report["count"]["failMust"], 1);
        assert_eq!(report["checks"].as_array().unwrap().len(), 7);
        let failure = &report["checks"][4];
        assert_eq!(failure["id"], "S-052");
        assert_eq!(failure["exchange"]["request"], "POST http://agent/<script>");
        assert_eq!(report["checks"][1]["level"], "should");
        assert_eq!(report["interfaces"][1]["checked"], false);
    }
}
