//! The extended card.

use switchboard_types::operation::Response;
use switchboard_types::{Error, ErrorKind};

use super::{Engine, Scope};

impl Engine {
    pub(super) fn extended_card(&self, scope: &Scope) -> Result<Response, Error> {
        let profile = self.profile();
        match (
            &profile.extended,
            profile.card.capabilities.extended_agent_card,
        ) {
            (Some(_), Some(true)) if scope.principal.is_anonymous() => Err(Error::new(
                ErrorKind::PermissionDenied,
                "the extended card requires authentication",
            )),
            (Some(card), Some(true)) => {
                let base_url = &scope.params.base_url;
                let card = profile.complete(card.clone(), base_url, self.name());
                Ok(Response::Card(Box::new(card)))
            }
            (None, Some(true)) => Err(Error::new(
                ErrorKind::ExtendedAgentCardNotConfigured,
                "the extended card is advertised but not configured",
            )),
            _ => Err(Error::new(
                scope.params.dialect.no_extended_card(),
                "this agent has no extended card",
            )),
        }
    }
}
