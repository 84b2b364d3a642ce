//! Timestamps in every answer.

use std::time::SystemTime;

use switchboard_types::model::Timestamp;

use super::everything::every;
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, weak};
use crate::probe::Probe;
use crate::shape::Kind;

/// How far a new status may be from our clock. Clocks differ by less, time zones by more.
const MAX_CLOCK_DIFFERENCE: i64 = 20 * 60 * 1_000_000;

pub(super) static CHECKS: [Check; 1] = [Check {
    id: "S-065",
    level: Must,
    clause: "§5.6.1",
    title: "timestamps are ISO 8601 in UTC, with Z",
    hint: "write 2026-01-31T12:00:00.000Z, never an offset",
    run: Run::Link(&[Need::Json], |p| Box::pin(timestamps(p))),
}];

async fn timestamps(p: &Probe) -> Found {
    every(p, |kind, object| {
        let time = object.get("timestamp").filter(|_| kind == Kind::Status)?;
        let text = time.as_str().unwrap_or_default();
        let right = is_utc(text) && Timestamp::parse(text).is_ok();
        (!right).then(|| format!("timestamp is {time}"))
    })
    .await?;
    on_time(p).await
}

/// The form that ProtoJSON has for a moment: `T` between date and time, and `Z`.
fn is_utc(text: &str) -> bool {
    text.ends_with('Z') && text.len() >= 20 && text.as_bytes().get(10) == Some(&b'T')
}

/// A status that was just set is of now: local time that is called UTC is hours away.
pub(super) async fn on_time(p: &Probe) -> Found {
    let Ok(sent) = p.answered().await else {
        return Ok(());
    };
    let Some(time) = sent
        .task
        .as_ref()
        .and_then(|task| task["status"]["timestamp"].as_str())
    else {
        return Ok(());
    };
    let Ok(moment) = Timestamp::parse(time) else {
        return Ok(());
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the agent's clock is compared with ours"
    )]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = i64::try_from(now.unwrap_or_default().as_micros()).unwrap_or(i64::MAX);
    let away = (moment.as_micros() - now).abs();
    if away > MAX_CLOCK_DIFFERENCE {
        let why = format!("a status of just now has the timestamp {time}");
        return Err(weak(why, &sent.answer.exchange)
            .hinting("write the time in UTC, and look at the clock of the agent's machine"));
    }
    Ok(())
}
