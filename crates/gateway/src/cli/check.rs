//! `switchboard check`: looks for mistakes without starting anything.

use std::path::PathBuf;

use switchboard_server::sign::Use;

use super::args::{CheckArgs, Global, Place};
use super::serve::file;
use super::{Failure, block_on, err, out};
use crate::config::question::Question;
use crate::config::{Agent, Config, Env, Own, Signing, SigningKey, Source, Store, load};
use crate::policy::explain;

pub(super) fn run(args: &CheckArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    // Not by clap, to which a variable would be at odds with a file that is named.
    let variable = || env.get("SWITCHBOARD_CONFIG").map(PathBuf::from);
    let named = args.file.clone().or_else(|| args.config.clone());
    let file = file(named.or_else(variable))?;
    let name = file.display().to_string();
    let config = load(&Source::File(file), env, &Place::default().flags(global))?;
    if let Some(question) = &args.explain {
        let question = Question::read(question, env)?;
        let mut explained = None;
        block_on(async {
            explained = Some(explain(&config, &question).await);
            Ok(())
        })?;
        return match explained {
            Some(Ok(explained)) => Ok(out(format_args!("{explained}"))?),
            Some(Err((message, hint))) => Err(Failure::Usage(message, hint)),
            None => Ok(()),
        };
    }
    for doubt in &config.doubts {
        err(format_args!("warning: {doubt}\n"))?;
    }
    Ok(out(format_args!("{name}: OK\n{}", summary(&config)))?)
}

/// One `label: value` a line.
pub(super) fn summary(config: &Config) -> String {
    let agents: Vec<String> = config
        .agents
        .iter()
        .map(|agent| {
            let default = agent.name == config.default_agent && config.agents.len() > 1;
            let mark = if default { " (default)" } else { "" };
            format!("{}{mark}", agent.name)
        })
        .chain(
            config
                .discover
                .iter()
                .map(|found| format!("{}-*", found.name)),
        )
        .collect();
    let store = match &config.store {
        Store::Memory => "memory only".to_owned(),
        Store::Sqlite(sqlite) => format!("sqlite in {}", sqlite.dir.display()),
    };
    let auth = match config.methods.as_slice() {
        [] => String::new(),
        methods => {
            let names: Vec<&str> = methods.iter().map(|method| &*method.name).collect();
            let all = config.agents.iter().chain(&config.discover);
            let open = all.filter(|agent| agent.is_open());
            let open: Vec<&str> = open.map(|agent| &*agent.name).collect();
            let open = match open.as_slice() {
                [] => String::new(),
                open => format!(" \u{b7} open: {}", open.join(", ")),
            };
            format!("auth: {}{open}\n", names.join(", "))
        }
    };
    let notes: String = config.agents.iter().filter_map(note).collect();
    let public = match &config.public_url {
        Some(url) => format!("public: {url}\n"),
        None => String::new(),
    };
    let tls = match &config.tls {
        None => String::new(),
        Some(tls) => {
            let own = match &tls.own {
                Own::Files { certificate, .. } => certificate.display().to_string(),
                Own::SelfSigned => "self-signed".to_owned(),
            };
            let clients = match &tls.clients {
                None => "",
                Some(clients) if clients.required => " \u{b7} client certificates: required",
                Some(_) => " \u{b7} client certificates: optional",
            };
            format!("tls: {own}{clients}\n")
        }
    };
    let signing = match &config.signing {
        Some(signing) => format!("signing: {}\n", keys(signing)),
        None => String::new(),
    };
    format!(
        "agents: {}\nlisten: {}\n{public}store: {store}\n{auth}{tls}{signing}{notes}",
        agents.join(", "),
        config.listen
    )
}

/// The names of the keys, and what is to be known of them.
fn keys(signing: &Signing) -> String {
    let shown = |key: &SigningKey| match (&key.key, key.purpose) {
        (Some(read), Use::Sign) => read.kid().to_owned(),
        (Some(read), Use::Publish) => format!("{} (published only)", read.kid()),
        (None, _) => format!("{} (made at the start)", key.file.display()),
    };
    let keys: Vec<String> = signing.keys.iter().map(shown).collect();
    keys.join(", ")
}

/// What may not be meant so.
fn note(agent: &Agent) -> Option<String> {
    let name = &agent.name;
    agent.hides_extended_card().then(|| {
        format!(
            "note: the extended card of {name} is unreachable: the agent requires no authentication\n"
        )
    })
}
