//! The ways to show who one is, and which of them open an agent's door.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use switchboard_server::auth::method::{Basic, JwksFrom, Jwt, JwtKeys, KeySource};
use switchboard_server::auth::{Access, Alternative, Scheme};
use switchboard_server::shutdown::Tasks;

use crate::config::{self, Config, Keys, Method, MethodKind};

/// All methods. Those whose keys are elsewhere begin to fetch them.
///
/// # Errors
///
/// If nothing can be fetched at all.
pub(crate) fn schemes(methods: &[Method], tasks: &Tasks) -> anyhow::Result<Vec<Arc<dyn Scheme>>> {
    let scheme = |method: &Method| -> anyhow::Result<Arc<dyn Scheme>> {
        let name = Arc::clone(&method.name);
        Ok(match &method.kind {
            MethodKind::Basic(users) => Arc::new(Basic::new(name, users.clone())),
            MethodKind::Jwt(jwt) => Arc::new(Jwt::new(
                name,
                keys(&jwt.keys, tasks).with_context(|| format!("auth.methods.{}", method.name))?,
                jwt.algorithms.clone(),
                jwt.claims.clone(),
                jwt.declared.clone(),
            )),
        })
    };
    methods.iter().map(scheme).collect()
}

fn keys(keys: &Keys, tasks: &Tasks) -> anyhow::Result<JwtKeys> {
    let from = match keys {
        Keys::Secret(secret) => return Ok(JwtKeys::Secret(secret.clone())),
        Keys::File(keys) => return Ok(JwtKeys::Fixed(keys.clone())),
        Keys::Url(url) => JwksFrom::Url(url.parse()?),
        Keys::Issuer(issuer) => JwksFrom::Issuer(issuer.clone()),
    };
    Ok(JwtKeys::Published(KeySource::start(from, tasks)?))
}

/// Who may ask each agent.
pub(crate) fn doors(
    config: &Config,
    schemes: &[Arc<dyn Scheme>],
) -> HashMap<Arc<str>, Arc<Access>> {
    let scheme = |name: &Arc<str>| {
        let found = schemes.iter().find(|scheme| scheme.name() == name);
        found.map(Arc::clone)
    };
    let door = |agent: &config::Agent| {
        // A way with a method that is not there is no way in: it must not become an easier one.
        let ways = agent.access.iter().filter_map(|way| {
            let all: Option<Vec<_>> = way.iter().map(scheme).collect();
            all.map(Alternative)
        });
        let access = Access::by(ways.collect());
        (Arc::clone(&agent.name), Arc::new(access))
    };
    config.agents.iter().map(door).collect()
}
