//! The protocol of lines of JSON.

use serde_json::json;

use super::*;

fn speaking(script: &str) -> Settings {
    Settings {
        protocol: Protocol::Json,
        grace: Duration::from_millis(200),
        ..shell(script)
    }
}

#[tokio::test]
async fn statuses_artifacts_and_the_end_are_said_in_lines() {
    let script = r#"
        echo '{"type":"status","text":"reading"}'
        echo
        echo '{"type":"artifact","id":"report","name":"Report","text":"a","last":false}'
        echo '{"type":"artifact","id":"report","text":"b","append":true}'
        echo '{"type":"artifact","parts":[{"data":{"n":1}},{"raw":"aGk=","mediaType":"text/plain","filename":"x.txt"}]}'
        echo '{"type":"done","text":"all is said"}'
    "#;
    let line = line(speaking(script));
    let mut cursor = line.stream(says("go")).await.unwrap();
    let events = rest(&mut cursor).await;
    let statuses: Vec<String> = events
        .iter()
        .filter_map(|(_, event, _)| match event {
            Event::Status(update) => update.status.message.as_ref().map(|m| m.text()),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, ["reading", "all is said"]);
    let task = line.get(cursor.task_id()).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed);
    assert_eq!(text(&task, "report"), "ab");
    assert_eq!(task.artifacts[0].name.as_deref(), Some("Report"));
    let parts = &task.artifacts[1].parts;
    assert!(matches!(&parts[0].content, Content::Data(data) if data.as_str() == r#"{"n":1}"#));
    assert_eq!(parts[1].content, Content::Raw(Bytes::from_static(b"hi")));
    assert_eq!(parts[1].filename.as_deref(), Some("x.txt"));
}

/// Says what it was told as data.
const TELL: &str = r#"
    read -r line
    printf '{"type":"artifact","parts":[{"data":%s}]}\n' "$line"
"#;

fn told(task: &Task) -> Value {
    match &task.artifacts.last().unwrap().parts[0].content {
        Content::Data(data) => serde_json::from_str(data.as_str()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_command_is_told_the_whole_message() {
    let line = line(speaking(TELL));
    let mut message = says("look");
    message.parts.push(Part {
        media_type: Some("image/png".to_owned()),
        ..Part::new(Content::Raw(Bytes::from_static(b"hi")))
    });
    let task = line.send(message).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    let heard = told(&task);
    // Callers name their contexts as they like: the session is unique for each caller.
    assert_ne!(heard["sessionId"], task.context_id.as_str());
    assert!(heard["sessionId"].is_string(), "{heard}");
    let expected = json!({
        "type": "message",
        "taskId": task.id.as_str(),
        "contextId": task.context_id.as_str(),
        "sessionId": heard["sessionId"],
        "agent": "agent",
        "text": "look",
        "message": {
            "messageId": "m-look",
            "role": "user",
            "parts": [{ "text": "look" }, { "raw": "aGk=", "mediaType": "image/png" }],
        },
        "history": [],
    });
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn a_question_waits_for_its_answer_and_the_command_is_run_anew() {
    let script = format!(
        r#"case "$SWITCHBOARD_MESSAGE" in
            *blue*) {TELL} ;;
            *) echo '{{"type":"ask","text":"which colour?"}}'; exit 5 ;;
        esac"#
    );
    let line = line(speaking(&script));
    let ask = async || {
        let task = line.send(says("paint")).await.unwrap();
        assert_eq!(state(&task), TaskState::InputRequired, "{}", said(&task));
        assert_eq!(said(&task), "which colour?");
        task
    };
    // Clients may give the same id to several messages.
    for id in ["m-blue", "m-paint"] {
        let answer = Message {
            id: MessageId::new(id).unwrap(),
            task_id: Some(ask().await.id.clone()),
            ..says("blue")
        };
        let task = line.send(answer).await.unwrap();
        assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
        let history = json!([
            { "role": "user", "text": "paint" },
            { "role": "agent", "text": "which colour?" },
        ]);
        assert_eq!(told(&task)["history"], history, "{id}");
    }
}

#[tokio::test]
async fn a_command_can_say_that_it_failed() {
    let script = r#"echo '{"type":"fail","text":"no paint left"}'"#;
    let task = line(speaking(script)).send(says("go")).await.unwrap();
    assert_eq!(state(&task), TaskState::Failed);
    assert_eq!(said(&task), "no paint left");
}

#[tokio::test]
async fn a_line_that_is_something_else_fails_the_task() {
    for (said_line, why) in [
        ("hello", "line 2 of the command's output is not valid JSON"),
        ("[1]", "must be an object"),
        (r#"{"type":"dance"}"#, "unknown variant `dance`"),
        (r#"{"text":"x"}"#, "missing field `type`"),
        (r#"{"type":"artifact"}"#, "without text or parts"),
        (r#"{"type":"artifact","parts":[{}]}"#, "exactly one of"),
        (r#"{"type":"artifact","parts":[{"raw":"-"}]}"#, "base64"),
        (r#"{"type":"artifact","id":"","text":"x"}"#, "an invalid id"),
        (r#"{"type":"status","text":"\ud800"}"#, "surrogate"),
    ] {
        let status = r#"{"type":"status","text":"x"}"#;
        let script = format!("echo '{status}'; printf '%s\\n' '{said_line}'; sleep 1000");
        let task = line(speaking(&script)).send(says("go")).await.unwrap();
        assert_eq!(state(&task), TaskState::Failed, "{said_line}");
        assert!(said(&task).contains(why), "{said_line}: {}", said(&task));
    }
}

#[tokio::test]
async fn who_says_that_it_is_done_and_stays_is_stopped() {
    let script = r#"printf '{"type":"done","text":"%s"}\n' $$; exec sleep 1000"#;
    let task = line(speaking(script)).send(says("go")).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed);
    endings::gone(&said(&task)).await;
}
