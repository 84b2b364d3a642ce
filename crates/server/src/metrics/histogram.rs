//! How often something took how long, or was how large.

use std::time::Duration;

use super::Counter;

/// Seconds, for what takes a network and a model. They double, as conventions for agents have it.
pub(super) const SECONDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 5.12, 20.48, 81.92, 600.0,
];
/// Seconds, for models and agents behind an agent, as the conventions have them.
pub(super) const LONG_SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// Tokens of models, as the conventions have them.
pub(super) const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// Seconds, for a commit: from a page in memory to a disk in trouble.
pub(super) const COMMIT_SECONDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];
/// Agents on the hop path of a call.
pub(super) const DEPTHS: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 10.0];

/// Counts by bounds; the last place is for what is beyond all of them.
#[derive(Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    counts: Box<[Counter]>,
    /// In millionths.
    sum: Counter,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| Counter::default()).collect(),
            sum: Counter::default(),
        }
    }

    pub(super) fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.count(time.as_secs_f64(), micros);
    }

    pub(super) fn was(&self, number: usize) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.count(f64::from(number), u64::from(number) * 1_000_000);
    }

    fn count(&self, value: f64, millionths: u64) {
        let place = self.bounds.iter().position(|bound| value <= *bound);
        let place = place.unwrap_or(self.bounds.len());
        if let Some(counter) = self.counts.get(place) {
            counter.add(1);
        }
        self.sum.add(millionths);
    }

    /// The bounds and how much is at or below them, then all.
    pub(super) fn read(&self) -> (Vec<(f64, u64)>, u64, f64) {
        let mut below = 0;
        let mut counts = Vec::with_capacity(self.bounds.len());
        for (bound, counter) in self.bounds.iter().zip(&self.counts) {
            below += counter.get();
            counts.push((*bound, below));
        }
        let beyond = self.counts.last().map_or(0, Counter::get);
        (counts, below + beyond, self.sum.get() as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_at_their_bounds_and_add_up() {
        let histogram = Histogram::new(&DEPTHS);
        for depth in [1, 2, 2, 11] {
            histogram.was(depth);
        }
        let (counts, all, sum) = histogram.read();
        let below: Vec<u64> = counts.iter().map(|(_, below)| *below).collect();
        assert_eq!(below, [1, 3, 3, 3, 3, 3]);
        assert_eq!((all, sum), (4, 16.0));
        let times = Histogram::new(&SECONDS);
        times.took(Duration::from_micros(1500));
        assert_eq!(times.read().0[..2], [(0.001, 0), (0.0025, 1)]);
    }
}
