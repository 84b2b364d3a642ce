//! How what stands behind an agent is: whether it can be reached, and what has changed there. For those who run the
//! gateway; callers are told by their tasks.

use std::fmt;

use switchboard_types::model::Timestamp;

use crate::clock;

/// Whether what stands behind an agent can work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether it can.
    pub state: HealthState,
    /// What was found, in words, without anything secret.
    pub detail: String,
    /// When it was looked at.
    pub checked: Timestamp,
}

/// See [`Health::state`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthState {
    /// It answers.
    Up,
    /// It does not.
    Down,
    /// Nobody knows.
    Unknown,
}

impl Health {
    /// It answers.
    pub fn up(detail: impl Into<String>) -> Self {
        Self::now(HealthState::Up, detail.into())
    }

    /// It does not answer, or not as it should.
    pub fn down(detail: impl Into<String>) -> Self {
        Self::now(HealthState::Down, detail.into())
    }

    /// It was not asked.
    pub fn unknown(detail: impl Into<String>) -> Self {
        Self::now(HealthState::Unknown, detail.into())
    }

    fn now(state: HealthState, detail: String) -> Self {
        Self {
            state,
            detail,
            checked: clock::now(),
        }
    }
}

/// What had changed behind an agent when it was noticed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// When it was noticed.
    pub noticed: Timestamp,
    /// What is different, at least one thing.
    pub changes: Vec<Difference>,
}

/// One thing that is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub what: Subject,
    /// What it was, in words; nothing if it is new.
    pub was: Option<String>,
    /// What it is now, in words; nothing if it is gone.
    pub now: Option<String>,
}

/// What can be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Its name.
    Name,
    /// Its description.
    Description,
    /// Its version.
    Version,
    /// Where and how it is spoken to.
    Interfaces,
    /// What it can do with tasks.
    Capabilities,
    /// Whom it asks who they are.
    Security,
    /// The media types that it takes.
    InputModes,
    /// The media types that it gives.
    OutputModes,
    /// One of its skills, by id.
    Skill(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Version => "version",
            Self::Interfaces => "interfaces",
            Self::Capabilities => "capabilities",
            Self::Security => "security",
            Self::InputModes => "input modes",
            Self::OutputModes => "output modes",
            Self::Skill(id) => return write!(f, "skill {id:?}"),
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match (&self.was, &self.now) {
            (None, _) => write!(f, "{what} is new"),
            (_, None) => write!(f, "{what} is gone"),
            // It is different where the words are not.
            (was, now) if was == now => write!(f, "{what} changed"),
            (Some(_), Some(_)) if matches!(what, Subject::Skill(_)) => write!(f, "{what} changed"),
            (Some(was), Some(now)) => write!(f, "{what} is {now:?}, was {was:?}"),
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, change) in self.changes.iter().enumerate() {
            let apart = if number > 0 { "; " } else { "" };
            write!(f, "{apart}{change}")?;
        }
        Ok(())
    }
}
