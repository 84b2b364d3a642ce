//! `switchboard up`: built-in agents, no configuration, and a few lines that say what to try.

use super::args::{Global, UpArgs};
use super::banner::{self, Banner};
use super::{Failure, block_on};
use crate::app::Listening;
use crate::config::{Config, Env, Source, Store, load};
use crate::{app, telemetry};

pub(super) fn run(args: &UpArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = load(&Source::BuiltIn, env, &args.place.flags(global))?;
    telemetry::start(&config.log).map_err(Failure::Failed)?;
    let shown = config.clone();
    block_on(app::serve(config, None, move |listening| {
        banner::print(&welcome(&shown, &listening, std::process::id()));
    }))
}

/// What a newcomer sees: at most twelve lines, each command ready to paste.
pub(super) fn welcome(config: &Config, listening: &Listening, process: u32) -> String {
    let banner = Banner::new(config, listening);
    let at = banner.agent(&config.default_agent);
    let research = config.agents.iter().find(|a| &*a.name == "research");
    let research = research.map(|agent| banner.agent(&agent.name));
    let slow = research
        .as_deref()
        .map(|url| (url, "rivers in 8 chunks every 500ms"));
    let mut text = format!(
        "  agents    {agents}   at {base}\n{facts}\n{commands}",
        agents = listening.agents.join(" "),
        base = banner.base,
        facts = banner.facts(),
        commands = banner.commands(&at, slow),
    );
    if let (Some((slow, _)), Store::Sqlite(_)) = (slow, &config.store) {
        text.push_str(&format!(
            "  crash     kill -9 {process} while research works, start again, and follow the task to its end:
            {subscribe} -a {slow} TASK_ID
",
            subscribe = banner.switchboard("task subscribe"),
        ));
    }
    text
}
