//! `switchboard deliveries`: webhooks that fail, and those that were given up. Reads the store beside a
//! running server.

use std::fmt::Write;

use serde_json::json;
use switchboard_server::task::{DeadLetter, Webhook};
use switchboard_types::model::Timestamp;
use switchboard_types::printable;

use super::args::{DeliveriesArgs, Global, name_dir};
use super::{Failure, block_on, out};
use crate::app;
use crate::config::Env;

pub(super) fn run(args: &DeliveriesArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let mut text = String::new();
    block_on(async {
        let (late, dead) = app::deliveries(&config).await?;
        let json = args.kept.json();
        if !args.dead {
            late.iter()
                .try_for_each(|w| show_late(w, json, &mut text))?;
        }
        dead.iter()
            .try_for_each(|d| show_dead(d, json, &mut text))?;
        if text.is_empty() {
            name_dir(&config)?;
            text.push_str(if json { "" } else { "no delivery fails\n" });
        }
        Ok(())
    })?;
    out(format_args!("{text}")).map_err(Failure::failed)
}

fn show_late(webhook: &Webhook, json: bool, text: &mut String) -> std::fmt::Result {
    let delivery = &webhook.delivery;
    let url = without_query(&webhook.config.url);
    let error = delivery.last_error.as_deref().unwrap_or_default();
    let retry_at = delivery.retry_at.as_ref().map(Timestamp::to_string);
    if json {
        let line = json!({
            "state": "failing", "taskId": webhook.task.as_str(), "configId": webhook.id.as_str(),
            "event": delivery.delivered + 1, "url": url, "attempts": delivery.attempts,
            "error": error, "retryAt": retry_at,
        });
        return writeln!(text, "{line}");
    }
    let (url, error) = (printable::line(url), printable::line(error));
    writeln!(
        text,
        "failing  task {} event {} to {url}: {error} ({} attempts, again at {})",
        printable::line(webhook.task.as_str()),
        delivery.delivered + 1,
        delivery.attempts,
        retry_at.as_deref().unwrap_or("once"),
    )
}

fn show_dead(letter: &DeadLetter, json: bool, text: &mut String) -> std::fmt::Result {
    let url = without_query(&letter.url);
    if json {
        let line = json!({
            "state": "dead", "taskId": letter.task.as_str(), "configId": letter.webhook.as_str(),
            "event": letter.seq, "url": url, "attempts": letter.attempts,
            "error": letter.error, "at": letter.at.to_string(),
        });
        return writeln!(text, "{line}");
    }
    let task = printable::line(letter.task.as_str());
    let (url, error) = (printable::line(url), printable::line(&letter.error));
    writeln!(
        text,
        "dead     task {task} event {} to {url}: {error} ({} attempts, dead letter since {})",
        letter.seq, letter.attempts, letter.at,
    )
}

/// A URL as it may be shown: its query may hold a secret.
fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}
