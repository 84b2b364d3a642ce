//! `chat`

use crate::agent::Agent;

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
