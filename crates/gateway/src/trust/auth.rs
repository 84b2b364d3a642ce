//! The ways to show who one is, and which of them open an agent's door.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use switchboard_server::auth::keys::{ApiKeys, KeyScheme};
use switchboard_server::auth::method::{Basic, Certificates, JwksFrom, Jwt, JwtKeys, KeySource};
use switchboard_server::auth::{
    Access, Alternative, Audit, Authenticator, Failures, Policy, Scheme,
};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::access::AccessStore;

use crate::config::{self, Keys, Method, MethodKind};
use crate::policy::Rules;

/// All methods, ready to use. Those whose keys are elsewhere begin to fetch them.
#[derive(Clone)]
pub(crate) struct Methods {
    schemes: Vec<Arc<dyn Scheme>>,
    /// API keys, and how they are made by HTTP.
    keys: Option<(ApiKeys, config::ApiKey)>,
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
                self.keys = Some((keys.clone(), key.clone()));
                Arc::new(KeyScheme::declared_in(keys, key.place, &*key.name))
            }
            MethodKind::Basic(users) => Arc::new(Basic::new(name, users.clone())),
            MethodKind::Certificate(subjects) => {
                Arc::new(Certificates::new(name, subjects.clone()))
            }
            MethodKind::Jwt(jwt) => Arc::new(Jwt::new(
                name,
                keys(&jwt.keys, tasks)?,
                jwt.algorithms.clone(),
                jwt.claims.clone(),
                jwt.declared.clone(),
            )),
        })
    }

    /// The ways in to an agent.
    pub(crate) fn ways(&self, agent: &config::Agent) -> Vec<Alternative> {
        let scheme = |name: &Arc<str>| {
            let found = self.schemes.iter().find(|scheme| scheme.name() == name);
            found.map(Arc::clone)
        };
        // A way with a method that is not there is no way in: it must not become an easier one.
        let ways = agent.access.iter().filter_map(|way| {
            let all: Option<Vec<_>> = way.iter().map(scheme).collect();
            all.map(Alternative)
        });
        ways.collect()
    }

    /// Who knows callers by them.
    pub(crate) fn authenticator(self, brake: config::FailedLogins, audit: Audit) -> Authenticator {
        let authenticator = Authenticator::new(self.schemes)
            .with_failures(Failures::new(brake.requests, brake.per))
            .audited(audit);
        match self.keys {
            Some((keys, made)) => {
                authenticator.making_keys(keys, made.create_scope, made.max_lifetime, made.max_keys)
            }
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

/// The rules of an agent; none if it has none.
pub(crate) fn rules(agent: &config::Agent) -> Option<Rules> {
    let skills = agent
        .rights
        .skills
        .iter()
        .map(|skill| Arc::clone(&skill.id));
    let rules = agent.rights.rules.clone();
    (!rules.is_empty()).then(|| Rules::new(rules, skills.collect()))
}

/// An agent's door, with what is behind it.
pub(crate) fn ruled(
    agent: &config::Agent,
    door: Access,
    policy: Option<impl Policy + 'static>,
) -> Access {
    let config::Rights {
        scopes,
        skills,
        visible,
        ..
    } = &agent.rights;
    let door = door.needing(scopes.clone()).with_skills(skills.clone());
    let door = match policy {
        Some(policy) => door.ruled_by(Arc::new(policy)),
        None => door,
    };
    if *visible { door } else { door.hidden() }
}

/// Who may ask each agent.
pub(crate) fn doors(agents: &[config::Agent], methods: &Methods) -> HashMap<Arc<str>, Arc<Access>> {
    let door = |agent: &config::Agent| {
        let access = ruled(agent, Access::by(methods.ways(agent)), rules(agent));
        let access = match agent.rate {
            Some(rate) => access.limited_to(rate),
            None => access,
        };
        (Arc::clone(&agent.name), Arc::new(access))
    };
    agents.iter().map(door).collect()
}
