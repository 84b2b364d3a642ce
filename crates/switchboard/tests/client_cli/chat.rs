//! `chat`

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::agent::{Agent, interrupt};

#[tokio::test]
async fn a_conversation_goes_on_and_questions_are_answered() {
    let agent = Agent::start().await;
    let ran = agent.fed(&["chat"], "hello\nask me\nthe red one\n").await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.out,
        "You said: hello\nWhich one?\nYou said the red one.\n"
    );
    assert!(
        ran.err.contains("Resume: switchboard chat -a "),
        "{}",
        ran.err
    );
    let context = ran.err.trim_end().rsplit(' ').next().unwrap();
    let listed = agent.json(&["task", "list", "--context-id", context]).await;
    assert_eq!(listed["totalSize"], 2, "{listed}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_chat_ends_at_once_and_tells_how_to_come_back() {
    let agent = Agent::start().await;
    let mut chat = agent.spawn(&["chat"]);
    let mut stdin = chat.stdin.take().unwrap();
    stdin.write_all(b"hello\n").await.unwrap();
    let mut said = BufReader::new(chat.stdout.take().unwrap()).lines();
    let answer = said.next_line().await.unwrap();
    assert_eq!(answer.as_deref(), Some("You said: hello"));
    interrupt(&chat).await;
    let output = chat.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("Resume: switchboard chat -a "), "{told}");
    // It was still open: the chat did not end because nobody wrote any more.
    drop(stdin);
}
