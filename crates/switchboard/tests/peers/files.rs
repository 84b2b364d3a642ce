//! Files arrive byte by byte as they were sent, with an SDK alone on one side.
//!
//! No SDK is compared with itself: what its client sends is read from our server in 1.0, and what its client reads was
//! put there in 1.0. What our client sends is written to disk by the server of an SDK, and what our client reads was
//! on disk before. So a form that both directions get wrong in the same way shows.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_client::{Client, Preference, Sent, text};
use switchboard_testkit::Server;
use switchboard_types::model::{Binding, Content, Event, Part};
use switchboard_types::operation::SendMessage;
use switchboard_types::{FileBytes, ProtocolVersion};
use tempfile::TempDir;

use crate::agent::Agent;
use crate::conformance;
use crate::environment::{Environment, printed};

/// How long a client may take for all files.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(120);

/// Beyond every buffer of a connection.
const LARGE: usize = (1 << 20) + 1;
/// The servers of the JS SDK take no more than 100 kB.
const LARGE_FOR_JS_SERVERS: usize = (32 << 10) + 1;

/// Every length around the groups of base64, every byte, texts that are base64 by chance and texts that are not, and a
/// large file.
fn corpus(large: usize) -> Vec<Vec<u8>> {
    let bytes = |length: usize| -> Vec<u8> {
        let bytes = (0..length).map(|at| u8::try_from((at * 31 + length) % 251));
        bytes.collect::<Result<_, _>>().expect("bytes")
    };
    let lengths = (0..=9).chain([15, 16, 17, 63, 64, 65, 254, 255, 256, 257]);
    let texts = [
        "A",
        "hi",
        "AAA",
        "hello",
        "deadbeef",
        "SGVsbG8=",
        "U0dWc2JHOD0=",
        "-_-_",
        "====",
        "QQ==\n",
        "\u{e9}\n\u{1f600}",
    ];
    let mut corpus: Vec<Vec<u8>> = lengths.map(bytes).collect();
    corpus.extend(texts.map(|text| text.as_bytes().to_vec()));
    corpus.push((0..=255).collect());
    corpus.push(vec![0xff; 300]);
    corpus.push(bytes(large));
    corpus
}

fn write(folder: &Path, contents: &[Vec<u8>]) {
    std::fs::create_dir_all(folder).expect("a folder");
    for (at, content) in contents.iter().enumerate() {
        std::fs::write(folder.join(format!("{at:03}")), content).expect("a file");
    }
}

fn read(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let contents = files.iter().map(std::fs::read);
    contents.collect::<Result<_, _>>().expect("files")
}

/// Fails with the number and the lengths of what differs: contents are not for eyes.
fn same(found: &[Vec<u8>], sent: &[Vec<u8>], what: &str) {
    let lengths = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(found), lengths(sent), "{what}: the lengths");
    let differs = found
        .iter()
        .zip(sent)
        .position(|(found, sent)| found != sent);
    assert_eq!(differs, None, "{what}: the first that differs");
}

/// The files in parts of 1.0 JSON.
fn contents(parts: &Value) -> Vec<Vec<u8>> {
    let parts = parts.as_array().expect("parts").iter();
    let files = parts.filter_map(|part| part["raw"].as_str());
    files
        .map(|raw| STANDARD.decode(raw).expect("base64"))
        .collect()
}

async fn call(server: &Server, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = server
        .http
        .post(server.url("/a2a/peer"))
        .header("A2A-Version", "1.0")
        .json(&body)
        .send()
        .await
        .expect("an answer");
    let mut answer: Value = answer.json().await.expect("JSON");
    answer["result"].take()
}

/// The client of an SDK against our server.
async fn client(environment: Environment, binding: &str, version: &str) {
    let corpus = corpus(LARGE);
    let dir = TempDir::new().expect("a directory");
    let (files, out) = (dir.path().join("files"), dir.path().join("out"));
    write(&files, &corpus);
    let server = Server::profile(&conformance().join("profiles/peers.yaml")).await;
    let raw = corpus
        .iter()
        .map(|content| json!({"raw": STANDARD.encode(content)}));
    let parts: Vec<Value> = [json!({"text": "file"})].into_iter().chain(raw).collect();
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": parts});
    let seeded = call(&server, "SendMessage", json!({"message": message})).await;
    let task = &seeded["task"];
    same(&contents(&task["artifacts"][0]["parts"]), &corpus, "seeded");
    let mut command = environment.command("files");
    command
        .args(["--url", &server.url("/a2a/peer")])
        .args(["--binding", binding, "--version", version])
        .args(["--task", task["id"].as_str().expect("an id")])
        .arg("--files")
        .arg(&files)
        .arg("--out")
        .arg(&out);
    let said = printed(command, CLIENT_TIMEOUT).await;
    let said: Value = serde_json::from_str(&said).expect("one line of JSON");
    let stored = call(&server, "GetTask", json!({"id": said["sent"]})).await;
    same(&contents(&stored["history"][0]["parts"]), &corpus, "stored");
    for folder in ["answered", "got", "streamed"] {
        same(&read(&out.join(folder)), &corpus, folder);
    }
}

#[tokio::test]
async fn python_0_2_16_client_over_json_rpc() {
    client(Environment::Python02, "jsonrpc", "0.2").await;
}

#[tokio::test]
async fn python_0_2_16_client_over_grpc() {
    client(Environment::Python02, "grpc", "0.2").await;
}

#[tokio::test]
async fn python_0_3_26_client_over_json_rpc() {
    client(Environment::Python03, "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn python_0_3_26_client_over_rest() {
    client(Environment::Python03, "rest", "0.3").await;
}

#[tokio::test]
async fn python_0_3_26_client_over_grpc() {
    client(Environment::Python03, "grpc", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_client_over_json_rpc() {
    client(Environment::Python10, "jsonrpc", "1.0").await;
}

#[tokio::test]
async fn python_1_3_0_client_over_rest() {
    client(Environment::Python10, "rest", "1.0").await;
}

#[tokio::test]
async fn python_1_3_0_client_over_grpc() {
    client(Environment::Python10, "grpc", "1.0").await;
}

#[tokio::test]
async fn python_1_3_0_client_over_json_rpc_in_0_3() {
    client(Environment::Python10, "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_client_over_rest_in_0_3() {
    client(Environment::Python10, "rest", "0.3").await;
}

#[tokio::test]
async fn python_1_3_0_client_over_grpc_in_0_3() {
    client(Environment::Python10, "grpc", "0.3").await;
}

#[tokio::test]
async fn js_0_2_5_client_over_json_rpc() {
    client(Environment::Js02, "jsonrpc", "0.2").await;
}

#[tokio::test]
async fn js_0_3_14_client_over_json_rpc() {
    client(Environment::Js03, "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn js_0_3_14_client_over_rest() {
    client(Environment::Js03, "rest", "0.3").await;
}

#[tokio::test]
async fn js_0_3_14_client_over_grpc() {
    client(Environment::Js03, "grpc", "0.3").await;
}

#[tokio::test]
async fn js_1_3_0_client_over_json_rpc() {
    client(Environment::Js, "jsonrpc", "1.0").await;
}

#[tokio::test]
async fn js_1_3_0_client_over_rest() {
    client(Environment::Js, "rest", "1.0").await;
}

#[tokio::test]
async fn js_1_3_0_client_over_grpc() {
    client(Environment::Js, "grpc", "1.0").await;
}

#[tokio::test]
async fn js_1_3_0_client_over_json_rpc_in_0_3() {
    client(Environment::Js, "jsonrpc", "0.3").await;
}

#[tokio::test]
async fn js_1_3_0_client_over_rest_in_0_3() {
    client(Environment::Js, "rest", "0.3").await;
}

#[tokio::test]
async fn js_1_3_0_client_over_grpc_in_0_3() {
    client(Environment::Js, "grpc", "0.3").await;
}

/// A message whose first word says what the server of an SDK does, with files.
fn message(word: &str, contents: &[Vec<u8>]) -> SendMessage {
    let mut send = text(word);
    let files = contents.iter().cloned().map(Bytes::from).map(Content::Raw);
    send.message.parts.extend(files.map(Part::new));
    send
}

fn raw<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Vec<Vec<u8>> {
    let files = parts.into_iter().filter_map(|part| match &part.content {
        Content::Raw(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    files.collect()
}

/// Our client against the server of an SDK, over every binding in a version.
async fn server(
    environment: Environment,
    version: ProtocolVersion,
    files: FileBytes,
    large: usize,
) {
    let corpus = corpus(large);
    for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
        let dir = TempDir::new().expect("a directory");
        write(&dir.path().join("out"), &corpus);
        let agent = Agent::with_files(environment, dir.path()).await;
        let what = format!("{} {binding:?} {}", agent.peer, version.name());
        let client = Client::builder()
            .only(Preference {
                bindings: vec![binding.clone()],
                versions: vec![version],
            })
            .file_bytes(files)
            .connect(agent.url.as_str())
            .await
            .expect("a client");
        assert_eq!(client.interface().interface.binding, binding, "{what}");
        let sent = client.send(message("keep", &corpus)).await;
        assert!(matches!(sent, Ok(Sent::Task(_))), "{what}: {sent:?}");
        same(
            &read(&dir.path().join("in")),
            &corpus,
            &format!("{what}: kept"),
        );
        let Sent::Task(given) = client.send(message("give", &[])).await.expect("files") else {
            panic!("{what}: no task");
        };
        let parts = given.artifacts.iter().flat_map(|artifact| &artifact.parts);
        same(&raw(parts), &corpus, &format!("{what}: given"));
        let got = client.get(&given.id, None).await.expect("a task");
        let parts = got.artifacts.iter().flat_map(|artifact| &artifact.parts);
        same(&raw(parts), &corpus, &format!("{what}: got"));
        let mut events = client.stream(message("give", &[])).await.expect("a stream");
        let mut streamed = Vec::new();
        while let Some(item) = events.next().await {
            if let Event::Artifact(update) = item.expect("an event").event {
                streamed.extend(raw(&update.artifact.parts));
            }
        }
        same(&streamed, &corpus, &format!("{what}: streamed"));
    }
}

#[tokio::test]
async fn python_0_3_26_server() {
    let version = ProtocolVersion::V0_3;
    server(Environment::Python03, version, FileBytes::Base64, LARGE).await;
}

#[tokio::test]
async fn python_1_3_0_server() {
    let version = ProtocolVersion::V1_0;
    server(Environment::Python10, version, FileBytes::Base64, LARGE).await;
}

#[tokio::test]
async fn python_1_3_0_server_in_0_3() {
    let version = ProtocolVersion::V0_3;
    server(Environment::Python10, version, FileBytes::Base64, LARGE).await;
}

#[tokio::test]
async fn js_1_3_0_server() {
    let version = ProtocolVersion::V1_0;
    let large = LARGE_FOR_JS_SERVERS;
    server(Environment::Js, version, FileBytes::Base64, large).await;
}

#[tokio::test]
async fn js_1_3_0_server_in_0_3() {
    let version = ProtocolVersion::V0_3;
    let large = LARGE_FOR_JS_SERVERS;
    server(Environment::Js, version, FileBytes::Raw, large).await;
}

#[tokio::test]
async fn js_0_3_14_server() {
    let version = ProtocolVersion::V0_3;
    let large = LARGE_FOR_JS_SERVERS;
    server(Environment::Js03, version, FileBytes::Raw, large).await;
}
