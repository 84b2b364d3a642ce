//! Reads again and again what an upstream says about itself: its card, its assistants.

use std::time::Duration;

use switchboard_types::backoff::Backoff;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Backoff after a failure: starts here, doubles, and stays at the second. The interval is longer as a rule, and an
/// upstream that comes back should not wait for it.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Calls `read` every `interval`, and sooner after a failure, until `stop` is canceled. `report` gets the first error of
/// each outage only, so that a long one does not fill the log.
pub async fn refresh<R: Future<Output = Result<(), E>>, E>(
    interval: Duration,
    stop: &CancellationToken,
    read: impl Fn() -> R,
    report: impl Fn(&E),
) {
    let mut backoff = Backoff::new(
        FIRST_RETRY_DELAY.min(interval),
        MAX_RETRY_DELAY.min(interval),
    );
    let refreshing = async {
        loop {
            let delay = match read().await {
                Ok(()) => {
                    backoff.reset();
                    interval
                }
                Err(error) => {
                    if backoff.failures() == 0 {
                        report(&error);
                    }
                    backoff.next_delay()
                }
            };
            sleep(delay).await;
        }
    };
    stop.run_until_cancelled(refreshing).await;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::Instant;

    use super::*;

    /// When each read began, in seconds, and what was reported; the reads end with these, then the upstream is up.
    async fn reads(outcomes: &[Result<(), &'static str>]) -> (Vec<f64>, Vec<&'static str>) {
        let (stop, start) = (CancellationToken::new(), Instant::now());
        let (times, reported) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let read = || async {
            times.borrow_mut().push(start.elapsed().as_secs_f64());
            match outcomes.get(times.borrow().len() - 1) {
                Some(outcome) => *outcome,
                None => {
                    stop.cancel();
                    Ok(())
                }
            }
        };
        let report = |error: &&'static str| reported.borrow_mut().push(*error);
        refresh(Duration::from_secs(60), &stop, read, report).await;
        (times.into_inner(), reported.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_be_read_is_read_every_interval() {
        let (times, reported) = reads(&[Ok(()), Ok(())]).await;
        let times: Vec<f64> = times.iter().map(|time| time.round()).collect();
        assert_eq!(times, [0.0, 60.0, 120.0]);
        assert_eq!(reported, Vec::<&str>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_retried_sooner_and_reported_once() {
        let outage = [Err("one"), Err("two"), Err("three"), Ok(()), Err("four")];
        let (times, reported) = reads(&outage).await;
        assert_eq!(reported, ["one", "four"]);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (gap, longest) in gaps.iter().zip([1.0, 2.0, 4.0]) {
            assert!((longest / 2.0..longest + 0.01).contains(gap), "{gaps:?}");
        }
        assert!((59.9..60.1).contains(&gaps[3]), "{gaps:?}");
        assert!(gaps[4] <= 1.01, "after a success it starts over: {gaps:?}");
    }
}
