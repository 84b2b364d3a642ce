//! The ways to show who one is, and which of them open an agent's door.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use switchboard_server::auth::keys::{ApiKeys, KeyScheme};
use switchboard_server::auth::method::{Basic, JwksFrom, Jwt, JwtKeys, KeySource};
use switchboard_server::auth::{Access, Alternative, Audit, Authenticator, Failures, Scheme};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::access::AccessStore;

use crate::config::{self, Config, Keys, Method, MethodKind};

/// All methods, ready to use. Those whose keys are elsewhere begin to fetch them.
pub(crate) struct Methods {
    schemes: Vec<Arc<dyn Scheme>>,
    /// API keys, and what a token must grant to make one.
    keys: Option<(ApiKeys, Arc<str>)>,
}

impl Methods {
    /// # Errors
    ///
    /// If nothing can be fetched at all, or API keys cannot be read.
    pub(crate) async fn open(
        methods: &[Method],
        access: &Arc<dyn AccessStore>,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let mut opened = Self {
            schemes: Vec::new(),
            keys: None,
        };
        for method in methods {
            let scheme = opened.scheme(method, access, tasks).await;
            let scheme = scheme.with_context(|| format!("auth.methods.{}", method.name))?;
            opened.schemes.push(scheme);
        }
        Ok(opened)
    }

    async fn scheme(
        &mut self,
        method: &Method,
        access: &Arc<dyn AccessStore>,
        tasks: &Tasks,
    ) -> anyhow::Result<Arc<dyn Scheme>> {
        let name = Arc::clone(&method.name);
        Ok(match &method.kind {
            MethodKind::ApiKey(key) => {
                let keys = ApiKeys::open(Arc::clone(access), name, tasks).await?;
                self.keys = Some((keys.clone(), Arc::clone(&key.create_scope)));
                Arc::new(KeyScheme::declared_in(keys, key.place, &*key.name))
            }
            MethodKind::Basic(users) => Arc::new(Basic::new(name, users.clone())),
            MethodKind::Jwt(jwt) => Arc::new(Jwt::new(
                name,
                keys(&jwt.keys, tasks)?,
                jwt.algorithms.clone(),
                jwt.claims.clone(),
                jwt.declared.clone(),
            )),
        })
    }

    /// Who knows callers by them.
    pub(crate) fn authenticator(self, brake: config::FailedLogins, audit: Audit) -> Authenticator {
        let authenticator = Authenticator::new(self.schemes)
            .with_failures(Failures::new(brake.requests, brake.per))
            .audited(audit);
        match self.keys {
            Some((keys, scope)) => authenticator.making_keys(keys, scope),
            None => authenticator,
        }
    }
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
pub(crate) fn doors(config: &Config, methods: &Methods) -> HashMap<Arc<str>, Arc<Access>> {
    let scheme = |name: &Arc<str>| {
        let found = methods.schemes.iter().find(|scheme| scheme.name() == name);
        found.map(Arc::clone)
    };
    let door = |agent: &config::Agent| {
        // A way with a method that is not there is no way in: it must not become an easier one.
        let ways = agent.access.iter().filter_map(|way| {
            let all: Option<Vec<_>> = way.iter().map(scheme).collect();
            all.map(Alternative)
        });
        let access = Access::by(ways.collect());
        let access = match agent.rate {
            Some(rate) => access.limited_to(rate),
            None => access,
        };
        (Arc::clone(&agent.name), Arc::new(access))
    };
    config.agents.iter().map(door).collect()
}
