//! Servers to call.

mod cutter;
mod house;
mod odd;

pub(crate) use cutter::Cutter;
pub(crate) use house::{House, required};
pub(crate) use odd::{Asked, Body, Odd, Then, json, plain, sse, status};

use switchboard_client::{Client, Preference, Retry};
use switchboard_types::ProtocolVersion;
use switchboard_types::model::Binding;

/// Everything that can be spoken with every agent, as a preference for it. gRPC 0.3 cannot name an agent.
pub(crate) fn ways() -> Vec<Preference> {
    let all = everything();
    let named = all.iter().filter(|way| {
        way.bindings != [Binding::Grpc] || way.versions.iter().all(|v| v.has_tenants())
    });
    named.cloned().collect()
}

/// Everything that can be spoken with the default agent.
pub(crate) fn everything() -> Vec<Preference> {
    let bindings = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
    let both = bindings.into_iter().flat_map(|binding| {
        ProtocolVersion::ALL.map(|version| Preference {
            bindings: vec![binding.clone()],
            versions: vec![version],
        })
    });
    both.collect()
}

/// A client that speaks in that way, and waits for nothing.
pub(crate) async fn connect(base: &str, way: &Preference) -> Client {
    let client = Client::builder()
        .preference(way.clone())
        .retry(quick())
        .connect(base)
        .await
        .unwrap();
    let spoken = client.interface();
    assert_eq!(spoken.interface.binding, way.bindings[0]);
    assert_eq!(spoken.version, way.versions[0]);
    client
}

/// Asks again, but soon.
pub(crate) fn quick() -> Retry {
    Retry {
        first: std::time::Duration::from_millis(1),
        longest: std::time::Duration::from_millis(20),
        ..Retry::default()
    }
}

/// An address where nobody listens.
pub(crate) async fn nowhere() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
