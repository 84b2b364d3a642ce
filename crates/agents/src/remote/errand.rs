//! What operators see of a turn at the upstream agent: one call that lasts as long as the turn.

use switchboard_server::agent::{AgentError, Ask, Errand, Outcome, Progress, Turn};
use switchboard_server::trace::names;
use switchboard_types::model::TaskId;
use switchboard_types::operation::Method;
use url::Url;

use super::line::Line;
use crate::fetch::place;

impl Line {
    /// A call that begins.
    pub(super) fn errand(&self, turn: &Turn, progress: &Progress) -> Errand {
        let card = self.card().borrow().clone();
        let streams = card.is_none_or(|card| card.capabilities.streaming == Some(true));
        let method = match streams {
            true => Method::Stream,
            false => Method::Send,
        };
        progress.asks(turn, Ask::A2a(method))
    }

    /// A task there works on it.
    pub(super) fn is_at(&self, errand: &Errand, task: &TaskId) {
        if let Some(client) = self.known() {
            let url = place(&client.interface().interface.url);
            errand.is_worked_on(&client.card().name, &url, task.as_str());
        }
    }

    /// So it ends.
    pub(super) fn ended(&self, errand: &Errand, taken: &Result<Outcome, AgentError>) {
        errand.ended(taken);
        let Some(client) = self.known().filter(|_| errand.is_recorded()) else {
            return;
        };
        let chosen = client.interface();
        if let Ok(url) = Url::parse(&chosen.interface.url) {
            errand.at(url.host_str(), url.port_or_known_default());
        }
        errand.set(names::VERSION, chosen.version.name());
        errand.set(names::AGENT, client.card().name.as_str());
    }
}
