//! What the official conformance kit looks at and can be told without it, in the same profiles
//! (`conformance/profiles`): so that it stays true on machines that have no kit.

mod files;
mod lenient;
mod v0_3;
mod v1_0;

use std::path::Path;

use switchboard_testkit::Server;

/// A server in one of the profiles.
async fn profile(name: &str) -> Server {
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/profiles");
    Server::profile(&profiles.join(name).with_extension("yaml")).await
}
