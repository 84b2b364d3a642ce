//! What was written, reduced to what tells one version of it from the next. It holds no text, so no secrets either.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use super::Agent;
use super::yaml::{Data, Node};

/// What is taken up while the process runs; all else counts from the next start on. What stands below is taken up, too.
const TAKEN_UP: [&str; 11] = [
    "access",
    "agents",
    "auth.require",
    "default_agent",
    "grpc_address",
    "interfaces",
    "limits.history",
    "limits.hops",
    "limits.parts",
    "limits.rate",
    "timeouts",
];

/// What counts for every agent, whatever is written for itself.
const FOR_ALL: [&str; 9] = [
    "access",
    "auth",
    "grpc_address",
    "interfaces",
    "limits.history",
    "limits.hops",
    "limits.parts",
    "limits.rate",
    "timeouts",
];

/// A configuration as it was written. `Debug` shows nothing of it: it is made from secrets, too.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Written(BTreeMap<String, u64>);

/// Tells one version of something from the next. `Debug` shows nothing of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Print(u64);

impl Print {
    /// That of something made from this and from something else.
    pub(crate) fn with(self, more: &impl Hash) -> Self {
        Self(print(&(self.0, more)))
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written")
    }
}

impl fmt::Debug for Print {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Print")
    }
}

/// A file that the configuration names and that was read.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    /// The key that names it.
    pub(super) key: String,
    /// What was in it; nothing if it could not be read.
    pub(super) print: Option<u64>,
}

impl Written {
    pub(super) fn new(tree: &Node, files: &[Named]) -> Self {
        let mut written = Self::default();
        written.add("", tree);
        for file in files {
            written.set(&file.key, &file.print);
        }
        written
    }

    fn add(&mut self, path: &str, node: &Node) {
        let below = |step: &str| match path {
            "" => step.to_owned(),
            path => format!("{path}.{step}"),
        };
        match &node.data {
            Data::Scalar(scalar) => self.set(path, &(&scalar.text, scalar.origin, scalar.given)),
            Data::List(items) => {
                self.set(path, &items.len());
                for (number, item) in items.iter().enumerate() {
                    self.add(&format!("{path}[{number}]"), item);
                }
            }
            Data::Map(entries) => {
                if entries.is_empty() {
                    self.set(path, &"nothing");
                }
                for entry in entries {
                    self.add(&below(&entry.key), &entry.value);
                }
            }
        }
    }

    /// More than one thing may be known of a key: what it says, and what the file holds that it names.
    fn set(&mut self, path: &str, value: &impl Hash) {
        let print = self.0.entry(path.to_owned()).or_default();
        *print = self::print(&(*print, value));
    }

    /// Whether anything is said under a top-level key.
    #[must_use]
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.keys().any(|path| is_below(path, key))
    }

    /// The keys that say something else in `newer` and count only from the next start on.
    #[must_use]
    pub fn needs_restart(&self, newer: &Self) -> Vec<String> {
        let all = self.0.keys().chain(newer.0.keys());
        let mut changed: Vec<String> = all
            .filter(|key| self.0.get(*key) != newer.0.get(*key))
            // That everyone may call is said here, and taken up.
            .filter(|key| *key != "auth" && !TAKEN_UP.iter().any(|taken| is_below(key, taken)))
            // Items of a list have no names that one would look for.
            .map(|key| key.split('[').next().unwrap_or_default().to_owned())
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }

    /// Tells one version of an agent from the next, with all that it goes by.
    fn of_agent(&self, name: &str) -> u64 {
        let own = format!("agents.{name}");
        let counts =
            |key: &str| is_below(key, &own) || FOR_ALL.iter().any(|all| is_below(key, all));
        let counting: Vec<_> = self.0.iter().filter(|(key, _)| counts(key)).collect();
        print(&counting)
    }

    /// Notes in each agent what it was made from.
    pub(super) fn mark(&self, agents: Vec<&mut Agent>, default: &str) {
        let hidden = agents.iter().filter(|agent| !agent.rights.visible);
        let hidden: Vec<_> = hidden.map(|agent| agent.name.clone()).collect();
        for agent in agents {
            // Agents do not tell the names of hidden ones that they call.
            let all = (self.of_agent(&agent.name), &hidden, *agent.name == *default);
            agent.print = Print(print(&all));
        }
    }
}

/// Whether a path is a key, or leads to something below it.
fn is_below(path: &str, key: &str) -> bool {
    let rest = path.strip_prefix(key);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Tells things apart within this process.
pub(super) fn print(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml;

    fn written(text: &str) -> Written {
        let tree = yaml::parse(text, &"text".into(), &mut Vec::new()).unwrap();
        Written::new(&tree, &[])
    }

    #[test]
    fn names_the_keys_that_only_a_restart_takes_up() {
        let old = written(
            "listen: 127.0.0.1:1\nauth: {methods: {a: {api_key: {}}}}\nlimits: {body: 1MiB, parts: 3}\nagents: {a: {script: []}}",
        );
        assert_eq!(old.needs_restart(&old), Vec::<String>::new());
        let new = written(
            "auth: {methods: {a: {api_key: {name: x}}}, require: [a]}\nlimits: {body: 2MiB, parts: 4}\naccess: {rules: []}\nagents: {b: {script: []}}\ndefault_agent: b\ncors: {origins: [a, b]}",
        );
        let keys = [
            "auth.methods.a.api_key",
            "auth.methods.a.api_key.name",
            "cors.origins",
            "limits.body",
            "listen",
        ];
        assert_eq!(old.needs_restart(&new), keys);
    }

    #[test]
    fn an_agent_changes_with_its_own_entry_and_with_what_counts_for_all() {
        let base = "agents: {a: {title: A}, b: {title: B}}";
        let print = |text: &str, agent| written(text).of_agent(agent);
        let same = "agents:\n  b: {title: C}\n  a:\n    title: A";
        assert_eq!(print(base, "a"), print(same, "a"));
        assert_ne!(print(base, "b"), print(same, "b"));
        for other in [
            "limits: {parts: 3}\n",
            "access: {rules: []}\n",
            "auth: none\n",
            "interfaces: [jsonrpc]\n",
            "grpc_address: url\n",
        ] {
            assert_ne!(print(base, "a"), print(&format!("{other}{base}"), "a"));
        }
        for other in ["tls: {self_signed: true}\n", "limits: {body: 1MiB}\n"] {
            assert_eq!(print(base, "a"), print(&format!("{other}{base}"), "a"));
        }
        // Quoted, it is text, and may not be what it was.
        assert_ne!(
            print("agents: {a: {version: 1}}", "a"),
            print("agents: {a: {version: '1'}}", "a")
        );
    }

    #[test]
    fn what_is_in_a_file_counts_with_the_key_that_names_it() {
        let tree = yaml::parse(
            "agents: {a: {script_file: a.yaml}}",
            &"t".into(),
            &mut Vec::new(),
        );
        let tree = tree.unwrap();
        let with = |key: &str, print| {
            let (path, key) = (PathBuf::from("a.yaml"), key.to_owned());
            Written::new(&tree, &[Named { path, key, print }])
        };
        let (first, second) = (Some(1), Some(2));
        let key = "agents.a.script_file";
        assert_ne!(
            with(key, first).of_agent("a"),
            with(key, second).of_agent("a")
        );
        let key = "secrets.key_file";
        assert_eq!(with(key, first).needs_restart(&with(key, second)), [key]);
    }
}
