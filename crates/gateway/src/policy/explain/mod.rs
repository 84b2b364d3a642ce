//! What would be decided, and why. The server's own parts decide it; here it is only written down what they do.
//!
//! - `door`: an agent's door where nobody has to show anything.
//! - `heard`: its rules, and what they were asked.

mod door;
mod heard;

use std::fmt;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use switchboard_server::auth::keys::may_make;
use switchboard_server::auth::{About, Access, Action, Ask, Audit, Denial, TaskFacts, Verdict};
use switchboard_server::call::Origin;
use switchboard_server::clock;
use switchboard_server::directory::no_such_agent;
use switchboard_server::principal::{Identity, Kind, Principal};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::access::{AccessStore, MemoryAccess};
use switchboard_types::model::{ContextId, TaskId, TaskState};
use switchboard_types::operation::Method;
use switchboard_types::wire::jsonrpc::{self, Id};
use switchboard_types::wire::rest;
use switchboard_types::{Dialect, Error, ErrorKind};

use self::door::door;
use self::heard::{Heard, Listening};
use crate::config::problem::did_you_mean;
use crate::config::question::{Caller, Question};
use crate::config::{self, Agent, Config, MethodKind};
use crate::trust::{self, Methods};

/// What would be decided, and why.
#[derive(Debug)]
pub(crate) struct Explanation {
    decision: Result<(), Error>,
    /// What decided, and where it is written.
    by: String,
    because: String,
    /// The rules that were looked at, one a line.
    looked_at: Vec<String>,
}

/// A question that cannot be answered: what is wrong, and what to do about it.
pub(crate) type Senseless = (String, String);

/// Answers a question.
///
/// # Errors
///
/// If something is named that is not there.
pub(crate) async fn explain(
    config: &Config,
    question: &Question,
) -> Result<Explanation, Senseless> {
    let agent = agent(config, question)?;
    let action = action(&question.operation)?;
    let state = question.task.as_ref().map(state).transpose()?;
    let heard = Arc::new(Heard::new(trust::rules(agent)));
    let ruled = |door| trust::ruled(agent, door, Some(Listening(Arc::clone(&heard))));
    let token = question
        .caller
        .as_ref()
        .and_then(|caller| caller.bearer.as_ref());
    let (access, admitted) = match token {
        Some(token) => shown(config, agent, ruled, token).await?,
        None => {
            let access = ruled(door(agent));
            let admitted = caller(config, agent, &access, question)?;
            (access, admitted)
        }
    };
    let caller = match admitted {
        Ok(caller) => caller,
        Err(error) => return Ok(turned_away(agent, error)),
    };
    if question.via.is_none()
        && let Some(refused) = refused_before(config, agent, &access, action, &caller)
    {
        return Ok(refused);
    }
    let origin = match &question.via {
        Some(name) => Origin::Agent(name.as_str().into()),
        None => Origin::Network,
    };
    let ask = Ask {
        caller: &caller,
        agent: &agent.name,
        action,
        skill: question.skill.as_deref(),
        task: About::Nothing,
        origin: &origin,
        now: clock::now(),
    };
    let task = question.task.as_ref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_else(|| "some".to_owned());
    let wrong = |_| {
        senseless(
            "the task has an id or context that is none".to_owned(),
            None,
        )
    };
    let id = TaskId::new(text(task.and_then(|task| task.id.as_ref()))).map_err(wrong)?;
    let context = ContextId::new(text(task.and_then(|task| task.context.as_ref())));
    let context = context.map_err(wrong)?;
    let own = state.map(|state| {
        About::Own(TaskFacts {
            id: &id,
            context: &context,
            state,
            updated: Some(ask.now),
        })
    });
    // As the server does it: first without the task, then with it.
    let verdict = match own {
        None => access.decide(&ask),
        Some(own) => match access.decide(&Ask {
            task: About::Unseen,
            ..ask
        }) {
            Verdict::Allow => access.decide(&Ask { task: own, ..ask }),
            denied @ Verdict::Deny(_) => denied,
        },
    };
    match access.knows_skill(&ask) {
        Err(error) if verdict == Verdict::Allow => {
            let by = format!("agents.{}.skills", agent.name);
            let because = "it is on none of the agent's cards".to_owned();
            Ok(Explanation::refused(error, by, because))
        }
        _ => Ok(Explanation::of(verdict, agent, &heard)),
    }
}

impl Explanation {
    fn refused(error: Error, by: String, because: String) -> Self {
        Self {
            decision: Err(error),
            by,
            because,
            looked_at: Vec::new(),
        }
    }

    fn of(verdict: Verdict, agent: &Agent, heard: &Heard) -> Self {
        let log = heard.log();
        let looked_at = log.iter().flat_map(|asked| asked.lines.clone()).collect();
        let last = log.last().and_then(|asked| asked.decided.clone());
        let (by, because) = match (&verdict, last) {
            (Verdict::Deny(denial), None) => reason(agent, denial),
            (Verdict::Allow, None) => ("nothing forbids it".to_owned(), String::new()),
            (Verdict::Deny(denial), Some(_)) if agent.rights.places.contains_key(&*denial.rule) => {
                reason(agent, denial)
            }
            (_, Some(decided)) => decided,
        };
        let decision = match verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny(denial) => Err(denial.into()),
        };
        Self {
            decision,
            by,
            because,
            looked_at,
        }
    }
}

/// Why something was denied that no rule denied.
fn reason(agent: &Agent, denial: &Denial) -> (String, String) {
    let name = format!("agents.{}.{}", agent.name, denial.rule);
    let by = match agent.rights.places.get(&*denial.rule) {
        Some(place) => format!("{name} ({place})"),
        None if *denial.rule == *"skills" => name,
        None => denial.rule.to_string(),
    };
    let because = match denial.missing.join(" ") {
        none if none.is_empty() => "the caller may not use all skills, and names none".to_owned(),
        missing => format!("the caller was not granted {missing}"),
    };
    (by, because)
}

/// What is refused before the rules are asked.
fn refused_before(
    config: &Config,
    agent: &Agent,
    access: &Access,
    action: Action,
    caller: &Principal,
) -> Option<Explanation> {
    if !agent.rights.visible && !access.shows(&agent.name, caller, None) {
        return Some(unseen(agent));
    }
    if action == Action::Call(Method::ExtendedCard) && caller.is_anonymous() {
        let because = "the extended card requires authentication".to_owned();
        let asks = agent.access.iter().any(|way| !way.is_empty());
        let kind = match asks {
            true => ErrorKind::Unauthenticated,
            false => ErrorKind::PermissionDenied,
        };
        let by = format!("agents.{}.extended_card", agent.name);
        return Some(Explanation::refused(
            Error::new(kind, "authentication required"),
            by,
            because,
        ));
    }
    if action != Action::CreateApiKey {
        return None;
    }
    let (by, scope) = config
        .methods
        .iter()
        .find_map(|method| match &method.kind {
            MethodKind::ApiKey(key) => Some((&method.name, &key.create_scope)),
            _ => None,
        })?;
    let error = may_make(caller, scope).err()?;
    let because = error.to_string();
    let by = format!("auth.methods.{by}.api_key.create_scope");
    Some(Explanation::refused(error, by, because))
}

/// What those are told who may not know of an agent.
fn unseen(agent: &Agent) -> Explanation {
    let error = no_such_agent(&agent.name);
    let because = "the agent is hidden from callers without access".to_owned();
    Explanation::refused(error, format!("agents.{}.visible", agent.name), because)
}

fn turned_away(agent: &Agent, error: Error) -> Explanation {
    if !agent.rights.visible {
        return unseen(agent);
    }
    let ways = agent.access.iter().map(|way| match way.as_slice() {
        [] => "none".to_owned(),
        all => all.join(" and "),
    });
    let ways: Vec<String> = ways.collect();
    let because = format!("the agent requires {}", ways.join(", or "));
    Explanation::refused(error, format!("agents.{}.auth", agent.name), because)
}

fn agent<'c>(config: &'c Config, question: &Question) -> Result<&'c Agent, Senseless> {
    let name = question.agent.as_deref().unwrap_or(&config.default_agent);
    config.said_of(name).ok_or_else(|| {
        let hint = did_you_mean(name, config.agents.iter().map(|agent| &*agent.name));
        senseless(format!("no agent named `{name}`"), hint)
    })
}

fn action(name: &str) -> Result<Action, Senseless> {
    Action::from_name(name).ok_or_else(|| {
        let hint = did_you_mean(name, Action::all().map(Action::name));
        senseless(format!("unknown operation `{name}`"), hint)
    })
}

fn state(task: &config::question::Task) -> Result<TaskState, Senseless> {
    let name = task.state.as_deref().unwrap_or("working");
    let found = TaskState::ALL
        .into_iter()
        .find(|state| state.name() == name);
    found.ok_or_else(|| {
        let hint = did_you_mean(name, TaskState::ALL.iter().map(|state| state.name()));
        senseless(format!("unknown state `{name}`"), hint)
    })
}

fn senseless(message: String, hint: Option<String>) -> Senseless {
    let otherwise = || "see docs/authorization.md".to_owned();
    (message, hint.unwrap_or_else(otherwise))
}

/// Who has that token, if the agent lets them in; and its door, where tokens are checked as in the server.
async fn shown(
    config: &Config,
    agent: &Agent,
    ruled: impl FnOnce(Access) -> Access,
    token: &str,
) -> Result<(Access, Result<Principal, Error>), Senseless> {
    let tasks = Tasks::default();
    let keys: Arc<dyn AccessStore> = Arc::new(MemoryAccess::new());
    let methods = Methods::open(&config.methods, &keys, &tasks).await;
    let methods = methods.map_err(|error| senseless(format!("{error:#}"), None))?;
    let access = ruled(Access::by(methods.ways(agent)));
    let authenticator = methods.authenticator(config.failed_logins, Audit::off());
    let header = HeaderValue::try_from(format!("Bearer {token}"));
    let header =
        header.map_err(|_| senseless("`caller.bearer` is not a valid token".to_owned(), None))?;
    let headers = HeaderMap::from_iter([(AUTHORIZATION, header)]);
    let admitted = access.admit_showing(&agent.name, headers, &authenticator);
    let admitted = admitted.await;
    tasks.stop();
    Ok((access, admitted))
}

/// Who asks, if the agent lets them in.
fn caller(
    config: &Config,
    agent: &Agent,
    access: &Access,
    question: &Question,
) -> Result<Result<Principal, Error>, Senseless> {
    let nobody = Caller::default();
    let said = question.caller.as_ref().unwrap_or(&nobody);
    let methods = match &said.method {
        None => Vec::new(),
        Some(config::question::Methods::One(name)) => vec![name],
        Some(config::question::Methods::All(names)) => names.iter().collect(),
    };
    let mut identities = Vec::new();
    for name in methods {
        let method = config.methods.iter().find(|method| *method.name == **name);
        let method = method.ok_or_else(|| {
            let hint = did_you_mean(name, config.methods.iter().map(|method| &*method.name));
            senseless(format!("unknown method `{name}`"), hint)
        })?;
        identities.push(Identity {
            scheme: Arc::clone(&method.name),
            kind: match method.kind {
                MethodKind::Jwt(_) => Kind::Token,
                MethodKind::ApiKey(_) => Kind::Key,
                MethodKind::Basic(_) | MethodKind::Certificate(_) => Kind::Other,
            },
            realm: Arc::clone(&method.name),
            subject: said.subject.as_deref().unwrap_or("someone").into(),
            tenant: said.tenant.as_deref().map(Arc::from),
            scopes: said
                .scopes
                .iter()
                .map(|scope| scope.as_str().into())
                .collect(),
            claims: said.claims.clone(),
            ..Identity::default()
        });
    }
    let address = said.address.as_deref().map(str::parse).transpose();
    let address = address.map_err(|_| {
        let hint = "write an IP address, such as 10.0.0.7".to_owned();
        ("`caller.address` is not a valid address".to_owned(), hint)
    })?;
    // An agent that calls for its caller has let that one in before.
    let admitted = if question.via.is_some() {
        Ok(Principal::known(
            identities.into_iter().map(Arc::new).collect(),
        ))
    } else {
        access.admit_known(&agent.name, identities)
    };
    Ok(admitted.map(|caller| match address {
        Some(address) => caller.at(address),
        None => caller,
    }))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.decision {
            Ok(()) => writeln!(f, "decision: allow")?,
            Err(error) => writeln!(f, "decision: deny\nanswer: {}", answer(error))?,
        }
        writeln!(f, "by: {}", self.by)?;
        if !self.because.is_empty() {
            writeln!(f, "because: {}", self.because)?;
        }
        if !self.looked_at.is_empty() {
            writeln!(f, "rules:")?;
        }
        self.looked_at
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// What the caller is told, in the words of the wire.
fn answer(error: &Error) -> String {
    let (status, _) = rest::write_error(Dialect::V1, error);
    let code = |dialect| {
        let mut out = Vec::new();
        jsonrpc::write_error(&mut out, &Id::null(), dialect, error);
        let said: serde_json::Value = serde_json::from_slice(&out).unwrap_or_default();
        said["error"]["code"].clone()
    };
    let (new, old) = (code(Dialect::V1), code(Dialect::V0Json));
    let reason = error.kind().reason();
    format!("HTTP {status} {reason}, JSON-RPC {new} (0.x: {old}): {error}")
}
