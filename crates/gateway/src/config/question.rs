//! A question to `switchboard check --explain`: who asks whom for what.

use std::io::Read;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::load::read_file;
use super::problem::{Place, Problem, Problems};
pub(crate) use super::raw::Requirement as Methods;
use super::{Env, yaml};

/// Who asks whom for what.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The agent; the default one if none is named.
    pub(crate) agent: Option<String>,
    /// The operation, as A2A 1.0 names it, or `GetAgentCard` or `CreateApiKey`.
    pub(crate) operation: String,
    /// The skill.
    pub(crate) skill: Option<String>,
    /// The task, which is the caller's.
    pub(crate) task: Option<Task>,
    /// The agent that asks on behalf of the caller.
    pub(crate) via: Option<String>,
    /// Who asks; nobody in particular if nothing is said.
    pub(crate) caller: Option<Caller>,
}

/// Who asks.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Caller {
    /// A token, to be checked as the server does: it says who this is, and nothing else needs to.
    pub(crate) bearer: Option<String>,
    /// What the caller has shown: a method, or several together.
    pub(crate) method: Option<Methods>,
    /// The name.
    pub(crate) subject: Option<String>,
    /// The tenant.
    pub(crate) tenant: Option<String>,
    /// What was granted.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// What else a token says.
    #[serde(default)]
    pub(crate) claims: Map<String, Value>,
    /// The address.
    pub(crate) address: Option<String>,
}

/// A task.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    /// Its id.
    pub(crate) id: Option<String>,
    /// Its state, such as `working`.
    pub(crate) state: Option<String>,
    /// Its context.
    pub(crate) context: Option<String>,
}

impl Question {
    /// Reads a question from a file; from standard input if it is `-`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub(crate) fn read(file: &std::path::Path, env: &Env) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let tree = if file.as_os_str() == "-" {
            read_input(env, &mut problems)
        } else {
            read_file(file, env, &mut problems)
        };
        let question = tree.and_then(|tree| yaml::read_all(tree, &mut problems));
        question
            .filter(|_| problems.is_empty())
            .ok_or(Problems(problems))
    }
}

fn read_input(env: &Env, problems: &mut Vec<Problem>) -> Option<yaml::Node> {
    let file: Arc<str> = Arc::from("standard input");
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        problems.push(Problem {
            place: Place::Whole(file),
            path: String::new(),
            message: format!("cannot be read: {error}"),
            hint: None,
        });
        return None;
    }
    let mut tree = yaml::parse(&text, &file, problems)?;
    yaml::fill(&mut tree, env, problems);
    Some(tree)
}
