//! One token for all who want it: who comes first asks for it, the others wait and get the same.

use std::future::Future;

use switchboard_types::model::Secret;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::AccessToken;
use super::grant::Token;
use crate::error::{Error, Kind};

/// The token that is good now.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Option<Got>>);

#[derive(Debug)]
struct Got {
    /// When it came; `None` once it was refused.
    at: Option<Instant>,
    what: Result<Token, Failed>,
}

/// Why none came, for those who waited for it.
#[derive(Debug)]
struct Failed {
    kind: Kind,
    message: String,
}

impl Held {
    /// A token that is good now; `renew` gets one, with what refreshes the last one. What came while we waited is
    /// taken as it is, even a failure: a crowd does not ask one by one.
    pub(super) async fn get<F>(
        &self,
        deadline: Instant,
        renew: impl FnOnce(Option<Secret>) -> F,
    ) -> Result<AccessToken, Error>
    where
        F: Future<Output = Result<Token, Error>>,
    {
        let asked = Instant::now();
        let Ok(mut held) = timeout_at(deadline, self.0.lock()).await else {
            return Err(too_late());
        };
        if let Some(got) = &*held {
            let just_now = got.at.is_some_and(|at| at > asked);
            match &got.what {
                Ok(token) if just_now || token.is_good() => return Ok(given(token)),
                Err(failed) if just_now => {
                    return Err(Error::new(failed.kind, failed.message.as_str()));
                }
                Ok(_) | Err(_) => {}
            }
        }
        let old = held.take().and_then(|got| got.what.ok()?.refresh);
        let (what, answer) = match renew(old).await {
            Ok(token) => {
                let given = given(&token);
                (Ok(token), Ok(given))
            }
            // Others may have more time than we had.
            Err(error) if error.kind() == Kind::Timeout => return Err(error),
            Err(error) => {
                let (kind, message) = (error.kind(), error.to_string());
                (Err(Failed { kind, message }), Err(error))
            }
        };
        *held = Some(Got {
            at: Some(Instant::now()),
            what,
        });
        answer
    }

    /// A token was refused: if it is the one that is held, it is no longer good. Whether another one may be had,
    /// which others may have asked for already.
    pub(super) fn forget(&self, refused: impl Fn(&Secret) -> bool) -> bool {
        let Ok(mut held) = self.0.try_lock() else {
            return true;
        };
        let Some(got) = held.as_mut() else {
            return false;
        };
        if let Ok(token) = &mut got.what
            && refused(&token.access)
        {
            token.good_until = Instant::now();
            got.at = None;
        }
        got.what.is_ok()
    }

    /// Until when the token is good; `None` if there is none, or one is on its way.
    pub(super) fn good_until(&self) -> Option<Instant> {
        let held = self.0.try_lock().ok()?;
        let token = held.as_ref()?.what.as_ref().ok()?;
        Some(token.good_until)
    }
}

fn given(token: &Token) -> AccessToken {
    AccessToken {
        token: token.access.clone(),
        lasts: token.good_until.saturating_duration_since(Instant::now()),
    }
}

/// What is said to one who has waited for a token long enough.
pub(super) fn too_late() -> Error {
    Error::new(Kind::Timeout, "no token came in time")
}
