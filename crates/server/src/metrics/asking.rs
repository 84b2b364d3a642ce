//! What agents ask of what stands behind them: how long it took, and how many tokens it cost.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::histogram::{Histogram, LONG_SECONDS, TOKENS};
use super::text::Lines;

/// How many kinds of things one agent's numbers are told apart by. Models are named by operators, who may change them as
/// often as they like.
const MOST: usize = 16;
/// What the model of all others is called.
const OTHER: &str = "other";

/// As what something is counted that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asking {
    /// An operation of an A2A agent.
    A2a(&'static str),
    /// An operation of the conventions for models and agents, and the model.
    GenAi(&'static str, Box<str>),
}

impl Asking {
    pub(crate) fn gen_ai(operation: &'static str, model: &str) -> Self {
        Self::GenAi(operation, model.into())
    }
}

/// The numbers of one agent, by what it asks for. There are none for an agent that asks for nothing.
#[derive(Debug, Default)]
pub(super) struct Asked(Mutex<BTreeMap<Asking, Numbers>>);

#[derive(Debug)]
struct Numbers {
    took: Histogram,
    /// In and out.
    tokens: [Histogram; 2],
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            took: Histogram::new(&LONG_SECONDS),
            tokens: [Histogram::new(&TOKENS), Histogram::new(&TOKENS)],
        }
    }
}

impl Asked {
    pub(super) fn count(&self, asking: &Asking, took: Duration, tokens: [Option<u64>; 2]) {
        let mut known = self.0.lock();
        let numbers = match (known.contains_key(asking), asking) {
            (false, Asking::GenAi(operation, _)) if known.len() >= MOST => {
                known.entry(Asking::gen_ai(operation, OTHER))
            }
            _ => known.entry(asking.clone()),
        };
        let numbers = numbers.or_default();
        numbers.took.took(took);
        for (histogram, tokens) in numbers.tokens.iter().zip(tokens) {
            if let Some(tokens) = tokens {
                histogram.was(usize::try_from(tokens).unwrap_or(usize::MAX));
            }
        }
    }
}

/// Writes the numbers of all agents.
pub(super) fn write<'a>(
    agents: impl Iterator<Item = (&'a str, &'a Asked)> + Clone,
    out: &mut Lines,
) {
    let name = "a2a_client_operation_duration_seconds";
    out.series(name, "histogram", "Duration of calls to remote A2A agents.");
    each(agents.clone(), |agent, asking, numbers| {
        if let Asking::A2a(operation) = asking {
            let labels = [("agent", agent), ("operation", *operation)];
            out.histogram(name, &labels, &numbers.took);
        }
    });
    let name = "gen_ai_client_operation_duration_seconds";
    out.series(
        name,
        "histogram",
        "Duration of calls to models and to agents of other protocols.",
    );
    each(agents.clone(), |agent, asking, numbers| {
        if let Asking::GenAi(operation, model) = asking {
            let labels = [
                ("agent", agent),
                ("operation", *operation),
                ("model", &**model),
            ];
            out.histogram(name, &labels, &numbers.took);
        }
    });
    let name = "gen_ai_client_token_usage";
    out.series(
        name,
        "histogram",
        "Tokens of one call to a model, by token type.",
    );
    each(agents, |agent, asking, numbers| {
        if let Asking::GenAi(operation, model) = asking {
            for (kind, tokens) in ["input", "output"].into_iter().zip(&numbers.tokens) {
                let labels = [
                    ("agent", agent),
                    ("operation", *operation),
                    ("model", &**model),
                    ("token_type", kind),
                ];
                out.histogram(name, &labels, tokens);
            }
        }
    });
}

fn each<'a>(
    agents: impl Iterator<Item = (&'a str, &'a Asked)>,
    mut told: impl FnMut(&'a str, &Asking, &Numbers),
) {
    for (agent, asked) in agents {
        let known = asked.0.lock();
        for (asking, numbers) in &*known {
            told(agent, asking, numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_apart_as_long_as_they_are_few() {
        let asked = Asked::default();
        let second = Duration::from_secs(1);
        for model in 0..100 {
            let asking = Asking::gen_ai("chat", &format!("m{model}"));
            asked.count(&asking, second, [Some(3), Some(300)]);
        }
        asked.count(&Asking::gen_ai("chat", "m1"), second, [None, None]);
        asked.count(&Asking::A2a("GetTask"), second, [None, None]);
        let mut out = Lines::default();
        write(std::iter::once(("a", &asked)), &mut out);
        let text = out.into_text();
        for line in [
            r#"gen_ai_client_operation_duration_seconds_count{agent="a",operation="chat",model="m1"} 2"#,
            r#"gen_ai_client_operation_duration_seconds_count{agent="a",operation="chat",model="other"} 84"#,
            r#"gen_ai_client_token_usage_sum{agent="a",operation="chat",model="m1",token_type="input"} 3"#,
            r#"gen_ai_client_token_usage_bucket{agent="a",operation="chat",model="m1",token_type="output",le="256"} 0"#,
            r#"gen_ai_client_token_usage_bucket{agent="a",operation="chat",model="m1",token_type="output",le="1024"} 1"#,
            r#"a2a_client_operation_duration_seconds_count{agent="a",operation="GetTask"} 1"#,
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(!text.contains("m99"), "{text}");
    }
}
