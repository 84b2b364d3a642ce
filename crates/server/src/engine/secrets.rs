//! Messages that answer a question for a secret: the log shows only that they came, and the record of the turn keeps them
//! sealed until the turn ends, so that a restart can resume it.

use std::sync::Arc;

use switchboard_types::model::Message;
use switchboard_types::{Dialect, wire};

use super::Engine;

impl Engine {
    /// The message, sealed; nothing without a key to seal it with, since it is never stored in clear.
    pub(super) fn seal(&self, message: &Message) -> Option<String> {
        let mut json = Vec::new();
        wire::encode_message(Dialect::V1, message, &mut json);
        self.shared.guard.seal_text(&String::from_utf8(json).ok()?)
    }

    /// A message that [`Engine::seal`] sealed; nothing if another key did.
    pub(super) fn unseal(&self, sealed: &str) -> Option<Arc<Message>> {
        let json = self.shared.guard.open_text(sealed)?;
        let message = wire::decode_message(Dialect::V1, &json).ok()?;
        Some(Arc::new(message))
    }
}
