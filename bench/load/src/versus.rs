//! Two servers' runs of the same load, round by round.

use std::fmt;

use crate::report::median;
use crate::wrk::Outcome;

/// A figure of a run.
pub type Figure = fn(&Outcome) -> f64;

pub const PER_SECOND: Figure = |run| run.requests as f64 / run.seconds;
pub const P50: Figure = |run| run.p50_us;
pub const P99: Figure = |run| run.p99_us;
pub const CPU: Figure = |run| run.cpu_us;

/// The runs of both, in the same order.
#[derive(Debug, Clone, Copy)]
pub struct Versus<'a> {
    pub ours: &'a [Outcome],
    pub bare: &'a [Outcome],
}

/// The ratios of all rounds.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    pub middle: f64,
    least: f64,
    most: f64,
}

impl Versus<'_> {
    /// Ours over bare, each round by itself.
    pub fn ratio(&self, figure: Figure) -> Ratio {
        let pairs = self.ours.iter().zip(self.bare);
        let ratios: Vec<f64> = pairs
            .map(|(ours, bare)| figure(ours) / figure(bare))
            .collect();
        Ratio {
            middle: median(ratios.iter().copied()),
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The middle of ours, and of the bare server's.
    pub fn middles(&self, figure: Figure) -> [f64; 2] {
        [self.ours, self.bare].map(|runs| median(runs.iter().map(figure)))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "**{:.2}** ({:.2}–{:.2})",
            self.middle, self.least, self.most
        )
    }
}
