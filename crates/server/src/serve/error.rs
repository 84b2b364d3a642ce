//! Why a server does not start.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::directory::AgentNameError;
use crate::store;

/// Why a server does not start, or has to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// There is nothing to serve.
    #[error("the server has no agent: add one with `agent`")]
    NoAgents,
    /// A name cannot be part of a URL.
    #[error("{error}; {}", .error.hint())]
    AgentName {
        /// What is wrong with it.
        #[from]
        error: AgentNameError,
    },
    /// A name says which agent is called.
    #[error("there are two agents named `{0}`")]
    DuplicateAgent(Arc<str>),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address, as it was given.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// Everyone could call the agents, and nobody has said that this is meant.
    #[error(
        "{0} can be reached from other machines, without authentication: set `authentication`, or `public` if everyone \
         who can reach it may call the agents"
    )]
    Exposed(SocketAddr),
    /// The store cannot be opened, read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The key of the data directory cannot be read or created.
    #[error(transparent)]
    Key(io::Error),
    /// The process cannot listen for the signals that stop it.
    #[error("cannot listen for signals: {0}")]
    Signal(io::Error),
}
