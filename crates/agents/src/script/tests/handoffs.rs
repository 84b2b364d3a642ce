//! The `hand_off` step.

use super::*;

fn poet() -> Agents {
    Agents::default().agent(
        "poet",
        vec![
            begun(),
            stands(TaskState::Working, ""),
            stands(TaskState::Working, "on it"),
            made("a", "one ", false),
            made("a", "two", true),
            made("b", "three", false),
            stands(TaskState::Completed, "bye"),
        ],
    )
}

#[tokio::test(start_paused = true)]
async fn what_the_other_agent_makes_is_passed_on_as_it_comes() {
    let play = script("- hand_off: poet").agents(poet());
    let played = play.run().await;
    assert_eq!(
        played.events,
        [
            "working: passed to poet",
            "working: poet: on it",
            "a one ",
            "a+ two",
            "b three",
        ]
    );
    let whose = r#"{"delegate":{"agent":"poet","taskId":"child"}}"#;
    assert_eq!(played.end, format!("completed: bye #{whose}"));
    let asked = play.agents.asked.lock();
    assert_eq!(
        *asked,
        [r#"send poet t1-1-1 for ["t1"]: hello there"#],
        "the message as it came"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handoff_that_a_restart_cut_off_is_not_made_twice() {
    script("- hand_off: poet")
        .agents(poet())
        .resumes_anywhere()
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_as_the_other_one_does() {
    let whose = r##"#{"delegate":{"agent":"a","taskId":"child"}}"##;
    for (state, end) in [
        (TaskState::Rejected, format!("rejected: no {whose}")),
        (TaskState::Failed, "failed: a: no".to_owned()),
        (TaskState::Canceled, "failed: a: no".to_owned()),
    ] {
        let agents = Agents::default().agent("a", vec![begun(), stands(state, "no")]);
        let played = script("- hand_off: a").agents(agents).run().await;
        assert_eq!(played.end, end);
    }
    let end = script("- hand_off: a").run().await.end;
    assert_eq!(end, "failed: a: no such agent");
}

#[tokio::test(start_paused = true)]
async fn a_bare_message_is_the_last_word() {
    let message = user("m", vec![Part::text("42")]);
    let played = script("- hand_off: a")
        .agents(Agents::default().agent("a", vec![Event::Message(message.into())]))
        .run()
        .await;
    assert!(played.events.is_empty(), "{:?}", played.events);
    assert_eq!(played.end, "completed: 42");
}

#[tokio::test(start_paused = true)]
async fn a_question_comes_back_and_its_answer_goes_on() {
    let asking = Agents::default().agent(
        "a",
        vec![begun(), stands(TaskState::InputRequired, "well?")],
    );
    let played = script("- hand_off: a").agents(asking).run().await;
    let whose = r#"{"delegate":{"agent":"a","taskId":"child","event":2}}"#;
    assert_eq!(played.end, format!("input-required: well? #{whose}"));
    let events = vec![
        stands(TaskState::Working, ""),
        made("a", "one", false),
        stands(TaskState::Completed, "done"),
    ];
    let mut waiting = Agents::default().agent("a", events);
    let task = task("child", TaskState::InputRequired, Vec::new());
    waiting.tasks.insert("a", task);
    let history = vec![user("m1", vec![Part::text("hi")]), passed_on("a")];
    let play = script("- hand_off: a")
        .after(history)
        .text("yes")
        .agents(waiting);
    let played = play.run().await;
    assert_eq!(played.events, ["working: passed to a", "a one"]);
    let asked = play.agents.asked.lock().join(", ");
    assert_eq!(
        asked,
        r#"tell a t1-2-1 in Some("child"): yes, follow a child after 7"#
    );
    play.resumes_anywhere().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_goes_on_to_it() {
    let play = script("- hand_off: poet").agents(poet());
    let cancel = play.canceled.clone();
    let canceled = async {
        tokio::time::sleep(Duration::from_millis(3500)).await;
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(play.run(), canceled);
    assert_eq!(played.end, "failed: the task is over");
    let asked = play.agents.asked.lock();
    assert_eq!(asked.last().unwrap(), "cancel poet child");
}

#[test]
fn nothing_follows_it() {
    let error = Script::parse("- hand_off: a\n- say: hello").unwrap_err();
    assert!(error.to_string().contains("no step can follow"), "{error}");
}

#[test]
fn other_names_of_the_step_mean_the_same() {
    for name in ["hand_off", "delegate", "hand_on"] {
        let script = Script::parse(&format!("- {name}: poet")).unwrap();
        assert_eq!(script.calls(), ["poet"].into(), "{name}");
    }
}
