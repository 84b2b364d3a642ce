//! Clients of other projects against our server.

use std::time::Duration;

use serde_json::Value;
use switchboard_testkit::Server;

use crate::environment::{Environment, printed};
use crate::{column, conformance};

/// How long a column may take: a client gives a row 30 s.
const PATIENCE: Duration = Duration::from_secs(150);

/// Runs the client of an SDK over a binding in a version.
async fn client(environment: Environment, peer: &str, binding: &str, version: &str) {
    run(environment, peer, binding, version, "peers.yaml").await;
}

/// Runs the client of a framework, which chooses the binding itself, against a server with default settings.
async fn framework(environment: Environment, peer: &str, version: &str) {
    run(environment, peer, "jsonrpc", version, "frameworks.yaml").await;
}

async fn run(environment: Environment, peer: &str, binding: &str, version: &str, profile: &str) {
    let profiles = conformance().join("profiles");
    let server = Server::profile(&profiles.join(profile)).await;
    let strict = Server::profile(&profiles.join("peers_strict.yaml")).await;
    let mut command = environment.command("clients");
    command
        .args(["--url", &server.url("/a2a/peer")])
        .args(["--strict-url", &strict.url("/a2a/strict")])
        .args(["--binding", binding, "--version", version]);
    let cells: Vec<Value> = printed(command, PATIENCE)
        .await
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is a cell"))
        .collect();
    let name = format!("{peer} client {binding} {version}");
    column::check(&name, &cells).await;
    for log in [server.logged(), strict.logged()] {
        assert!(!log.contains(r#""level":"ERROR""#), "{log}");
    }
}

#[tokio::test]
async fn python_0_3_26_over_json_rpc() {
    client(Environment::Python03, "python 0.3.26", "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn python_0_3_26_over_rest() {
    client(Environment::Python03, "python 0.3.26", "rest", "0.3").await;
}

#[tokio::test]
async fn python_0_3_26_over_grpc() {
    client(Environment::Python03, "python 0.3.26", "grpc", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_over_json_rpc() {
    client(Environment::Python10, "python 1.3.0", "jsonrpc", "1.0").await;
}

#[tokio::test]
async fn python_1_3_0_over_rest() {
    client(Environment::Python10, "python 1.3.0", "rest", "1.0").await;
}

#[tokio::test]
async fn python_1_3_0_over_grpc() {
    client(Environment::Python10, "python 1.3.0", "grpc", "1.0").await;
}

#[tokio::test]
async fn python_1_3_0_over_json_rpc_in_0_3() {
    client(Environment::Python10, "python 1.3.0", "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_over_rest_in_0_3() {
    client(Environment::Python10, "python 1.3.0", "rest", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_over_grpc_in_0_3() {
    client(Environment::Python10, "python 1.3.0", "grpc", "0.3").await;
}

#[tokio::test]
async fn js_1_3_0_over_json_rpc() {
    client(Environment::Js, "js 1.3.0", "jsonrpc", "1.0").await;
}

#[tokio::test]
async fn js_1_3_0_over_rest() {
    client(Environment::Js, "js 1.3.0", "rest", "1.0").await;
}

#[tokio::test]
async fn js_1_3_0_over_grpc() {
    client(Environment::Js, "js 1.3.0", "grpc", "1.0").await;
}

#[tokio::test]
async fn js_1_3_0_over_json_rpc_in_0_3() {
    client(Environment::Js, "js 1.3.0", "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn js_1_3_0_over_rest_in_0_3() {
    client(Environment::Js, "js 1.3.0", "rest", "0.3").await;
}

#[tokio::test]
async fn js_1_3_0_over_grpc_in_0_3() {
    client(Environment::Js, "js 1.3.0", "grpc", "0.3").await;
}

#[tokio::test]
async fn adk_2_13_0() {
    framework(Environment::Adk, "adk 2.13.0", "1.0").await;
}

#[tokio::test]
async fn adk_1_39_1() {
    framework(Environment::Adk1, "adk 1.39.1", "0.3").await;
}

#[tokio::test]
async fn crewai_1_15_30() {
    framework(Environment::CrewAi, "crewai 1.15.30", "0.3").await;
}

#[tokio::test]
async fn strands_1_62_0() {
    framework(Environment::Strands, "strands 1.62.0", "0.3").await;
}
