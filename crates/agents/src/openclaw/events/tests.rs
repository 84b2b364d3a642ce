//! Frames as gateways of 2026.9 and 2026.2 send them, shortened.

use super::*;
use crate::openclaw::frame::{Frame, read};

fn heard(stream: &str, data: Value) -> Heard {
    Heard {
        stream: stream.to_owned(),
        size: data.to_string().len(),
        data,
    }
}

/// What these events are passed on as, in short.
fn passed(told: &mut Told, tools: Tools, events: &[Heard]) -> Vec<String> {
    let steps = events.iter().filter_map(|event| told.hear(event, tools));
    steps
        .map(|step| match step {
            Step::Append(text) => format!("+{text}"),
            Step::Replace(text) => format!("={text}"),
            Step::Says(said) => {
                let data = said.parts[0].as_text().map(str::to_owned);
                let tool = || said.metadata.unwrap().as_str().to_owned();
                format!("says {}", data.unwrap_or_else(tool))
            }
        })
        .collect()
}

fn text(item: &str, text: &str) -> Heard {
    heard(
        "assistant",
        json!({"text": text, "delta": "?", "itemId": item}),
    )
}

#[test]
fn texts_are_cumulative_so_what_was_coalesced_is_not_missed() {
    let told = &mut Told::default();
    let events = [
        heard("lifecycle", json!({"phase": "start", "startedAt": 1})),
        heard("lifecycle", json!({"phase": "model", "provider": "stub"})),
        text("a:1", "c1"),
        text("a:1", "c1 c2 c3"),
        text("a:1", "c1 c2 c3"),
        heard("usage", json!({"outputTokens": 3})),
        heard(
            "lifecycle",
            json!({"phase": "finishing", "stopReason": "stop"}),
        ),
    ];
    assert_eq!(passed(told, Tools::Names, &events), ["+c1", "+ c2 c3"]);
    assert!(told.settle("c1 c2 c3").is_none());
    assert!(matches!(told.settle("c1 c2 c3 c4"), Some(Step::Append(more)) if more == " c4"));
    assert_eq!(told.shown(), "c1 c2 c3 c4");
}

#[test]
fn a_replaced_text_is_taken_back() {
    let told = &mut Told::default();
    let again = json!({"itemId": "b:1", "text": "", "delta": "", "replace": true});
    let events = [
        text("a:1", "half an ans"),
        heard("assistant", again),
        text("c:1", "a whole answer"),
    ];
    let steps = ["+half an ans", "=", "+a whole answer"];
    assert_eq!(passed(told, Tools::Names, &events), steps);
    // The end knows best.
    assert!(matches!(told.settle("the answer"), Some(Step::Replace(text)) if text == "the answer"));
}

#[test]
fn pieces_without_text_are_not_kept_and_names_count() {
    let told = &mut Told::so_far("before".to_owned());
    let empty: Vec<Heard> = (0..100).map(|n| text(&format!("item {n}"), "")).collect();
    assert_eq!(passed(told, Tools::Names, &empty), Vec::<String>::new());
    assert_eq!((told.items.len(), told.shown()), (0, "before"));
    assert!(!told.is_longer_than(6) && told.is_longer_than(5));
    let named = [text(&"n".repeat(50), "x")];
    assert_eq!(passed(told, Tools::Names, &named), ["=x"]);
    assert!(!told.is_longer_than(50) && told.is_longer_than(49));
}

#[test]
fn pieces_around_a_tool_are_one_answer() {
    let told = &mut Told::default();
    let events = [
        text("a:1", "I look."),
        text("a:2", "It"),
        text("a:2", "It is 7."),
    ];
    let steps = ["+I look.", "+\n\nIt", "+ is 7."];
    assert_eq!(passed(told, Tools::Names, &events), steps);
}

#[test]
fn after_a_restart_only_what_is_new_is_told() {
    let told = &mut Told::so_far("c1 c2".to_owned());
    assert_eq!(
        passed(told, Tools::Names, &[text("a:1", "c1 c2 c3")]),
        ["+ c3"]
    );
}

#[test]
fn tools_are_told_as_far_as_it_is_wanted() {
    let start = json!({"phase": "start", "name": "exec", "toolCallId": "call_30", "args": {"command": "echo hi"}});
    let update =
        json!({"phase": "update", "name": "exec", "toolCallId": "call_30", "partialResult": {}});
    let result = json!({"phase": "result", "name": "exec", "toolCallId": "call_30", "isError": false, "result": {"content": []}});
    let events = [
        heard(
            "item",
            json!({"kind": "tool", "phase": "start", "title": "Exec print text"}),
        ),
        heard("tool", start),
        heard("tool", update),
        heard("command_output", json!({"phase": "delta", "output": "hi"})),
        heard("tool", result),
    ];
    let tell = |tools| passed(&mut Told::default(), tools, &events);
    assert_eq!(
        tell(Tools::Names),
        [
            r#"says {"toolCall":{"type":"tool-call","id":"call_30","name":"exec"}}"#,
            r#"says {"toolCall":{"type":"tool-result","id":"call_30","name":"exec","isError":false}}"#,
        ]
    );
    assert_eq!(
        tell(Tools::Full)[0],
        r#"says {"toolCall":{"type":"tool-call","id":"call_30","name":"exec","arguments":{"command":"echo hi"}}}"#
    );
    assert_eq!(tell(Tools::Off), Vec::<String>::new());
    let long =
        json!({"phase": "result", "name": "x", "toolCallId": "c", "result": "x".repeat(TOOL)});
    let long = passed(&mut Told::default(), Tools::Full, &[heard("tool", long)]);
    assert!(long[0].contains("too long to show"), "{long:?}");
}

#[test]
fn how_far_the_gateway_is_is_told() {
    let events = [
        heard("run_status", json!({"phase": "preparing_workspace"})),
        heard(
            "run_status",
            json!({"phase": "retrying", "message": "Retrying in 2s (1/8).", "attempt": 2}),
        ),
    ];
    assert_eq!(
        passed(&mut Told::default(), Tools::Off, &events),
        ["says preparing workspace", "says Retrying in 2s (1/8)."]
    );
}

fn answer(json: &str) -> Answer {
    match read(json) {
        Frame::Answer(_, answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_answer_to_a_run_is_an_end_or_none() {
    let fails = |text: &str| Some(Ending::Failed(format!("the agent failed: {text}")));
    for (frame, end) in [
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","sessionKey":"s","status":"accepted","acceptedAt":1}}"#,
            None,
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"in_flight"}}"#,
            None,
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"started"}}"#,
            None,
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"ok","summary":"completed","result":{"payloads":[{"text":"one","mediaUrl":null},{"text":"two"}]}}}"#,
            Some(Ending::Done("one\n\ntwo".to_owned(), None)),
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"ok","result":{"payloads":[]}}}"#,
            Some(Ending::Done(String::new(), None)),
        ),
        (
            r#"{"type":"res","id":"2","ok":false,"payload":{"runId":"r","status":"error","summary":"Error: x"},"error":{"code":"UNAVAILABLE","message":"Error: HTTP 401"}}"#,
            fails("Error: HTTP 401"),
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"error","summary":"failed","result":{"payloads":[{"text":"run failed","isError":true}]}}}"#,
            fails("run failed"),
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"timeout","summary":"aborted","timeoutPhase":"provider","result":{"payloads":[{"isError":true,"text":"Request timed out"}]}}}"#,
            fails("Request timed out"),
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"timeout","summary":"aborted"}}"#,
            fails("it took longer than it may"),
        ),
        (
            r#"{"type":"res","id":"2","ok":true,"payload":{"runId":"r","status":"timeout","summary":"aborted","stopReason":"rpc"}}"#,
            Some(Ending::Stopped),
        ),
        (
            r#"{"type":"res","id":"2","ok":false,"error":{"code":"INVALID_REQUEST","message":"invalid agent params: unknown agent id \"nope\""}}"#,
            fails("invalid agent params: unknown agent id \"nope\""),
        ),
        (r#"{"type":"res","id":"2"}"#, fails("no reason was given")),
    ] {
        assert_eq!(ending(&answer(frame)), end, "{frame}");
    }
}

#[test]
fn a_finished_run_tells_its_model_and_what_it_cost() {
    let frame = r#"{"type":"res","id":"2","ok":true,"payload":{"status":"ok","result":{"payloads":[{"text":"x"}],
        "meta":{"durationMs":314,"agentMeta":{"provider":"stub","model":"stub-1","usage":{"input":22,"output":2,"cacheRead":0,"total":24}}}}}}"#;
    let about = json!({"model": "stub/stub-1", "usage": {"inputTokens": 22, "outputTokens": 2, "totalTokens": 24}});
    let end = ending(&answer(frame));
    assert_eq!(end, Some(Ending::Done("x".to_owned(), Some(about))));
}

#[test]
fn who_waits_for_a_run_learns_of_its_end() {
    let reply = |text: &str| json!({"status": "ok", "terminalReply": {"disposition": "visible", "text": text}});
    assert_eq!(
        waited(&reply("c1")),
        Some(Ending::Done("c1".to_owned(), None))
    );
    assert_eq!(waited(&reply(&"x".repeat(4000))), Some(Ending::Cut));
    assert_eq!(waited(&json!({"status": "ok"})), Some(Ending::Cut));
    assert_eq!(waited(&json!({"status": "timeout"})), None);
    let stopped = json!({"status": "error", "error": "aborted", "stopReason": "rpc"});
    assert_eq!(waited(&stopped), Some(Ending::Stopped));
    let failed = Ending::Failed("the agent failed: boom".to_owned());
    assert_eq!(
        waited(&json!({"status": "error", "error": "boom"})),
        Some(failed)
    );
    assert_eq!(waited(&Value::Null), None);
}

#[test]
fn a_run_is_found_in_what_outlives_a_restart() {
    let rows = |status: &str| json!({"tasks": [{"runId": "other", "status": "failed"}, {"runId": "r", "status": status, "error": "gone"}]});
    assert_eq!(listed(&rows("running"), "r"), Some(Row::Running));
    assert_eq!(
        listed(&rows("completed"), "r"),
        Some(Row::Ended(Ending::Cut))
    );
    assert_eq!(
        listed(&rows("cancelled"), "r"),
        Some(Row::Ended(Ending::Stopped))
    );
    let failed = Row::Ended(Ending::Failed("the agent failed: gone".to_owned()));
    assert_eq!(listed(&rows("failed"), "r"), Some(failed.clone()));
    assert_eq!(listed(&rows("lost"), "r"), Some(failed));
    assert_eq!(listed(&rows("running"), "nobody"), None);
    assert_eq!(listed(&Value::Null, "r"), None);
}

#[test]
fn an_answer_is_found_in_the_history() {
    let user = |run: &str| json!({"role": "user", "content": "q", "idempotencyKey": format!("{run}:user")});
    let said = |run: &str, text: &str| json!({"role": "assistant", "content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": text}], "__openclaw": {"runId": run}});
    let old = json!({"role": "assistant", "content": "plain"});
    let history = json!({"messages": [
        user("a"), said("a", "one "), user("b"), said("b", "I look."), json!({"role": "toolResult"}), said("b", "7 "),
        user("c"), user("d"), old,
    ]});
    assert_eq!(written(&history, "a"), Written::Answer("one".to_owned()));
    assert_eq!(
        written(&history, "b"),
        Written::Answer("I look.\n\n7".to_owned())
    );
    assert_eq!(written(&history, "c"), Written::Message);
    assert_eq!(written(&history, "d"), Written::Answer("plain".to_owned()));
    assert_eq!(written(&history, "e"), Written::Nothing);
    assert_eq!(written(&Value::Null, "a"), Written::Nothing);
}

#[test]
fn a_run_that_goes_on_after_a_restart_is_found() {
    let row = |run: &str, tool: Option<&str>| {
        json!({"role": "user", "content": "[System] Your previous turn was interrupted by a gateway restart",
            "idempotencyKey": format!("{run}:user"), "provenance": {"kind": "internal_system", "sourceTool": tool}})
    };
    let recovery = Some("main_session_restart_recovery");
    let said = json!({"role": "assistant", "content": "hm"});
    let history = json!({"messages": [row("z", recovery), row("a", None), row("b", None), said, row("c", recovery), row("d", recovery)]});
    // That one ended before the next message came.
    assert_eq!(successor(&history, "a"), None);
    assert_eq!(successor(&history, "b").as_deref(), Some("c"));
    assert_eq!(successor(&history, "c").as_deref(), Some("d"));
    assert_eq!(successor(&history, "d"), None);
    assert_eq!(successor(&history, "nobody"), None);
    assert_eq!(successor(&Value::Null, "a"), None);
}
