//! How long, how hard, and by which dice.

use std::env;
use std::time::Duration;

/// The seed of the test; the long mode brings its own.
const SEED: u64 = 20_260_417;
/// How long the test keeps killing.
const SECONDS: u64 = 8;

/// What a run does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// All dice are thrown from it.
    pub(crate) seed: u64,
    /// How long the server is killed again and again.
    pub(crate) killing: Duration,
    /// How many clients of each kind there are.
    pub(crate) crowd: u64,
}

impl Plan {
    /// From `SWITCHBOARD_CRASH_{SECONDS,SEED,CROWD}`, or the short one of the test.
    pub(crate) fn from_env() -> Self {
        let number = |name: &str, usual: u64| match env::var(format!("SWITCHBOARD_CRASH_{name}")) {
            Ok(text) => text.parse().expect("a number"),
            Err(_) => usual,
        };
        Self {
            seed: number("SEED", SEED),
            killing: Duration::from_secs(number("SECONDS", SECONDS)),
            crowd: number("CROWD", 2),
        }
    }
}

/// Dice that fall the same way for the same seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice for one of many throwers.
    pub(crate) fn new(seed: u64, thrower: u64) -> Self {
        let mut dice = Self(seed ^ thrower.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.roll();
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// True `percent` times out of a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let count = u64::try_from(from.len()).expect("a short list");
        let index = usize::try_from(self.below(count)).expect("an index");
        from[index]
    }

    /// Up to so many milliseconds.
    pub(crate) fn millis(&mut self, end: u64) -> Duration {
        Duration::from_micros(self.below(end * 1000))
    }
}
