//! Which traces are recorded: `OTEL_TRACES_SAMPLER`.

use switchboard_server::trace::TraceId;

/// Decides which traces are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sampler {
    /// What a caller has decided counts.
    by_parent: bool,
    /// Which of the others, from 0 to 1.
    ratio: f64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            by_parent: true,
            ratio: 1.0,
        }
    }
}

impl Sampler {
    /// Reads a name and an argument; `None` if they are not known.
    pub(super) fn read(name: &str, argument: Option<&str>) -> Option<Self> {
        let (by_parent, rest) = match name.strip_prefix("parentbased_") {
            Some(rest) => (true, rest),
            None => (false, name),
        };
        let ratio = match rest {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => match argument {
                None => 1.0,
                Some(text) => text
                    .trim()
                    .parse()
                    .ok()
                    .filter(|r| (0.0..=1.0).contains(r))?,
            },
            _ => return None,
        };
        Some(Self { by_parent, ratio })
    }

    pub(super) fn samples(&self, trace: TraceId, parent: Option<bool>) -> bool {
        if let Some(decided) = parent.filter(|_| self.by_parent) {
            return decided;
        }
        // The same for everyone who sees the trace: its id decides.
        let place = (trace.low() >> 1) as f64 / (u64::MAX >> 1) as f64;
        self.ratio >= 1.0 || place < self.ratio
    }
}

#[cfg(test)]
mod tests {
    use switchboard_server::trace::Trace;

    use super::*;

    fn share(sampler: Sampler, parent: Option<bool>) -> f64 {
        let sampled = (0..2000).filter(|_| sampler.samples(Trace::begin().id(), parent));
        f64::from(u32::try_from(sampled.count()).unwrap()) / 2000.0
    }

    #[test]
    fn samplers_are_those_of_the_standard_variables() {
        let read = |name, argument| Sampler::read(name, argument).unwrap();
        assert_eq!(share(Sampler::default(), None), 1.0);
        assert_eq!(share(Sampler::default(), Some(false)), 0.0);
        assert_eq!(share(read("always_on", None), Some(false)), 1.0);
        assert_eq!(share(read("always_off", None), Some(true)), 0.0);
        assert_eq!(share(read("parentbased_always_off", None), Some(true)), 1.0);
        let some = share(read("traceidratio", Some("0.25")), None);
        assert!((0.15..0.35).contains(&some), "{some}");
        assert_eq!(
            share(read("parentbased_traceidratio", Some("0")), None),
            0.0
        );
        for (name, argument) in [("sometimes", None), ("traceidratio", Some("2"))] {
            assert_eq!(Sampler::read(name, argument), None);
        }
    }
}
