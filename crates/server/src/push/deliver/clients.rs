//! The HTTP clients of the outbox. Each is made when it is first needed: most servers call no webhook, and a client
//! reads all that the system trusts.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, redirect, retry};

use super::Settings;
use crate::egress::{Guard, Guarded};

const USER_AGENT: &str = concat!("switchboard/", env!("CARGO_PKG_VERSION"));
/// How long a connection is kept for the next event.
const IDLE: Duration = Duration::from_secs(30);

/// A client for each port that the operator's exceptions name, and one for all others.
#[derive(Debug)]
pub(in crate::push) struct Clients {
    guard: Arc<Guard>,
    settings: Settings,
    by_port: HashMap<u16, OnceLock<Client>>,
    other: OnceLock<Client>,
}

impl Clients {
    pub(in crate::push) fn new(guard: &Arc<Guard>, settings: &Settings) -> Self {
        let ports = guard.ports().into_iter();
        Self {
            by_port: ports.map(|port| (port, OnceLock::new())).collect(),
            other: OnceLock::new(),
            guard: Arc::clone(guard),
            settings: settings.clone(),
        }
    }

    /// The client for a port.
    ///
    /// # Errors
    ///
    /// If it cannot be made: the system lacks what TLS needs.
    pub(in crate::push) fn of(&self, port: Option<u16>) -> Result<&Client, reqwest::Error> {
        let own = port.and_then(|port| Some((port, self.by_port.get(&port)?)));
        let (port, place) = match own {
            Some((port, place)) => (Some(port), place),
            None => (None, &self.other),
        };
        match place.get() {
            Some(client) => Ok(client),
            None => {
                let client = self.made(port)?;
                Ok(place.get_or_init(|| client))
            }
        }
    }

    fn made(&self, port: Option<u16>) -> Result<Client, reqwest::Error> {
        let resolver = Guarded {
            guard: Arc::clone(&self.guard),
            port,
        };
        Client::builder()
            .dns_resolver(Arc::new(resolver))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .referer(false)
            .user_agent(USER_AGENT)
            .timeout(self.settings.timeout)
            .connect_timeout(self.settings.connect_timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(self.settings.per_host)
            .build()
    }
}
