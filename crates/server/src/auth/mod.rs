//! Who asks, and may they? Authentication turns what a request carries into a
//! [`Principal`](crate::principal::Principal); no operation runs
//! without one, and none that the agent's policy forbids.
//!
//! - `carried`: what a request carries, as a scheme reads it.
//! - `authenticator`: what was carried becomes identities, whatever the agent.
//! - `method`: the ways to show who one is that Switchboard brings along.
//! - `failures`: the brake on guessing.
//! - `access`: one agent's door. Is one of the identities enough for it?
//! - `policy`: what a policy is asked, and what it says.
//! - `skill`: which skill is asked for, and what it asks of callers.
//! - `decide`: what those who are in may do: scopes, skills, policy.
//! - [`keys`]: API keys.
//! - `audit`: what happened at the doors, written down.

mod access;
mod audit;
mod authenticator;
mod carried;
mod decide;
mod failures;
pub mod keys;
pub mod method;
mod policy;
pub(crate) mod skill;

pub use access::{Access, Alternative};
pub use audit::Audit;
pub use authenticator::{Authenticator, Finding, Rejection, Scheme};
pub use carried::Carried;
pub(crate) use carried::RESOURCE;
pub use failures::Failures;
pub(crate) use policy::AllowAll;
pub use policy::{About, Action, Ask, Denial, Policy, TaskFacts, Verdict};
pub use skill::{SKILL, SkillAccess, asked_for as skill_of};

pub(crate) use access::{Refusal, reader};
pub(crate) use audit::noted;
use authenticator::Rejected;
pub(crate) use authenticator::{KeyDesk, Presented, refused_certificate};
