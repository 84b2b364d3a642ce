//! How the socket to a gateway is kept: opened again when it is lost, and left when the process ends.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use switchboard_types::backoff::{Backoff, jittered};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::gateway::Gateway;
use super::line::Line;
use super::refused::Refused;
use super::serve::Serving;
use super::socket::Socket;
use crate::fetch::place;

/// How soon a gateway is looked for again; each pause is twice the last.
pub(super) const AGAIN: Duration = Duration::from_millis(500);
/// How often a gateway is looked for at most by who cannot do without.
pub(super) const INSISTENCE: Duration = Duration::from_secs(2);

impl Gateway {
    /// Keeps the socket open until `stop`, and as long after that as runs are listened to.
    pub async fn keep(&self, stop: &CancellationToken) {
        let url = place(self.place.url.as_str());
        let mut failed: u32 = 0;
        let mut warned = None;
        while !stop.is_cancelled() || self.is_listened_to() {
            let token = self.place.token.reveal();
            let opened = tokio::select! {
                opened = Socket::open(&self.http, &self.place.url, token, &self.device) => opened,
                () = self.needless(stop) => return,
            };
            let opened = opened.map_err(|refused| refused.told_by(|text| self.quote(text)));
            let pause = match opened {
                Ok((socket, hello)) => {
                    let version = hello.version.as_str();
                    tracing::info!(url, version, "OpenClaw gateway connected");
                    (failed, warned) = (0, None);
                    let hello = Arc::new(hello);
                    let (line, given) = Line::new(Arc::clone(&hello));
                    self.tell(Ok(line));
                    let serving = Serving::new(self, given, &hello);
                    let why = serving.until_lost(socket, stop).await;
                    tracing::info!(url, reason = why, "OpenClaw gateway disconnected");
                    jittered(AGAIN / 2)
                }
                Err(refused) => {
                    if warned.as_ref() != Some(&refused) {
                        let device = self.device.id();
                        tracing::warn!(
                            url,
                            device,
                            error = %refused,
                            "could not connect to the OpenClaw gateway, will retry"
                        );
                        warned = Some(refused.clone());
                    }
                    failed = failed.saturating_add(1);
                    let pause = pause(&refused, failed);
                    self.tell(Err(refused));
                    pause
                }
            };
            let pause = match stop.is_cancelled() {
                // There is not much time left.
                true => pause.min(INSISTENCE),
                false => pause,
            };
            tokio::select! {
                () = stop.cancelled(), if !stop.is_cancelled() => {}
                () = sleep(pause) => {}
                // Somebody needs it now.
                () = self.wake.notified() => {}
            }
        }
    }

    /// Ends if nobody listens any more when the process is to end.
    async fn needless(&self, stop: &CancellationToken) {
        stop.cancelled().await;
        if self.is_listened_to() {
            pending::<()>().await;
        }
    }
}

/// How long to wait: with backoff, or as long as the gateway says, if it does.
fn pause(refused: &Refused, failed: u32) -> Duration {
    match refused {
        Refused::Starting(Some(asked)) => (*asked).min(refused.patience()).max(AGAIN / 5),
        _ => Backoff::new(AGAIN, refused.patience()).delay_after(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_by_chance_and_end_where_there_is_hope() {
        let away = Refused::Away(String::new());
        for (refused, failed, most) in [
            (away.clone(), 1, 500),
            (away.clone(), 2, 1000),
            (away.clone(), 5, 8000),
            (away, 60, 30_000),
            (Refused::Unpaired(None), 60, 15_000),
            (Refused::Token, 60, 60_000),
        ] {
            let most = Duration::from_millis(most);
            let got = pause(&refused, failed);
            assert!(
                got >= most / 2 && got <= most,
                "{refused:?} {failed}: {got:?}"
            );
        }
        let said = Refused::Starting(Some(Duration::from_millis(700)));
        assert_eq!(pause(&said, 9), Duration::from_millis(700));
    }
}
