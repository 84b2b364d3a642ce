//! From what was written to a [`Config`]: defaults applied, files read, everything checked.
//!
//! Precedence: flags, then environment variables, then the file, then defaults. All problems are
//! collected; if there is one, nothing is applied.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use switchboard_server::card::Interfaces;

use super::agent::Doors;
use super::flags::Flags;
use super::given::Given;
use super::problem::{Place, Problem, Problems, did_you_mean};
use super::raw;
use super::server::{retention, version_header};
use super::timeouts::Timeouts;
use super::value::{Bound, Size, Time};
use super::written::{Named, Written};
use super::yaml::{self, Node, Step, Step::Key};
use super::{Config, Env, UNLIMITED, WRAPPED, auth, env};

/// Where the agents come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A YAML file.
    File(PathBuf),
    /// The agents that Switchboard brings along, with default settings.
    BuiltIn,
    /// One agent that the command line describes.
    Given(Given),
}

/// Reads and checks a configuration.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn load(source: &Source, env: &Env, flags: &Flags) -> Result<Config, Problems> {
    read(source, env, flags).0
}

/// Reads and checks a configuration, and tells which files were looked at, whether they could be read or not.
pub fn read(source: &Source, env: &Env, flags: &Flags) -> (Result<Config, Problems>, Vec<PathBuf>) {
    let mut files = match source {
        Source::File(path) => vec![path.clone()],
        Source::BuiltIn | Source::Given(_) => Vec::new(),
    };
    let config = read_with(source, env, flags, &mut files);
    (config, files)
}

fn read_with(
    source: &Source,
    env: &Env,
    flags: &Flags,
    files: &mut Vec<PathBuf>,
) -> Result<Config, Problems> {
    let mut problems = Vec::new();
    let tree = match source {
        Source::File(path) => read_file(path, env, &mut problems),
        Source::BuiltIn => Some(Node::empty(Place::Default)),
        Source::Given(given) => {
            let mut tree = given.tree();
            yaml::fill(&mut tree, env, &mut problems);
            Some(tree)
        }
    };
    let Some(mut tree) = tree else {
        return Err(Problems(problems));
    };
    env::override_keys(&mut tree, env, &mut problems);
    let raw: Option<raw::Config> = yaml::read_all(tree.clone(), &mut problems);
    let base = match source {
        Source::File(path) => path.parent().unwrap_or(Path::new("")),
        Source::BuiltIn | Source::Given(_) => Path::new(""),
    };
    let mut check = Check {
        tree: &tree,
        base,
        env,
        files: Vec::new(),
        problems,
        doubts: Vec::new(),
    };
    let config = raw.and_then(|raw| check.config(raw, source, flags));
    files.extend(check.files.iter().map(|file| file.path.clone()));
    let mut problems = check.problems;
    match config {
        Some(mut config) if problems.is_empty() => {
            config.doubts = check.doubts;
            config.written = Written::new(&tree, &check.files);
            let all = config.agents.iter_mut().chain(&mut config.discover);
            config.written.mark(all.collect(), &config.default_agent);
            Ok(config)
        }
        _ => {
            problems.sort_by_key(|problem| order(&problem.place));
            Err(Problems(problems))
        }
    }
}

/// Reads a YAML file into a tree with variables filled in.
pub(super) fn read_file(path: &Path, env: &Env, problems: &mut Vec<Problem>) -> Option<Node> {
    let file: Arc<str> = Arc::from(path.display().to_string());
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let mut tree = yaml::parse(text, &file, problems)?;
            yaml::fill(&mut tree, env, problems);
            Some(tree)
        }
        Err(error) => {
            problems.push(Problem {
                place: Place::Whole(file),
                path: String::new(),
                message: format!("cannot be read: {}", lower_first(&error.to_string())),
                hint: None,
            });
            None
        }
    }
}

pub(super) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Problems are shown as one reads: by line; what has no line comes last.
fn order(place: &Place) -> (bool, usize, usize) {
    match place {
        Place::File { line, column, .. } => (false, *line, *column),
        Place::Whole(_)
        | Place::Variable(_)
        | Place::Flag(_)
        | Place::Stored(_)
        | Place::Default => (true, 0, 0),
    }
}

/// The checks, with what they need to know.
#[derive(Debug)]
pub(super) struct Check<'a> {
    /// All that was written, also the parts that could not be read.
    pub(super) tree: &'a Node,
    /// The directory of the file.
    pub(super) base: &'a Path,
    /// For files that are read on the way.
    pub(super) env: &'a Env,
    /// The files that were looked at besides the one that names them.
    pub(super) files: Vec<Named>,
    /// What was found so far.
    pub(super) problems: Vec<Problem>,
    /// What may not be meant.
    pub(super) doubts: Vec<Problem>,
}

impl Check<'_> {
    /// A file is named at `at`, and this was read from it.
    pub(super) fn names(&mut self, at: &[Step<'_>], path: &Path, print: Option<u64>) {
        self.files.push(Named {
            path: path.to_owned(),
            key: yaml::show(at),
            print,
        });
    }

    /// Something is wrong at `path`.
    pub(super) fn wrong(&mut self, path: &[Step<'_>], message: String, hint: Option<String>) {
        self.problems.push(self.at(path, message, hint));
    }

    /// Something can be done, but may not be meant.
    pub(super) fn doubt(&mut self, path: &[Step<'_>], message: String, hint: Option<String>) {
        self.doubts.push(self.at(path, message, hint));
    }

    fn at(&self, path: &[Step<'_>], message: String, hint: Option<String>) -> Problem {
        Problem {
            place: self.tree.place_of(path).clone(),
            path: yaml::show(path),
            message,
            hint,
        }
    }

    /// A duration that must not be zero.
    pub(super) fn some_time(
        &mut self,
        path: &[Step<'_>],
        time: Option<Time>,
        default: Duration,
    ) -> Duration {
        let time = time.map_or(default, |time| time.0);
        if time.is_zero() {
            self.wrong(path, "must be longer than zero".to_owned(), None);
        }
        time
    }

    /// A duration or `unlimited` that must not be zero.
    pub(super) fn some_bound(
        &mut self,
        path: &[Step<'_>],
        bound: Option<Bound>,
        default: Duration,
    ) -> Duration {
        let time = bound.map(|bound| Time(bound.0.unwrap_or(UNLIMITED)));
        self.some_time(path, time, default)
    }

    /// A size that must not be zero.
    pub(super) fn some_size(
        &mut self,
        path: &[Step<'_>],
        size: Option<Size>,
        default: usize,
    ) -> usize {
        if size == Some(Size(0)) {
            self.wrong(path, "must be more than zero".to_owned(), None);
        }
        size.map_or(default, |size| {
            usize::try_from(size.0).unwrap_or(usize::MAX)
        })
    }

    /// Two keys of which one is too many.
    pub(super) fn cannot_stand_together(&mut self, at: &[Step<'_>], one: &str, other: &str) {
        let message = format!("`{one}` and `{other}` are mutually exclusive");
        let hint = Some("keep one of them".to_owned());
        self.wrong(&[at, &[Key(other)]].concat(), message, hint);
    }

    /// A number that must not be zero.
    pub(super) fn count(
        &mut self,
        path: &[Step<'_>],
        count: Option<usize>,
        default: usize,
    ) -> usize {
        if count == Some(0) {
            self.wrong(path, "must be at least 1".to_owned(), None);
        }
        count.unwrap_or(default)
    }

    fn config(&mut self, raw: raw::Config, source: &Source, flags: &Flags) -> Option<Config> {
        let listen = self.listen(&raw, flags);
        let own = match source {
            Source::Given(given) => Path::new("switchboard").join(WRAPPED).join(&given.name),
            Source::File(_) | Source::BuiltIn => PathBuf::from("switchboard"),
        };
        let data = self.data(raw.data, flags, &own);
        let store = self.store(&raw.store.unwrap_or_default(), data, flags);
        let raw_limits = raw.limits.unwrap_or_default();
        let limits = self.limits(&raw_limits);
        let retention = retention(&raw.retention.unwrap_or_default(), store.as_ref());
        let push = self.push(raw.push.unwrap_or_default());
        let admin = self.admin(raw.admin.unwrap_or_default(), listen);
        let shutdown = raw.shutdown.unwrap_or_default();
        let log = self.log(raw.log.unwrap_or_default(), flags);
        let tls = self.tls(raw.tls, flags);
        let (methods, ways) = self.auth(raw.auth);
        self.certificates_are_asked_for(&methods, tls.as_ref());
        let rules = self.rules(&[], raw.access);
        let interfaces = Interfaces::default();
        let interfaces = self.interfaces(&[], raw.interfaces, raw.grpc_address, &interfaces);
        let timeouts = self.timeouts(&[], raw.timeouts, Timeouts::default());
        let doors = Doors {
            ways,
            rules,
            interfaces,
            timeouts,
        };
        let mut agents = match (source, raw.agents.unwrap_or_default()) {
            (Source::File(_) | Source::Given(_), agents) => self.agents(agents, &doors),
            (Source::BuiltIn, agents) => self.built_in(agents, &doors),
        };
        if flags.auth_none {
            agents
                .iter_mut()
                .for_each(|agent| agent.access = auth::open());
        }
        if self.problems.is_empty() {
            // An agent that could not be read is not one that is missing.
            self.calls_reach_someone(&agents);
            self.calls_open_no_door(&agents);
        }
        self.shared_limits(&raw_limits, &mut agents);
        self.grpc_can_be_reached(raw.public_url.as_ref(), &agents);
        let default_agent = self.default_agent(raw.default_agent, &agents);
        let (discover, agents) = agents.into_iter().partition(super::Agent::discovers);
        let signing = self.signing(raw.signing, raw.public_url.is_some());
        let secret_key = self.secret_key(raw.secrets);
        let config = Config {
            listen,
            public_url: raw.public_url.map(|url| Arc::from(url.0)),
            trust_forwarded: raw
                .trust_forwarded
                .unwrap_or_default()
                .into_iter()
                .map(|network| network.0)
                .collect(),
            version_header: version_header(raw.require_version),
            tls,
            default_agent: default_agent?,
            store: store?,
            limits,
            tasks: raw_limits.tasks.and_then(|count| count.0),
            cors: self.cors(raw.cors.unwrap_or_default(), &methods),
            methods,
            failed_logins: self.failed_logins(&raw_limits),
            signing,
            secret_key,
            retention,
            push,
            admin,
            shutdown_grace: shutdown
                .grace
                .map_or(Duration::from_secs(10), |time| time.0),
            log,
            agents,
            discover,
            doubts: Vec::new(),
            written: Written::default(),
        };
        self.credentials_are_hidden(&config, flags);
        self.callers_are_told_apart(&config);
        Some(config)
    }

    fn default_agent(
        &mut self,
        named: Option<String>,
        agents: &[super::Agent],
    ) -> Option<Arc<str>> {
        let Some(name) = named else {
            let first = agents.iter().find(|agent| !agent.discovers());
            let first = first.or_else(|| agents.first());
            return first.map(|agent| Arc::clone(&agent.name));
        };
        if agents.iter().any(|agent| agent.may_find(&name)) {
            return Some(Arc::from(name));
        }
        let found = agents.iter().find(|agent| *agent.name == *name);
        if found.is_none()
            && self
                .tree
                .get("agents")
                .and_then(|agents| agents.get(&name))
                .is_none()
        {
            let hint = did_you_mean(&name, agents.iter().map(|agent| &*agent.name));
            self.wrong(
                &[Key("default_agent")],
                format!("no agent named `{name}`"),
                hint,
            );
        }
        found.map(|agent| Arc::clone(&agent.name))
    }
}
