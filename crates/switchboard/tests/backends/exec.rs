//! A command behind an agent: real processes, real pipes, and nothing left of them.

use std::path::Path;

use serde_json::{Value, json};
use switchboard_testkit::{Events, Server, eventually, say, text_of};

use crate::openai::{said, soon};

/// Says its own number and that of its child, and stays. Counts how often it was run.
pub(crate) const STAYS: &str = "echo run >> runs.txt; sleep 1000 & echo $$ $!; wait";

/// Does a little of everything, in lines of JSON.
const ASKS: &str = r#"
read -r line
echo run >> runs.txt
case "$line" in
  *'"text":"green"'*)
    echo '{"type":"artifact","id":"picture","name":"Picture","parts":[{"data":{"colour":"green"}},{"raw":"aGk=","mediaType":"text/plain","filename":"a.txt"}]}'
    echo '{"type":"done","text":"painted"}' ;;
  *'"text":"sleep"'*)
    sleep 1000 ;;
  *file*)
    printf '{"type":"artifact","parts":[{"data":%s}]}\n' "$line" ;;
  *)
    echo '{"type":"status","text":"looking for paint"}'
    echo '{"type":"ask","text":"Which colour?"}' ;;
esac
"#;

/// Agents with these commands.
pub(crate) async fn commands() -> Server {
    let yaml = r#"
shutdown: {grace: 200ms}
agents:
  loud: {exec: {command: [tr, a-z, A-Z]}}
  lines: {exec: {command: [sh, -c, "echo one; read gate < gate; echo two"], coalesce: 0s}}
  stays: {exec: {command: [sh, stays.sh]}}
  asks: {exec: {command: [sh, asks.sh], protocol: json}}
  env: {exec: {command: [env], inherit: [SEEN], environment: {GIVEN: "a b", TOKEN: "${KEY}"}}}
  where: {exec: {command: [pwd], directory: below}}
  fails: {exec: {command: [sh, -c, 'echo half; echo "no use for $TOKEN" >&2; exit 3'], environment: {TOKEN: "${KEY}"}}}
  slow: {exec: {command: [sh, stays.sh], timeout: 300ms}}
  flood: {exec: {command: [yes], max_output: 10KiB}}
  odd: {exec: {command: [echo, hello], protocol: json}}
  missing: {exec: {command: [./no-such-program]}}
  one: {exec: {command: [sh, stays.sh]}, limits: {tasks: 1}}
"#;
    let files = [
        ("stays.sh", STAYS.as_bytes().to_vec()),
        ("asks.sh", ASKS.as_bytes().to_vec()),
        ("below/here", Vec::new()),
    ];
    let variables = [("KEY", "s3cr3t"), ("SEEN", "yes"), ("HIDDEN", "no")];
    Server::serve_with(yaml, &files, &variables).await
}

/// What the command printed.
pub(crate) fn output(task: &Value) -> String {
    text_of(&task["artifacts"][0])
}

/// How often a command was run that counts it.
pub(crate) fn runs(server: &Server) -> usize {
    let place = server.data().with_file_name("runs.txt");
    let runs = std::fs::read_to_string(place).unwrap_or_default();
    runs.lines().count()
}

/// Begins a task with a command that stays: the stream, the task, and the numbers of its processes.
pub(crate) async fn begun(server: &Server, agent: &str) -> (Events, Value, Vec<u32>) {
    let mut stream = server.stream(agent, "message/stream", say("go")).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    loop {
        let event = soon(stream.next()).await.unwrap().data["result"].clone();
        if event["kind"] == "artifact-update" {
            let text = text_of(&event["artifact"]);
            let numbers = text.split_whitespace().map(|n| n.parse().unwrap());
            return (stream, task, numbers.collect());
        }
    }
}

/// Waits until there are no such processes, but for dead ones that nobody has waited for.
pub(crate) async fn gone(pids: &[u32]) {
    for pid in pids {
        eventually(&format!("the end of process {pid}"), async || !lives(*pid)).await;
    }
}

pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    let stat = stat.unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

#[tokio::test]
async fn text_goes_in_and_what_is_printed_comes_back() {
    let ours = commands().await;
    let task = ours
        .result("loud", "message/send", say("hello there"))
        .await;
    assert_eq!(task["status"]["state"], "completed");
    assert_eq!(output(&task), "HELLO THERE");
    let card = ours.get("/a2a/loud/.well-known/agent-card.json").await.body;
    assert_eq!(
        card["defaultInputModes"],
        json!(["text/plain", "text/*", "application/json"])
    );
}

#[tokio::test]
async fn a_line_is_streamed_while_the_command_runs() {
    let ours = commands().await;
    let gate = ours.data().with_file_name("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    let mut stream = ours.stream("lines", "message/stream", say("go")).await;
    while soon(stream.next()).await.unwrap().data["result"]["kind"] != "artifact-update" {}
    tokio::fs::write(&gate, "open\n").await.unwrap();
    let rest = soon(stream.results()).await;
    let pieces = rest.iter().filter(|e| e["kind"] == "artifact-update");
    let text: String = pieces.map(|e| text_of(&e["artifact"])).collect();
    assert_eq!(text, "two\n");
    assert_eq!(rest.last().unwrap()["status"]["state"], "completed");
}

#[tokio::test]
async fn a_command_asks_and_is_run_anew_for_the_answer_also_after_a_crash_of_ours() {
    let mut ours = commands().await;
    let stream = ours.stream("asks", "message/stream", say("paint")).await;
    let events = soon(stream.results()).await;
    let told: Vec<String> = events
        .iter()
        .map(said)
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(told, ["looking for paint", "Which colour?"]);
    let asked = events.last().unwrap();
    assert_eq!(asked["status"]["state"], "input-required");
    ours.kill().await;
    ours.restart().await;
    let mut answer = say("green");
    answer["message"]["taskId"] = asked["taskId"].clone();
    let done = ours.result("asks", "message/send", answer).await;
    assert_eq!(done["id"], asked["taskId"]);
    assert_eq!(said(&done), "painted");
    let picture = &done["artifacts"][0];
    assert_eq!(picture["name"], "Picture");
    assert_eq!(picture["parts"][0]["data"]["colour"], "green");
    assert_eq!(picture["parts"][1]["file"]["bytes"], "aGk=");
    assert_eq!(runs(&ours), 2);
}

#[tokio::test]
async fn files_go_to_commands_that_speak_json_and_to_no_others() {
    let ours = commands().await;
    let file = json!({"kind": "file", "file": {"name": "a.png", "mimeType": "image/png", "bytes": "iVBORw=="}});
    let mut send = say("file");
    send["message"]["parts"].as_array_mut().unwrap().push(file);
    let task = ours.result("asks", "message/send", send.clone()).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
    let told = &task["artifacts"][0]["parts"][0]["data"];
    assert_eq!(told["text"], "file");
    assert_eq!(told["taskId"], task["id"]);
    assert_eq!(told["contextId"], task["contextId"]);
    assert_eq!(
        told["message"]["parts"][1],
        json!({"raw": "iVBORw==", "mediaType": "image/png", "filename": "a.png"})
    );
    let refused = ours.error("loud", "message/send", send).await;
    assert_eq!(refused["code"], -32005, "{refused}");
}

#[tokio::test]
async fn a_command_sees_what_it_may_and_runs_where_it_should() {
    let ours = commands().await;
    let task = ours.result("env", "message/send", say("x")).await;
    let text = output(&task);
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|l| l.split_once('='))
        .map(|(n, _)| n)
        .collect();
    names.sort_unstable();
    let wanted = [
        "GIVEN",
        "PATH",
        "PYTHONUNBUFFERED",
        "SEEN",
        "SWITCHBOARD_AGENT",
        "SWITCHBOARD_CONTEXT_ID",
        "SWITCHBOARD_MESSAGE",
        "SWITCHBOARD_SESSION_ID",
        "SWITCHBOARD_TASK_ID",
        "TOKEN",
    ];
    assert_eq!(names, wanted);
    assert!(
        text.contains("GIVEN=a b\n") && text.contains("SEEN=yes\n"),
        "{text}"
    );
    let task = ours.result("where", "message/send", say("x")).await;
    let place = ours.data().with_file_name("below");
    assert_eq!(
        output(&task).trim(),
        place.canonicalize().unwrap().to_str().unwrap()
    );
}

#[tokio::test]
async fn every_fault_of_a_command_fails_the_task_with_a_reason() {
    let ours = commands().await;
    let cases = [
        (
            "fails",
            "the command ended with exit code 3: no use for ***",
        ),
        ("slow", "the command took longer than 0.3 s"),
        ("flood", "printed more than 10240 bytes"),
        ("odd", "line 1 of the command's output "),
        (
            "missing",
            "the command cannot be started: check the agent's command and directory",
        ),
    ];
    for (agent, why) in cases {
        let task = ours.result(agent, "message/send", say("x")).await;
        assert_eq!(task["status"]["state"], "failed", "{agent}: {task}");
        assert!(said(&task).contains(why), "{agent}: {}", said(&task));
    }
    let logged = ours.logged();
    assert!(
        logged.contains("program not found") && !logged.contains("s3cr3t"),
        "{logged}"
    );
}

#[tokio::test]
async fn a_cancel_ends_the_whole_process_group() {
    let ours = commands().await;
    let (stream, task, pids) = begun(&ours, "stays").await;
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| lives(*pid)));
    let canceled = ours
        .result("stays", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
    gone(&pids).await;
    let last = soon(stream.results()).await;
    assert_eq!(last.last().unwrap()["status"]["state"], "canceled");
}

#[tokio::test]
async fn no_more_commands_run_at_once_than_may() {
    let ours = commands().await;
    let (_, first, pids) = begun(&ours, "one").await;
    let mut send = say("second");
    send["configuration"] = json!({"blocking": false});
    let second = ours.result("one", "message/send", send).await;
    assert_eq!(second["status"]["state"], "submitted");
    assert_eq!(runs(&ours), 1);
    ours.result("one", "tasks/cancel", json!({"id": first}))
        .await;
    gone(&pids).await;
    ours.until("one", &second["id"], &["working"]).await;
    ours.result("one", "tasks/cancel", json!({"id": second["id"]}))
        .await;
}

#[tokio::test]
async fn a_command_is_told_which_trace_it_belongs_to() {
    let server = commands().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let send = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
    let request = server.http.post(server.url("/a2a/env"));
    let request = request.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    let answered = switchboard_testkit::answer(request.json(&send)).await;
    let printed = output(&answered.body["result"]);
    assert!(
        printed.contains(&format!("TRACEPARENT=00-{trace}-")),
        "{printed}"
    );
    assert!(
        !printed.contains("00f067aa0ba902b7"),
        "it has a part of its own"
    );
    let task = server.result("env", "message/send", say("x")).await;
    assert!(!output(&task).contains("TRACEPARENT"), "{task}");
}

#[tokio::test]
async fn what_a_command_says_on_stderr_is_logged_though_it_does_not_fail() {
    let yaml = "agents: {warns: {exec: {command: [sh, -c, 'echo careful with $TOKEN >&2; echo ok'], environment: {TOKEN: '${KEY}'}}}}";
    let variables = [("KEY", "s3cr3t"), ("SWITCHBOARD_LOG", "debug")];
    let ours = Server::serve_with(yaml, &[], &variables).await;
    let task = ours.result("warns", "message/send", say("x")).await;
    assert_eq!(output(&task), "ok\n");
    let logged = ours.logged();
    let line = logged
        .lines()
        .find(|line| line.contains("careful with"))
        .unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["stderr"], "careful with ***", "{line}");
    assert_eq!(
        (&line["agent"], &line["task"]),
        (&json!("warns"), &task["id"])
    );
}

#[tokio::test]
async fn what_python_prints_is_streamed_without_a_flush() {
    let script = "import os, time
print('one')
while not os.path.exists('go'): time.sleep(0.02)
print('two')";
    let yaml = "agents: {py: {exec: {command: [python3, job.py], coalesce: 0s}}}";
    let files = [("job.py", script.as_bytes().to_vec())];
    let ours = Server::serve_with(yaml, &files, &[]).await;
    let mut stream = ours.stream("py", "message/stream", say("x")).await;
    loop {
        let event = soon(stream.next()).await.unwrap().data["result"].clone();
        if event["kind"] == "artifact-update" {
            assert_eq!(text_of(&event["artifact"]), "one\n");
            break;
        }
    }
    std::fs::write(ours.data().with_file_name("go"), "").unwrap();
    stream.rest().await;
}
