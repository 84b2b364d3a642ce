//! Our client against servers of other projects.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{Client, Error, Kind, Preference};
use switchboard_types::ProtocolVersion;
use switchboard_types::model::Binding;
use tokio::time::{Instant, timeout};

use crate::agent::Agent;
use crate::environment::Environment;
use crate::rows::{Failure, Nothing};
use crate::{column, conformance, rows};

/// How long a row may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a call may.
const CALL: Duration = Duration::from_secs(8);

/// What the rows work with.
pub(crate) struct Column {
    pub(crate) agent: Agent,
    binding: Binding,
    version: ProtocolVersion,
}

impl Column {
    /// Whether files have names here, which the .proto file of 0.3 lacks.
    pub(crate) fn carries_names(&self) -> bool {
        (&self.binding, self.version) != (&Binding::HttpJson, ProtocolVersion::V0_3)
    }

    /// A client that speaks what the column is about.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        self.connect(&self.agent.url, None).await
    }

    /// The same at another address, asking for an extension if it has to.
    pub(crate) async fn connect(
        &self,
        url: &str,
        extension: Option<&str>,
    ) -> Result<Client, Failure> {
        let mut builder = Client::builder()
            .preference(Preference {
                bindings: vec![self.binding.clone()],
                versions: vec![self.version],
            })
            .address(self.agent.address)
            .file_bytes(self.agent.file_bytes())
            .timeout(CALL);
        if let Some(uri) = extension {
            builder = builder.extension(uri);
        }
        let client = builder.connect(url).await?;
        let chosen = client.interface();
        let found = (&chosen.interface.binding, chosen.version);
        rows::same(&found, &(&self.binding, self.version), "what is spoken")?;
        Ok(client)
    }
}

async fn run(agent: Agent, binding: (&str, Binding), version: ProtocolVersion) {
    let named = format!("{} server {} {}", agent.peer, binding.0, version.name());
    let column = Column {
        agent,
        binding: binding.1,
        version,
    };
    let mut cells = Vec::new();
    let rows = std::fs::read_to_string(conformance().join("peers/rows.txt")).expect("the rows");
    for row in rows.split_whitespace() {
        let began = Instant::now();
        let (outcome, detail) = match timeout(PATIENCE, rows::fill(&column, row)).await {
            Ok(Ok(detail)) => ("ok", detail),
            Ok(Err(failure)) => told(&failure),
            Err(_) => ("failed", format!("not done after {PATIENCE:?}")),
        };
        cells.push(cell(&column, binding.0, row, outcome, &detail, began));
    }
    column::check(&named, &cells).await;
}

/// What the agent does not offer is no failure, if the client says so.
fn told(failure: &Failure) -> (&'static str, String) {
    let not_offered = failure
        .downcast_ref::<Error>()
        .is_some_and(|error| error.kind() == Kind::NotOffered)
        || failure.is::<Nothing>();
    let outcome = if not_offered { "none" } else { "failed" };
    (outcome, failure.to_string())
}

fn cell(
    column: &Column,
    binding: &str,
    row: &str,
    outcome: &str,
    detail: &str,
    began: Instant,
) -> Value {
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    json!({
        "peer": column.agent.peer, "role": "server", "binding": binding, "version": column.version.name(),
        "row": row, "outcome": outcome, "detail": detail, "ms": ms,
    })
}

const JSON_RPC: (&str, Binding) = ("jsonrpc", Binding::JsonRpc);
const REST: (&str, Binding) = ("rest", Binding::HttpJson);
const GRPC: (&str, Binding) = ("grpc", Binding::Grpc);

#[tokio::test]
async fn python_0_3_26_over_json_rpc() {
    let agent = Agent::start(Environment::Python03).await;
    run(agent, JSON_RPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn python_0_3_26_over_rest() {
    let agent = Agent::start(Environment::Python03).await;
    run(agent, REST, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn python_1_3_0_over_json_rpc() {
    let agent = Agent::start(Environment::Python10).await;
    run(agent, JSON_RPC, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn python_1_3_0_over_rest() {
    let agent = Agent::start(Environment::Python10).await;
    run(agent, REST, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn python_1_3_0_over_json_rpc_in_0_3() {
    let agent = Agent::start(Environment::Python10).await;
    run(agent, JSON_RPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn python_1_3_0_over_rest_in_0_3() {
    let agent = Agent::start(Environment::Python10).await;
    run(agent, REST, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn js_1_3_0_over_json_rpc() {
    let agent = Agent::start(Environment::Js).await;
    run(agent, JSON_RPC, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn js_1_3_0_over_rest() {
    let agent = Agent::start(Environment::Js).await;
    run(agent, REST, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn js_1_3_0_over_json_rpc_in_0_3() {
    let agent = Agent::start(Environment::Js).await;
    run(agent, JSON_RPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn js_1_3_0_over_rest_in_0_3() {
    let agent = Agent::start(Environment::Js).await;
    run(agent, REST, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn python_0_3_26_over_grpc() {
    let agent = Agent::start(Environment::Python03).await;
    run(agent, GRPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn python_1_3_0_over_grpc() {
    let agent = Agent::start(Environment::Python10).await;
    run(agent, GRPC, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn python_1_3_0_over_grpc_in_0_3() {
    let agent = Agent::start(Environment::Python10).await;
    run(agent, GRPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn js_1_3_0_over_grpc() {
    let agent = Agent::start(Environment::Js).await;
    run(agent, GRPC, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn js_1_3_0_over_grpc_in_0_3() {
    let agent = Agent::start(Environment::Js).await;
    run(agent, GRPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn langgraph_0_16_7() {
    let agent = Agent::langgraph(Environment::LangGraph).await;
    run(agent, JSON_RPC, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn langgraph_0_6_39() {
    let agent = Agent::langgraph(Environment::LangGraph06).await;
    run(agent, JSON_RPC, ProtocolVersion::V0_3).await;
}

#[tokio::test]
async fn adk_2_13_0() {
    let agent = Agent::start(Environment::Adk).await;
    run(agent, JSON_RPC, ProtocolVersion::V1_0).await;
}

#[tokio::test]
async fn adk_1_39_1() {
    let agent = Agent::start(Environment::Adk1).await;
    run(agent, JSON_RPC, ProtocolVersion::V0_3).await;
}
