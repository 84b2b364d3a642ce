//! Asks an agent and follows its answer: `cargo run --example ask -- localhost:7420 "rivers in 3 chunks"`.

#![expect(clippy::print_stdout, reason = "the answer goes there")]

use switchboard_client::{Client, answer_text, text};
use switchboard_types::model::Event;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (host, question) = (
        args.next().unwrap_or_default(),
        args.next().unwrap_or_default(),
    );
    let agent = Client::connect(host).await?;
    let mut events = agent.stream(text(question)).await?;
    while let Some(item) = events.next().await {
        if let Event::Status(update) = &item?.event {
            eprintln!("{}", update.status.state.name());
        }
    }
    println!("{}", answer_text(&events.finish().await?));
    Ok(())
}
