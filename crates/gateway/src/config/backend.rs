//! What stands behind an agent: exactly one thing.

use switchboard_agents::profile as agents;
use switchboard_agents::script::{AgentFile, Script};

use super::agent::{at_path, is_given, join};
use super::load::{Check, read_file};
use super::remote::unknown;
use super::written::{Written, print};
use super::yaml::{self, Step, Step::Key};
use super::{Backend, Identity, exec, openai, openclaw, raw};

impl Check<'_> {
    /// Exactly one thing stands behind an agent. New kinds of backend add a line here.
    pub(super) fn backend(
        &mut self,
        at: &[Step<'_>],
        raw: &mut raw::Agent,
    ) -> Option<(agents::Profile, Backend)> {
        const KINDS: [&str; 7] = [
            "script",
            "script_file",
            "a2a",
            "openai",
            "openclaw",
            "exec",
            "langgraph",
        ];
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
                    "this agent has no backend".to_owned(),
                    Some(
                        "add `script`, `script_file`, `a2a`, `openai`, `openclaw`, `exec` or `langgraph`"
                            .to_owned(),
                    ),
                );
                None
            }
            [_] => {
                if let Some(remote) = raw.a2a.take() {
                    let settings = Box::new(self.remote(at, remote)?);
                    return Some((unknown(), Backend::Remote(settings, identity)));
                }
                if let Some(model) = raw.openai.take() {
                    let (settings, identity) = self.openai(at, model, identity)?;
                    let backend = Backend::OpenAi(Box::new(settings), identity);
                    return Some((openai::profile(), backend));
                }
                if let Some(assistant) = raw.langgraph.take() {
                    return Some((unknown(), self.langgraph(at, assistant, identity)?));
                }
                if !matches!(identity, Identity::Nobody) {
                    let message = match raw.openclaw {
                        Some(_) => "an OpenClaw gateway authenticates only with `openclaw.token`",
                        None => "this agent has no upstream",
                    };
                    self.wrong(&join(at, Key("identity")), message.to_owned(), None);
                }
                if let Some(claw) = raw.openclaw.take() {
                    let claw = Box::new(self.openclaw(at, claw)?);
                    return Some((openclaw::unknown(), Backend::OpenClaw(claw)));
                }
                if let Some(command) = raw.exec.take() {
                    let settings = self.exec(at, command)?;
                    let profile = exec::profile(settings.protocol);
                    return Some((profile, Backend::Exec(Box::new(settings))));
                }
                let file = match (raw.script.take(), raw.script_file.take()) {
                    (Some(script), _) => bare(script),
                    (None, Some(file)) => self.script_file(at, &file)?,
                    (None, None) => return None,
                };
                Some((file.profile, Backend::Script(file.script)))
            }
            [first, .., last] => {
                let message = format!("`{first}` and `{last}` are mutually exclusive");
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
        let at = join(at, Key("script_file"));
        let print = tree.as_ref().map(|tree| print(&Written::new(tree, &[])));
        self.names(&at, &path, print);
        if tree.is_none() && matches!(self.problems.get(before), Some(p) if is_whole(p)) {
            // Unreadable: the place to mend it is here.
            let cause = self.problems.remove(before);
            let message = format!("{} {}", path.display(), cause.message);
            self.wrong(
                &at,
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

/// How many tasks are worked on at once if nothing is said.
pub(super) fn most_at_once(backend: &Backend) -> Option<usize> {
    matches!(backend, Backend::Exec(_)).then_some(exec::AT_ONCE)
}

/// A script without a profile.
fn bare(script: Script) -> AgentFile {
    AgentFile {
        profile: agents::Profile::default(),
        script,
    }
}

fn is_whole(problem: &super::Problem) -> bool {
    matches!(problem.place, super::Place::Whole(_))
}
