//! `switchboard serve`: the agents of a configuration file.

use std::path::PathBuf;

use super::args::{Global, ServeArgs};
use super::banner::{self, Banner};
use super::{Failure, block_on};
use crate::app::{Listening, ToTrust};
use crate::config::{Config, Env, Source, load};
use crate::reload::Origin;
use crate::{app, telemetry};

/// The file that is read if none is named.
pub(super) const DEFAULT_FILE: &str = "switchboard.yaml";

pub(super) fn run(args: &ServeArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let origin = Origin {
        file: file(args.config.clone())?,
        env: env.clone(),
        flags: args.place.flags(global),
    };
    let config = load(&Source::File(origin.file.clone()), env, &origin.flags)?;
    telemetry::start(&config.log).map_err(Failure::Failed)?;
    let shown = config.clone();
    block_on(app::serve(config, Some(origin), move |listening| {
        banner::print(&welcome(&shown, &listening));
        let (address, tls) = (listening.address, listening.encrypted);
        tracing::info!(addr = %address, tls, "listening");
        match listening.to_trust {
            None => {}
            Some(ToTrust::File(file)) => {
                tracing::info!(file = %file.display(), "self-signed certificate, clients must trust it");
            }
            Some(ToTrust::Fingerprint(fingerprint)) => {
                tracing::info!(fingerprint, "self-signed certificate");
            }
        }
    }))
}

/// The agents with their addresses, for whoever starts it by hand.
pub(super) fn welcome(config: &Config, listening: &Listening) -> String {
    let banner = Banner::new(config, listening);
    format!("{}{}", banner.addresses(), banner.facts())
}

/// The configuration file: the one named, or the one here.
pub(super) fn file(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    match named {
        Some(file) => Ok(file),
        None if PathBuf::from(DEFAULT_FILE).exists() => Ok(PathBuf::from(DEFAULT_FILE)),
        None => Err(Failure::Usage(
            format!("no {DEFAULT_FILE} in this directory"),
            "name a configuration file, or try `switchboard up`, which needs none".to_owned(),
        )),
    }
}
