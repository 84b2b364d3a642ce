//! An agent that counts words: `cargo run -p switchboard-server --example counter -- --data data`.

#![expect(clippy::print_stdout, reason = "its address goes there")]

use std::time::Duration;

use serde_json::Value;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Said, Turn};
use switchboard_server::types::model::{AgentCard, Artifact, ArtifactId, Part, Skill};
use switchboard_server::{Server, async_trait};

/// Counts the words in each line of a message.
#[derive(Debug)]
struct Counter {
    /// How long it rests after each line.
    pause: Duration,
}

#[async_trait]
impl Agent for Counter {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let text = turn.message.text();
        if text.trim().is_empty() {
            // The task waits; the answer is the message of its next turn.
            let question = Said::text("Which text shall I count?");
            return Ok(Outcome::InputRequired(question));
        }
        // The result of the work is a step: durable, so that a restart does not repeat the work.
        let counts = match turn.last_step("counts").await? {
            Some(recorded) => recorded,
            None => {
                let counts: Value = text.lines().map(|l| l.split_whitespace().count()).collect();
                progress.record("counts", counts.clone()).await?;
                counts
            }
        };
        let counts: Vec<u64> = serde_json::from_value(counts).unwrap_or_default();
        // Each line is one event, so a turn that a restart cut off continues after those it had stored.
        let stored = usize::try_from(turn.emitted).unwrap_or(usize::MAX);
        for (at, words) in counts.iter().enumerate().skip(stored) {
            let line = Part::text(format!("line {}: {words} words\n", at + 1));
            let (append, last) = (at > 0, at + 1 == counts.len());
            progress.chunk(report(line)?, append, last).await?;
            tokio::time::sleep(self.pause).await;
        }
        let total: u64 = counts.iter().sum();
        Ok(Outcome::Completed(Said::text(format!("{total} words"))))
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }
}

/// A piece of the artifact.
fn report(line: Part) -> Result<Artifact, AgentError> {
    let id = ArtifactId::new("report").map_err(|error| AgentError::new(error.to_string()))?;
    Ok(Artifact::new(id, vec![line]))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::builder();
    let mut pause = Duration::ZERO;
    let mut args = std::env::args().skip(1);
    while let (Some(flag), Some(value)) = (args.next(), args.next()) {
        match flag.as_str() {
            "--listen" => server = server.listen(value),
            "--data" => server = server.data(value),
            "--pause" => pause = Duration::from_millis(value.parse()?),
            _ => return Err(format!("unknown option {flag}").into()),
        }
    }
    let skill = Skill::new("count", "Count words", "Counts the words of each line");
    let card = AgentCard::new("Counter", "Counts words").with_skill(skill.with_tags(["text"]));
    let server = server.agent("counter", card, Counter { pause });
    let server = server.bind().await?;
    println!("http://{}/a2a/counter", server.local_addr());
    Ok(server.serve().await?)
}
