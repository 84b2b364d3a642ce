//! The agents that come with Switchboard, and the one for the conformance kit.

use switchboard_types::model::Json;

use super::super::{AgentFile, builtin};
use super::*;

fn agent(name: &str) -> Play {
    let agents = builtin::agents().unwrap();
    let agent = agents.into_iter().find(|agent| agent.name == name);
    Play::new(agent.unwrap().script)
}

fn tck() -> AgentFile {
    let file = include_str!("../../../../../conformance/agents/tck.yaml");
    AgentFile::parse(file).unwrap()
}

#[test]
fn every_agent_has_a_full_card() {
    let agents = builtin::agents().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["echo", "research", "approver", "flaky", "desk"]);
    let tck = tck();
    let mut profiles: Vec<_> = agents.iter().map(|agent| &agent.profile).collect();
    profiles.push(&tck.profile);
    for profile in profiles {
        assert!(profile.name.is_some() && !profile.description.is_empty());
        assert!(!profile.skills.is_empty());
        for skill in &profile.skills {
            assert!(!skill.tags.is_empty() && !skill.examples.is_empty());
        }
    }
    for called in agents.iter().flat_map(|agent| agent.script.calls()) {
        assert!(names.contains(&called), "{called}");
    }
}

#[tokio::test(start_paused = true)]
async fn echo_gives_everything_back() {
    let data = Part::data(Json::parse("{}").unwrap());
    let play = agent("echo").parts(vec![Part::text("one two"), data]);
    let played = play.run().await;
    assert_eq!(
        played.events,
        ["echo one ", "echo+. two", "attachments. {}"]
    );
    assert_eq!(played.end, "completed");
    play.resumes_anywhere().await;
}

#[tokio::test(start_paused = true)]
async fn research_takes_about_half_a_minute() {
    let played = agent("research").text("why is the sky blue").run().await;
    assert_eq!(played.took, Duration::from_secs(26));
    assert_eq!(played.events.len(), 16);
    assert_eq!(played.events[3], "report # why is the sky blue\n\n");
    assert!(played.events[15].starts_with("report+. 12. "), "{played:?}");
}

#[tokio::test(start_paused = true)]
async fn research_takes_as_long_as_it_is_told() {
    let play = agent("research");
    for (text, chunks, millis) in [
        ("rivers in 5 chunks", 5, 12_000),
        ("rivers, in 40 chunks every 250ms.", 40, 12_000),
        ("rivers: 1 chunk every 1s", 1, 3_000),
        ("5 chunks", 5, 12_000),
    ] {
        let played = play.clone().text(text).run().await;
        assert_eq!(played.took.as_millis(), millis, "{text}");
        assert_eq!(played.events.len(), chunks + 4, "{text}");
        assert!(!played.events[0].contains("chunk"), "{played:?}");
    }
    play.text("rivers in 3 chunks").resumes_anywhere().await;
}

#[tokio::test(start_paused = true)]
async fn approver_goes_by_the_answer() {
    let play = agent("approver").text("buy chairs");
    let asked = play.run().await;
    assert!(
        asked
            .end
            .starts_with("input-required: Do you approve this? “buy chairs”"),
        "{asked:?}"
    );
    assert!(asked.end.contains(r#""requestId":"t1-1""#), "{asked:?}");
    let again = play.after(vec![user("m1", vec![Part::text("buy chairs")])]);
    for (answer, end) in [
        ("yes", "completed: Approved."),
        ("OK, go ahead", "completed: Approved."),
        ("no", "rejected: Not approved: no"),
        (
            "I do not approve",
            "rejected: Not approved: I do not approve",
        ),
    ] {
        assert_eq!(again.clone().text(answer).run().await.end, end);
    }
    let end = again.text("perhaps").run().await.end;
    assert!(
        end.starts_with("input-required: “perhaps” is neither"),
        "{end}"
    );
}

#[tokio::test(start_paused = true)]
async fn flaky_goes_wrong_as_asked() {
    let play = agent("flaky");
    for (text, events, end) in [
        ("fail", 0, "failed: failed, as asked"),
        ("fail after 3", 3, "failed: failed after 3 pieces, as asked"),
        ("please reject this", 0, "rejected: Refused, as asked."),
        ("delay 5s", 0, "completed: Answered after 5s."),
        ("hang", 1, "failed: waited for an hour"),
        (
            "auth",
            0,
            "auth-required: Sign in first, then send another message to this task.",
        ),
        ("work", 0, "completed: Worked this time: work"),
    ] {
        let played = play.clone().text(text).run().await;
        assert_eq!((played.events.len(), played.end.as_str()), (events, end));
    }
}

#[tokio::test(start_paused = true)]
async fn desk_asks_those_who_know() {
    let done = |name: &str| {
        vec![
            begun(),
            made(name, name, false),
            stands(TaskState::Completed, ""),
        ]
    };
    let helpers = || {
        Agents::default()
            .agent("echo", done("echoed"))
            .agent("research", done("found"))
            .agent("flaky", vec![begun(), stands(TaskState::Failed, "broken")])
            .agent(
                "approver",
                vec![begun(), stands(TaskState::InputRequired, "ok?")],
            )
    };
    let play = agent("desk").agents(helpers());
    let played = play.clone().text("plan a team lunch").run().await;
    assert_eq!(played.events.last().unwrap(), "plan. echoed + found");
    let asked = play.agents.asked.lock().join("\n");
    assert!(
        asked.contains(": plan a team lunch in 4 chunks every 400ms"),
        "{asked}"
    );
    play.clone()
        .text("plan a team lunch")
        .resumes_anywhere()
        .await;

    let played = play.clone().text("order chairs").run().await;
    assert!(played.end.starts_with("input-required: ok?"), "{played:?}");
    let played = play.clone().text("something risky").run().await;
    assert_eq!(played.end, "failed: flaky: broken");
    let played = play.run().await;
    assert_eq!(played.events, ["working: passed to echo", "answer. echoed"]);
}

#[tokio::test(start_paused = true)]
async fn tck_behaves_as_the_kit_expects() {
    let file = tck();
    assert!(file.profile.reply_message());
    let play = Play::new(file.script);
    for (id, events, end) in [
        (
            "tck-stream-001",
            "output. Stream hello from TCK",
            "completed",
        ),
        ("tck-stream-002-x", "", "completed"),
        (
            "tck-stream-003",
            "output. Stream task lifecycle",
            "completed",
        ),
        (
            "tck-stream-ordering-001",
            "output. Ordered output",
            "completed",
        ),
        (
            "tck-stream-artifact-text",
            "output. Streamed text content",
            "completed",
        ),
        (
            "tck-stream-artifact-file",
            "output. raw(tck) text/plain output.txt",
            "completed",
        ),
        (
            "tck-stream-artifact-chunked",
            "output chunk-1 |output+. chunk-2",
            "completed",
        ),
        (
            "tck-artifact-text-1",
            "output. Generated text content",
            "completed",
        ),
        (
            "tck-artifact-file-url-1",
            "output. url(https://example.com/output.txt) text/plain output.txt",
            "completed",
        ),
        (
            "tck-artifact-file-1",
            "output. raw(tck) text/plain output.txt",
            "completed",
        ),
        (
            "tck-artifact-data-1",
            r#"output. {"key":"value","count":42}"#,
            "completed",
        ),
        ("tck-complete-task", "", "completed: Hello from TCK"),
        ("tck-message-response", "", "reply: Direct message response"),
        (
            "tck-input-required",
            "",
            "input-required: More input is required",
        ),
        (
            "tck-auth-required",
            "",
            "auth-required: Authentication is required",
        ),
        ("tck-reject-task", "", "rejected: rejected"),
        (
            "tck-delayed-complete",
            "",
            "completed: Completed after a delay",
        ),
        ("tck-anything", "", "completed: done"),
        ("test-state-message-id-1", "", "input-required: What next?"),
        ("test-send-message-id-1", "", "input-required: What next?"),
        ("m", "", "input-required: What next?"),
    ] {
        let played = play.clone().id(id).run().await;
        assert_eq!(
            (played.events.join("|").as_str(), played.end.as_str()),
            (events, end),
            "{id}"
        );
    }
    let played = play.clone().id("test-resubscribe-message-id-1").run().await;
    assert_eq!(played.events.len(), 9);
    assert_eq!(played.took, Duration::from_millis(4500));
    assert_eq!(
        play.id("tck-delayed-complete").run().await.took,
        Duration::from_secs(2)
    );
}
