//! What answers a question for a secret: it goes to the agent that asked, and nowhere else.

use super::*;

impl Play {
    /// The message answers `question`, and is a secret.
    fn secret(self, question: Message, text: &str) -> Self {
        let history = vec![user("m1", vec![Part::text("open up")]), question];
        let mut play = self.after(history).text(text);
        play.message.metadata = Some(object(&json!({"note": text})));
        play.metadata = Some(object(&json!({"hint": text})));
        play.secret = true;
        play
    }
}

/// One that asks for credentials, and one that does the work. Its task is in this state.
fn login(state: TaskState) -> Agents {
    let welcome = vec![
        stands(TaskState::Working, ""),
        stands(TaskState::Completed, "welcome"),
    ];
    let works = vec![begun(), stands(TaskState::Completed, "done")];
    let mut agents = Agents::default()
        .agent("login", welcome)
        .agent("worker", works);
    let task = task("child", state, Vec::new());
    agents.tasks.insert("login", task);
    agents
}

fn asked_of(play: &Play) -> Vec<String> {
    play.agents.asked.lock().clone()
}

#[tokio::test(start_paused = true)]
async fn a_secret_goes_to_who_asked_and_the_next_one_gets_what_was_said_before() {
    let play = script("- call: { agent: login }\n- hand_off: worker")
        .agents(login(TaskState::AuthRequired))
        .secret(passed_on("login"), "hunter2");
    let played = play.run().await;
    assert!(played.end.starts_with("completed: done"), "{played:?}");
    assert_eq!(
        asked_of(&play),
        [
            r#"whisper login t1-2-1 in Some("child"): hunter2"#,
            "follow login child after 7",
            r#"send worker t1-2-2 for ["t1"]: open up"#,
        ]
    );
}

/// Everything that a script can say of a message.
const TELLTALE: &str = r#"
- choose:
    - when: { text: '(?<all>.*)' }
      do: [{ say: "{{match.all}}" }]
- say: "{{text}} {{metadata.note}} {{metadata.hint}}"
- artifact: { name: copy, parts: [{ copy: message }, { data: "{{text}}" }] }
- repeat: { words: "{{text}}", do: [{ say: "{{word}}" }] }
- call: { agent: worker, text: "{{text}}" }
- call: { agent: login, text: "code: {{text}}" }
- fail: "{{text}}"
"#;

#[tokio::test(start_paused = true)]
async fn nothing_that_a_script_says_repeats_a_secret() {
    let own = Message {
        metadata: None,
        ..passed_on("login")
    };
    for question in [passed_on("login"), own] {
        let mut agents = login(TaskState::AuthRequired);
        if question.metadata.is_none() {
            let works = vec![begun(), stands(TaskState::Completed, "done")];
            agents = agents.agent("login", works);
        }
        let play = script(TELLTALE).agents(agents).secret(question, "hunter2");
        let played = play.run().await;
        assert_eq!(played.end, "failed: open up");
        let events = played.events.join(", ");
        assert!(!events.contains("hunter2"), "{events}");
        let asked = asked_of(&play);
        assert_eq!(asked[0], r#"send worker t1-2-1 for ["t1"]: open up"#);
        let told = match play.history[1].metadata.is_some() {
            true => r#"whisper login t1-2-2 in Some("child"): code: hunter2"#,
            false => r#"send login t1-2-2 for ["t1"]: code: open up"#,
        };
        assert_eq!(asked[1], told);
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_can_check_what_it_has_asked_for_itself() {
    let yaml = r#"
- choose:
    - when: { text: '^(?<code>hunter2)$', metadata: { note: hunter2 }, part: text, message_id: m3 }
      do: [{ complete: "right{{match.code}}" }]
- complete: wrong
"#;
    let own = Message {
        metadata: None,
        ..passed_on("login")
    };
    let right = script(yaml).secret(own.clone(), "hunter2").run().await;
    assert_eq!(right.end, "completed: right");
    let wrong = script(yaml).secret(own, "hunter3").run().await;
    assert_eq!(wrong.end, "completed: wrong");
    // What another agent has asked for is not for it to look at.
    let other = script(yaml).secret(passed_on("login"), "hunter2");
    assert_eq!(other.run().await.end, "completed: wrong");
}

#[tokio::test(start_paused = true)]
async fn a_run_with_a_secret_that_a_restart_cut_off_goes_on_the_same() {
    let yaml = r#"
- call: { agent: login }
- choose: [{ when: { text: '^open' }, do: [{ say: "{{text}} {{metadata.note|nothing}}" }] }]
- hand_off: worker
"#;
    let play = script(yaml)
        .agents(login(TaskState::AuthRequired))
        .secret(passed_on("login"), "hunter2");
    let whole = play.run().await;
    assert!(
        whole
            .events
            .contains(&"working: open up nothing".to_owned())
    );
    let follow = "follow login child after 7";
    let whisper = r#"whisper login t1-2-1 in Some("child"): hunter2"#;
    let send = r#"send worker t1-2-2 for ["t1"]: open up"#;
    // The secret has not arrived yet, or it has and the agent asks for another one, or has ended.
    for (state, arrived, asked) in [
        (TaskState::AuthRequired, false, vec![whisper, follow, send]),
        (TaskState::AuthRequired, true, vec![follow, send]),
        (TaskState::Completed, true, vec![follow, send]),
    ] {
        let mut agents = login(state);
        if arrived {
            let answer = user("t1-2-1", vec![Part::text("[redacted]")]).into();
            agents.tasks.get_mut("login").unwrap().history.push(answer);
        }
        let rest = play.clone().agents(agents);
        let again = rest.run().await;
        assert_eq!((&again.events, &again.end), (&whole.events, &whole.end));
        assert_eq!(asked_of(&rest), asked);
        rest.resumes_anywhere().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_not_told_to_who_does_not_ask_for_one() {
    let whispers = async |state| {
        let play = script("- call: { agent: login }")
            .agents(login(state))
            .secret(passed_on("login"), "hunter2");
        play.run().await;
        asked_of(&play)[0].starts_with("whisper")
    };
    assert!(whispers(TaskState::AuthRequired).await);
    // It has gone on without, or asks for something else by now.
    assert!(!whispers(TaskState::Working).await);
    assert!(!whispers(TaskState::InputRequired).await);
}
