//! A real LangGraph server behind our agents, in both releases, and the real binary before it. The same with every trap by
//! itself, and faster, is in `tests/backends/langgraph*.rs`.

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, message, say, text_of};

use crate::agent::Agent;
use crate::environment::Environment;

/// What the graph tells letter by letter.
fn tale() -> String {
    let words: Vec<String> = (0..30).map(|n| format!("w{n}")).collect();
    words.join(" ")
}

/// Ours before it: one agent by name, and all that are there.
async fn before(base: &str) -> Server {
    let yaml = format!(
        "agents:
           peer: {{langgraph: {{url: '{base}', assistant: peer, reconnect: 3s}}}}
           lg: {{langgraph: {{url: '{base}', discover: true, refresh: 1s}}}}"
    );
    Server::serve(&yaml).await
}

fn answer(task: &Value) -> String {
    assert_eq!(task["status"]["state"], "completed", "{task}");
    text_of(&task["artifacts"][0])
}

/// Begins a task, and does not wait for it.
async fn begin(ours: &Server, text: &str) -> Value {
    let send = json!({"message": message(text), "configuration": {"blocking": false}});
    ours.result("peer", "message/send", send).await["id"].clone()
}

/// What the server says of all threads, at this place below each.
async fn of_threads(ours: &Server, base: &str, place: &str) -> Vec<Value> {
    let search = format!("{base}/threads/search");
    let threads = ours.http.post(search).json(&json!({"limit": 100}));
    let threads = switchboard_testkit::answer(threads).await.body;
    let mut found = Vec::new();
    for thread in threads.as_array().expect("threads") {
        let id = thread["thread_id"].as_str().expect("an id");
        let of_it = ours.http.get(format!("{base}/threads/{id}/{place}"));
        found.push(switchboard_testkit::answer(of_it).await.body);
    }
    found
}

/// The runs of all threads that are on.
async fn runs(ours: &Server, base: &str, status: &str) -> Vec<String> {
    let runs = of_threads(ours, base, "runs?limit=100").await;
    let runs = runs.iter().flat_map(|runs| runs.as_array().expect("runs"));
    let such = runs.filter(|run| run["status"] == status);
    such.map(|run| run["run_id"].to_string()).collect()
}

/// How many threads ask something.
async fn questions(ours: &Server, base: &str) -> usize {
    let states = of_threads(ours, base, "state").await;
    let asks = |state: &&Value| !state["interrupts"].as_array().is_some_and(Vec::is_empty);
    states.iter().filter(asks).count()
}

async fn until_runs(ours: &Server, base: &str, status: &str, count: usize) {
    eventually(&format!("{count} runs that are {status}"), async || {
        runs(ours, base, status).await.len() == count
    })
    .await;
}

#[tokio::test]
async fn langgraph_behind_our_agents() {
    let mut agent = Agent::langgraph(Environment::LangGraph).await;
    let ours = before(&agent.base()).await;
    everything(&agent, ours).await;
    files_and_data_reach_the_graph(&agent).await;
    its_death_is_told(&mut agent).await;
}

#[tokio::test]
async fn langgraph_0_6_39_behind_our_agents() {
    let mut agent = Agent::langgraph(Environment::LangGraph06).await;
    let ours = before(&agent.base()).await;
    everything(&agent, ours).await;
    its_death_is_told(&mut agent).await;
}

async fn everything(agent: &Agent, mut ours: Server) {
    it_answers_in_pieces_and_remembers(&ours).await;
    its_questions_come_to_the_caller(agent, &ours).await;
    a_failure_keeps_its_secrets(&ours).await;
    a_cancel_stops_the_run(agent, &ours).await;
    a_cut_connection_changes_nothing(agent, &ours).await;
    assistants_are_found(agent, &ours).await;
    ours = a_crash_of_ours_repeats_nothing(agent, ours).await;
    a_question_outlives_a_crash(ours).await;
}

async fn it_answers_in_pieces_and_remembers(ours: &Server) {
    let card = ours.get("/a2a/peer/.well-known/agent-card.json").await;
    assert_eq!(card.body["name"], "peer", "{card:?}");
    let first = ours.result("peer", "message/send", say("hello")).await;
    assert_eq!(answer(&first), "echo: hello");
    let mut second = say("turns");
    second["message"]["contextId"] = first["contextId"].clone();
    let second = ours.result("peer", "message/send", second).await;
    assert_eq!(answer(&second), "2");
    let stream = ours.stream("peer", "message/stream", say("tale")).await;
    let events = stream.results().await;
    let pieces = events.iter().filter(|e| e["kind"] == "artifact-update");
    let pieces: Vec<String> = pieces.map(|e| text_of(&e["artifact"])).collect();
    // Old releases send what they have in few pieces.
    assert!(pieces.len() > 2, "{pieces:?}");
    assert_eq!(pieces.concat(), tale());
}

async fn its_questions_come_to_the_caller(agent: &Agent, ours: &Server) {
    let asked = ours.result("peer", "message/send", say("input")).await;
    assert_eq!(asked["status"]["state"], "input-required", "{asked}");
    assert_eq!(text_of(&asked["status"]["message"]), "which colour?");
    for (reply, chosen) in [
        (json!({"kind": "text", "text": "green"}), "you chose green"),
        (
            json!({"kind": "data", "data": {"rgb": 7}}),
            r#"you chose {"rgb": 7}"#,
        ),
    ] {
        let asked = ours.result("peer", "message/send", say("input")).await;
        let mut answered = say("x");
        answered["message"]["taskId"] = asked["id"].clone();
        answered["message"]["parts"] = json!([reply]);
        let done = ours.result("peer", "message/send", answered).await;
        assert_eq!(answer(&done), chosen);
    }
    assert_eq!(questions(ours, &agent.base()).await, 1);
    let gone = ours
        .result("peer", "tasks/cancel", json!({"id": asked["id"]}))
        .await;
    assert_eq!(gone["status"]["state"], "canceled");
    eventually("the withdrawal of the question", async || {
        questions(ours, &agent.base()).await == 0
    })
    .await;
}

async fn a_failure_keeps_its_secrets(ours: &Server) {
    let failed = ours.result("peer", "message/send", say("fail")).await;
    assert_eq!(failed["status"]["state"], "failed");
    let text = text_of(&failed["status"]["message"]);
    assert!(
        text.starts_with("the assistant failed") && !text.contains("it failed"),
        "{text}"
    );
}

async fn a_cancel_stops_the_run(agent: &Agent, ours: &Server) {
    let before = runs(ours, &agent.base(), "interrupted").await.len();
    let task = begin(ours, "long").await;
    until_runs(ours, &agent.base(), "running", 1).await;
    let canceled = ours
        .result("peer", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
    until_runs(ours, &agent.base(), "running", 0).await;
    let now = runs(ours, &agent.base(), "interrupted").await.len();
    assert_eq!(now, before + 1);
}

async fn a_cut_connection_changes_nothing(agent: &Agent, ours: &Server) {
    let task = begin(ours, "slow").await;
    until_runs(ours, &agent.base(), "running", 1).await;
    agent.cut();
    let done = ours.until("peer", &task, &["completed", "failed"]).await;
    assert!(answer(&done).starts_with("1 2 3 "), "{done}");
}

async fn assistants_are_found(agent: &Agent, ours: &Server) {
    let done = ours.result("lg-peer", "message/send", say("hello")).await;
    assert_eq!(answer(&done), "echo: hello");
    let added = ours.http.post(format!("{}/assistants", agent.base()));
    let added = added.json(&json!({"graph_id": "peer", "name": "Second One"}));
    assert!(added.send().await.expect("sent").status().is_success());
    eventually("the card of the second one", async || {
        let card = ours.get("/a2a/lg-second-one/.well-known/agent-card.json");
        card.await.body["name"] == "Second One"
    })
    .await;
    let done = ours
        .result("lg-second-one", "message/send", say("hello"))
        .await;
    assert_eq!(answer(&done), "echo: hello");
}

async fn a_crash_of_ours_repeats_nothing(agent: &Agent, mut ours: Server) -> Server {
    let before = runs(&ours, &agent.base(), "success").await.len();
    let mut stream = ours.stream("peer", "message/stream", say("tale")).await;
    let task = stream.next().await.expect("a task").data["result"]["id"].clone();
    let mut pieces = 0;
    while pieces < 2 {
        let event = stream.next().await.expect("an event");
        pieces += u32::from(event.data["result"]["kind"] == "artifact-update");
    }
    ours.kill().await;
    ours.restart().await;
    let done = ours.until("peer", &task, &["completed", "failed"]).await;
    assert_eq!(answer(&done), tale());
    let now = runs(&ours, &agent.base(), "success").await.len();
    assert_eq!(now, before + 1);
    ours
}

async fn a_question_outlives_a_crash(mut ours: Server) {
    let asked = ours.result("peer", "message/send", say("input")).await;
    ours.kill().await;
    ours.restart().await;
    let mut answered = say("blue");
    answered["message"]["taskId"] = asked["id"].clone();
    let done = ours.result("peer", "message/send", answered).await;
    assert_eq!(answer(&done), "you chose blue");
}

async fn files_and_data_reach_the_graph(agent: &Agent) {
    let ours = before(&agent.base()).await;
    let mut send = say("file");
    let file = json!({"bytes": "aGVsbG8=", "mimeType": "image/png", "name": "a.png"});
    send["message"]["parts"] =
        json!([{"kind": "text", "text": "file"}, {"kind": "file", "file": file}]);
    let done = ours.result("peer", "message/send", send.clone()).await;
    assert!(answer(&done).contains("aGVsbG8="), "{done}");
    send["message"]["parts"] =
        json!([{"kind": "text", "text": "data"}, {"kind": "data", "data": {"n": 7}}]);
    let done = ours.result("peer", "message/send", send).await;
    assert_eq!(answer(&done), r#"{"n": 7}"#);
}

async fn its_death_is_told(agent: &mut Agent) {
    let ours = before(&agent.base()).await;
    let task = begin(&ours, "long").await;
    until_runs(&ours, &agent.base(), "running", 1).await;
    agent.kill().await;
    let failed = ours.until("peer", &task, &["failed", "completed"]).await;
    let lost =
        "the connection to the LangGraph server was lost and could not be re-established in time";
    assert_eq!(text_of(&failed["status"]["message"]), lost);
}
