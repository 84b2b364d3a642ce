//! `switchboard deliveries`: webhooks that fail, and those that were given up.

use super::args::{DeliveriesArgs, Global, Output, Place};
use super::{Failure, block_on};
use crate::config::{Env, Source, load};
use crate::{app, telemetry};

/// Which deliveries to print, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Only those that were given up.
    pub dead_only: bool,
    /// One JSON object a line instead of text.
    pub json: bool,
}

pub(super) fn run(args: &DeliveriesArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let source = match &args.config {
        Some(file) => Source::File(file.clone()),
        None => Source::BuiltIn,
    };
    let place = Place {
        data: args.data.clone(),
        ..Place::default()
    };
    let config = load(&source, env, &place.flags(global))?;
    telemetry::start(&config.log).map_err(Failure::Failed)?;
    let wanted = Wanted {
        dead_only: args.dead,
        json: args.output == Output::Json,
    };
    block_on(app::deliveries(config, wanted))
}
