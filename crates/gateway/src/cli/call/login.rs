//! `switchboard auth login`: a token is fetched once and kept, and the commands that follow send it along.
//!
//! Tokens are kept by the agent's name as `-a` has it, in one file that only its owner can read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_server::files;
use switchboard_types::model::Secret;

use super::connect::failure;
use super::failure::Local;
use super::{Connected, End, Failure, print_json, print_text};
use crate::config::Env;

/// All tokens, by agent.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Tokens(BTreeMap<String, Kept>);

#[derive(Serialize, Deserialize)]
struct Kept {
    token: String,
    /// Seconds since 1970.
    expires: u64,
}

// By hand: a token is a secret.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stored until {}", self.expires)
    }
}

/// What is known of an agent's token.
#[derive(Debug)]
pub(super) enum Found {
    /// One that is good.
    Good(Secret, PathBuf),
    /// One that has expired.
    Expired,
    Nothing,
}

/// Looks for the token of an agent. A file that cannot be read holds none.
pub(super) fn find(agent: &str, env: &Env) -> Found {
    let Some(path) = path(env) else {
        return Found::Nothing;
    };
    let tokens = read(&path).unwrap_or_default();
    match tokens.0.get(agent) {
        Some(kept) if kept.expires > now() => Found::Good(Secret::new(&*kept.token), path),
        Some(_) => Found::Expired,
        None => Found::Nothing,
    }
}

pub(super) async fn login(connected: &Connected, env: &Env) -> Result<End, Failure> {
    let settings = &connected.settings;
    if settings.client_id.is_none() {
        return Err(Failure::usage(
            "no OAuth client was named",
            "give --client-id, and --client-secret if it has one",
        ));
    }
    let agent = settings.agent()?;
    // Not in the time of a call: a person may have to enter a code.
    let token = connected.client.access_token().await;
    let token = token.map_err(|error| failure(&error))?.ok_or_else(|| {
        let message = "the card of this agent does not use OAuth";
        Failure::local(Local::CredentialsMissing, message).hint(format!(
            "see the lines Security of `switchboard card get -a {agent}`"
        ))
    })?;
    let path = path(env).ok_or_else(|| Failure::local(Local::Internal, "HOME is not set"))?;
    let expires = now() + token.lasts.as_secs();
    let kept = Kept {
        token: token.token.reveal().to_owned(),
        expires,
    };
    keep(&path, agent, kept)?;
    if connected.json() {
        let told = json!({"agentCard": agent, "file": path.display().to_string(), "expiresIn": token.lasts.as_secs()});
        print_json(|out| out.extend(told.to_string().into_bytes()))?;
    } else {
        let mut page = connected.page();
        page.field("Agent", agent);
        page.field("Token", format!("stored in {}", path.display()));
        page.field("Expires in", format!("{} s", token.lasts.as_secs()));
        print_text(page)?;
    }
    Ok(End::Done)
}

fn path(env: &Env) -> Option<PathBuf> {
    let user = super::places::user_file(env)?;
    Some(user.with_file_name("tokens.json"))
}

fn read(path: &Path) -> io::Result<Tokens> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// Adds a token and lets go those that have expired. The file is replaced as a whole, so that it is never half.
fn keep(path: &Path, agent: &str, kept: Kept) -> io::Result<()> {
    let mut tokens = read(path).unwrap_or_default();
    tokens.0.retain(|_, kept| kept.expires > now());
    tokens.0.insert(agent.to_owned(), kept);
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    files::replace(path, &serde_json::to_string(&tokens)?)
}

fn now() -> u64 {
    UNIX_EPOCH
        .elapsed()
        .map_or(0, |since: Duration| since.as_secs())
}
