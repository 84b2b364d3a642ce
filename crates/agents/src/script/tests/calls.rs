//! The `call` step.

use super::*;

const CALL: &str = r#"
- say: begin
- call: { agent: helper, text: "do {{text}}" }
- say: "{{call.helper.state}} {{call.helper.task}}: {{call.helper.text}}"
- artifact: { name: result, parts: [{ copy: call.helper }] }
"#;

fn helpful() -> Agents {
    Agents::default().agent(
        "helper",
        vec![
            begun(),
            stands(TaskState::Working, ""),
            stands(TaskState::Working, "on it"),
            made("a", "one ", false),
            made("a", "two", true),
            stands(TaskState::Working, "nearly done"),
            made("b", "three", false),
            stands(TaskState::Completed, "bye"),
        ],
    )
}

#[tokio::test(start_paused = true)]
async fn passes_on_progress_and_brings_back_the_answer() {
    let play = script(CALL).agents(helpful());
    let played = play.run().await;
    assert_eq!(
        played.events,
        [
            "working: begin",
            "working: passed to helper",
            "working: helper: on it",
            "working: helper: nearly done",
            "working: completed child: one two\nthree",
            "result. one two + three",
        ]
    );
    let asked = play.agents.asked.lock();
    assert_eq!(*asked, [r#"send helper t1-1-1 for ["t1"]: do hello there"#]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_off_is_taken_up_again() {
    script(CALL).agents(helpful()).resumes_anywhere().await;
}

#[tokio::test(start_paused = true)]
async fn every_call_has_its_own_key() {
    let yaml = "- repeat: { times: 2, do: [{ call: { agent: helper } }] }";
    let play = script(yaml)
        .agents(helpful())
        .after(vec![user("m0", vec![])]);
    play.run().await;
    let asked = play.agents.asked.lock();
    let keys: Vec<&str> = asked.iter().filter_map(|a| a.split(' ').nth(2)).collect();
    assert_eq!(keys, ["t1-2-1", "t1-2-2"]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_artifacts_answers_with_its_last_message() {
    let events = vec![begun(), stands(TaskState::Completed, "42")];
    let played = script("- call: { agent: a }\n- complete: \"{{call.a.text}}\"")
        .agents(Agents::default().agent("a", events))
        .run()
        .await;
    assert_eq!(played.end, "completed: 42");
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_answer_with_a_bare_message() {
    let message = user("m", vec![Part::text("42")]);
    let played = script("- call: { agent: a, as: b }\n- complete: \"{{call.b.text}}\"")
        .agents(Agents::default().agent("a", vec![Event::Message(message.into())]))
        .run()
        .await;
    assert_eq!(
        (played.events.len(), played.end.as_str()),
        (0, "completed: 42")
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_other_agent_is_a_failure_of_the_task() {
    for (events, end) in [
        (
            vec![begun(), stands(TaskState::Failed, "broken")],
            "failed: a: broken",
        ),
        (
            vec![begun(), stands(TaskState::Rejected, "")],
            "failed: a: rejected",
        ),
        (
            vec![begun(), stands(TaskState::Canceled, "")],
            "failed: a: canceled",
        ),
        (vec![begun()], "failed: a: stopped without an answer"),
    ] {
        let agents = Agents::default().agent("a", events);
        let play = script("- call: { agent: a }\n- complete: fine").agents(agents);
        assert_eq!(play.run().await.end, end);
    }
    let end = script("- call: { agent: a }").run().await.end;
    assert_eq!(end, "failed: a: no such agent");
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_other_agent_can_be_handled() {
    let yaml = r#"
- call:
    agent: a
    failed:
      - say: "{{call.a.state}}: {{call.a.text}}"
- complete: all the same
"#;
    let events = vec![begun(), stands(TaskState::Failed, "broken")];
    let play = script(yaml).agents(Agents::default().agent("a", events));
    let played = play.run().await;
    assert_eq!(
        played.events,
        ["working: passed to a", "working: failed: broken"]
    );
    assert_eq!(played.end, "completed: all the same");
    play.resumes_anywhere().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_goes_on_to_the_other_agent() {
    let play = script(CALL).agents(helpful());
    let cancel = play.canceled.clone();
    let canceled = async {
        tokio::time::sleep(Duration::from_millis(3500)).await;
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(play.run(), canceled);
    assert_eq!(played.end, "failed: the task is over");
    assert_eq!(played.took, Duration::from_millis(3500));
    let asked = play.agents.asked.lock();
    assert_eq!(asked.last().unwrap(), "cancel helper child");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_a_call_that_nothing_was_heard_of_yet() {
    let play = script(CALL).agents(helpful());
    let cancel = play.canceled.clone();
    let canceled = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(play.run(), canceled);
    assert_eq!(played.end, "failed: the task is over");
    let asked = play.agents.asked.lock();
    assert_eq!(asked.last().unwrap(), "cancel helper child");
}

#[tokio::test(start_paused = true)]
async fn a_run_canceled_as_it_is_taken_up_again_cancels_the_call_it_had_made() {
    // After `begin`, the call may have been made; after `passed to helper`, it was.
    for emitted in [1, 2] {
        let play = script(CALL).agents(helpful()).emitted(emitted);
        play.canceled.cancel();
        let played = play.run().await;
        assert_eq!(played.end, "failed: the task is over");
        assert!(played.events.is_empty());
        let asked = play.agents.asked.lock();
        assert_eq!(asked.last().unwrap(), "cancel helper child");
    }
    let play = script("- wait: 1s\n- say: hello").emitted(0);
    play.canceled.cancel();
    assert!(play.run().await.events.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_of_the_other_agent_is_passed_on() {
    for (state, name) in [
        (TaskState::InputRequired, "input-required"),
        (TaskState::AuthRequired, "auth-required"),
    ] {
        let agents = Agents::default().agent("a", vec![begun(), stands(state, "well?")]);
        let played = script("- call: { agent: a }\n- complete: never")
            .agents(agents)
            .run()
            .await;
        let delegate = r#"{"delegate":{"agent":"a","taskId":"child","event":2}}"#;
        assert_eq!(played.end, format!("{name}: well? #{delegate}"));
    }
}

const ANSWER: &str = r#"
- choose:
    - when: { answers: other }
      do: [{ fail: not asked by other }]
    - when: { answers: a }
      do:
        - call: { agent: a }
        - complete: "{{call.a.text}}"
- fail: nobody asked
"#;

/// An agent whose task waits for an answer, or has heard it already.
fn waiting(history: Vec<Message>) -> Agents {
    let events = vec![
        stands(TaskState::Working, ""),
        stands(TaskState::Working, "thanks"),
        stands(TaskState::Completed, "done"),
    ];
    let mut agents = Agents::default().agent("a", events);
    let task = task("child", TaskState::InputRequired, history);
    agents.tasks.insert("a", task);
    agents
}

#[tokio::test(start_paused = true)]
async fn the_answer_goes_to_the_agent_that_asked() {
    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("a")];
    let play = script(ANSWER)
        .after(history)
        .text("yes")
        .agents(waiting(Vec::new()));
    let played = play.run().await;
    assert_eq!(
        played.events,
        ["working: passed to a", "working: a: thanks"]
    );
    assert_eq!(played.end, "completed: done");
    let asked = play.agents.asked.lock().join(", ");
    assert_eq!(
        asked,
        r#"tell a t1-2-1 in Some("child"): yes, follow a child after 7"#
    );
    play.resumes_anywhere().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_not_given_twice() {
    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("a")];
    let given = vec![user("t1-2-1", vec![Part::text("yes")])];
    let play = script(ANSWER).after(history).agents(waiting(given));
    assert_eq!(play.run().await.end, "completed: done");
    let asked = play.agents.asked.lock();
    assert_eq!(*asked, ["follow a child after 7"]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_has_gone_on_without_the_answer_is_told_it_unless_it_is_over() {
    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("a")];
    for (state, timed_out, told) in [
        (TaskState::Working, false, true),
        (TaskState::Completed, false, false),
        // There is no answer.
        (TaskState::Working, true, false),
    ] {
        let mut agents = waiting(Vec::new());
        agents.tasks.get_mut("a").unwrap().status.state = state;
        let mut play = script(ANSWER).after(history.clone()).agents(agents);
        play.timed_out = timed_out;
        assert_eq!(play.run().await.end, "completed: done");
        let asked = play.agents.asked.lock();
        assert_eq!(asked[0].starts_with("tell"), told, "{state:?}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ends_before_it_is_told_the_answer_is_heard_all_the_same() {
    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("a")];
    let ends = Agents {
        ends: true,
        ..waiting(Vec::new())
    };
    let play = script(ANSWER).after(history).agents(ends);
    assert_eq!(play.run().await.end, "completed: done");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_goes_on_at_once_to_an_agent_that_has_been_given_its_answer() {
    // What it makes does not name its task.
    let events = vec![made("a", "one", true); 60];
    let waiting = Agents {
        scripts: [("a", events)].into(),
        ..waiting(Vec::new())
    };
    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("a")];
    let play = script("- hand_off: a").after(history).agents(waiting);
    let cancel = play.canceled.clone();
    let canceled = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(play.run(), canceled);
    assert_eq!(played.took, Duration::from_millis(500));
    let asked = play.agents.asked.lock();
    assert_eq!(asked.last().unwrap(), "cancel a child");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_its_own_is_nobody_elses() {
    let mut question = passed_on("a");
    question.metadata = None;
    let history = vec![user("m1", vec![Part::text("hi")]), question];
    let end = script(ANSWER).after(history).run().await.end;
    assert_eq!(end, "failed: nobody asked");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_not_everyone_may_know_of_is_not_named() {
    let play = script(CALL).agents(helpful()).hiding("helper");
    let played = play.run().await;
    assert_eq!(
        played.events,
        [
            "working: begin",
            "working: passed to #1",
            "working: #1: on it",
            "working: #1: nearly done",
            "working: completed child: one two\nthree",
            "result. one two + three",
        ]
    );
    let failing = Agents::default().agent("helper", vec![stands(TaskState::Failed, "broken")]);
    let failed = script(CALL).agents(failing).hiding("helper").run().await;
    assert_eq!(failed.end, "failed: #1: broken");

    // Its question does not name it either; a note does, for when it is answered.
    let asking =
        Agents::default().agent("helper", vec![stands(TaskState::InputRequired, "which?")]);
    let asks = script(CALL).agents(asking).hiding("helper").run().await;
    let noted = asks
        .events
        .iter()
        .find(|event| event.starts_with("records who-asks"));
    assert!(
        noted.is_some_and(|noted| noted.contains("helper")),
        "{:?}",
        asks.events
    );
    assert!(!asks.end.contains("helper"), "{}", asks.end);

    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("#1")];
    let answered = script(ANSWER)
        .after(history)
        .text("yes")
        .agents(waiting(Vec::new()))
        .hiding("a");
    let played = answered.run().await;
    assert_eq!(
        played.events,
        ["working: passed to #1", "working: #1: thanks"]
    );
    let asked = answered.agents.asked.lock().join(", ");
    assert!(asked.starts_with("tell a t1-2-1"), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn several_delegated_tasks_run_at_once_and_one_can_be_canceled() {
    let agents = ["a", "b", "c"].into_iter();
    let agents = agents.fold(Agents::default(), |agents, name| {
        let events = [begun(), stands(TaskState::Completed, name)];
        agents.agent(name, events.into())
    });
    let play = script("- say: unused").agents(agents);
    let task = task("t1", TaskState::Working, vec![play.message.clone()]);
    let recorder = Recorder::default();
    let delegations = play.delegations(&recorder, &task);
    let start = |agent: &'static str| {
        delegations.start(Delegation {
            agent,
            key: format!("t1-{agent}"),
            message: &play.message,
            parts: Vec::new(),
            metadata: None,
        })
    };
    let begin = tokio::time::Instant::now();
    let run = async |agent| {
        let mut task = start(agent).await.unwrap();
        delegations.follow(&mut task, false).await.unwrap();
        task.result().text
    };
    let (a, b, mut c) = tokio::join!(run("a"), run("b"), async { start("c").await.unwrap() });
    assert_eq!((a.as_str(), b.as_str()), ("a", "b"));
    assert_eq!(begin.elapsed(), Duration::from_secs(2));
    delegations.cancel(&mut c).await.unwrap();
    let asked = play.agents.asked.lock();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert_eq!(asked[0], r#"send a t1-a for ["t1"]: hello there"#);
    assert_eq!(asked[3], "cancel c child");
}
