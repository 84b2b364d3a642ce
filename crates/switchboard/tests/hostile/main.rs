//! Bad input: every request that is not right gets the documented answer, costs little, and leaves the server as
//! healthy as it was. The real binary, over real sockets.
//!
//! | file | what is attacked |
//! |---|---|
//! | `envelope` | the JSON-RPC envelope and the encoding of bodies |
//! | `fields` | the members of messages and parameters, in all four bindings and versions |
//! | `queries` | REST: queries, paths, verbs |
//! | `headers` | headers that mean something here |
//! | `sockets` | HTTP itself: broken heads, chunks, half-closed sockets, HTTP/1.0, HTTP/2 |
//! | `sizes` | bodies, arrays, nesting; memory |
//! | `readers` | answers and streams that nobody reads; memory |
//! | `limits` | slow clients, too many connections, too many streams |
//! | `smuggling` | requests that hide another one |
//! | `inside` | webhooks that point to where only the server can reach |
//! | `tasks` | tasks that are unknown, over, or asked for twice at once |
#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod envelope;
mod fields;
mod headers;
mod inside;
mod limits;
mod queries;
mod readers;
mod sizes;
mod smuggling;
mod sockets;
mod tasks;
mod wire;

use switchboard_testkit::Server;

/// Agents that answer at once, ask, and never end.
const AGENTS: &str = "
agents:
  echo:
    description: Says what it is told
    input_modes: ['*/*']
    script: [{ complete: '{{text}}' }]
  asker:
    description: Asks
    script: [{ ask: 'what else?' }]
  sleeper:
    description: Takes its time
    script: [{ say: working }, { wait: 60m }]
";

/// A server with those agents and some limits.
async fn server(limits: &str) -> Server {
    Server::serve(&format!("{limits}{AGENTS}")).await
}
