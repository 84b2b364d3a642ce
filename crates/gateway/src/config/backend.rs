//! What stands behind an agent: exactly one thing.

use switchboard_agents::profile as agents;
use switchboard_agents::script::{AgentFile, Script};

use super::agent::{at_path, is_given, is_whole, join};
use super::load::{Check, read_file};
use super::raw;
use super::remote::unknown;
use super::yaml::{self, Step, Step::Key};
use super::{Backend, Identity};

impl Check<'_> {
    /// Exactly one thing stands behind an agent. New kinds of backend add a line here.
    pub(super) fn backend(
        &mut self,
        at: &[Step<'_>],
        raw: &mut raw::Agent,
    ) -> Option<(agents::Profile, Backend)> {
        const KINDS: [&str; 4] = ["script", "script_file", "a2a", "langgraph"];
        let identity = self.identity(at, raw.identity.take());
        let entry = at_path(self.tree, at);
        let written: Vec<_> = KINDS
            .into_iter()
            .filter(|kind| entry.is_some_and(|entry| entry.get(kind).is_some_and(is_given)))
            .collect();
        match written.as_slice() {
            [] => {
                self.wrong(
                    at,
                    "nothing stands behind this agent".to_owned(),
                    Some("add `script`, `script_file`, `a2a` or `langgraph`".to_owned()),
                );
                None
            }
            [_] => {
                if let Some(remote) = raw.a2a.take() {
                    let settings = Box::new(self.remote(at, remote)?);
                    return Some((unknown(), Backend::Remote(settings, identity)));
                }
                if let Some(assistant) = raw.langgraph.take() {
                    return Some((unknown(), self.langgraph(at, assistant, identity)?));
                }
                if !matches!(identity, Identity::Nobody) {
                    let message = "nothing elsewhere stands behind this agent".to_owned();
                    self.wrong(&join(at, Key("identity")), message, None);
                }
                let file = match (raw.script.take(), raw.script_file.take()) {
                    (Some(script), _) => bare(script),
                    (None, Some(file)) => self.script_file(at, &file)?,
                    (None, None) => return None,
                };
                Some((file.profile, Backend::Script(file.script)))
            }
            [first, .., last] => {
                let message = format!("`{first}` and `{last}` cannot stand together");
                self.wrong(
                    &join(at, Key(last)),
                    message,
                    Some("keep one of them".to_owned()),
                );
                None
            }
        }
    }

    fn script_file(&mut self, at: &[Step<'_>], file: &str) -> Option<AgentFile> {
        let path = self.base.join(file);
        let before = self.problems.len();
        let tree = read_file(&path, self.env, &mut self.problems);
        if tree.is_none() && matches!(self.problems.get(before), Some(p) if is_whole(p)) {
            // Unreadable: the place to mend it is here.
            let cause = self.problems.remove(before);
            let message = format!("{} {}", path.display(), cause.message);
            self.wrong(
                &join(at, Key("script_file")),
                message,
                Some("the path is relative to the configuration file".to_owned()),
            );
        }
        let tree = tree?;
        match tree.data {
            yaml::Data::List(_) => yaml::read_all(tree, &mut self.problems).map(bare),
            yaml::Data::Scalar(_) | yaml::Data::Map(_) => yaml::read_all(tree, &mut self.problems),
        }
    }
}

/// A script without a profile.
fn bare(script: Script) -> AgentFile {
    AgentFile {
        profile: agents::Profile::default(),
        script,
    }
}
