//! Which interfaces cards offer, and whether requests must name their version.

use switchboard_server::card::GrpcAddress;
use switchboard_types::VersionHeader;
use switchboard_types::model::Binding;

use super::{PARROT, Written, good};
use crate::config::Flags;

#[test]
fn cards_offer_no_grpc_unless_the_server_or_the_agent_asks_for_it() {
    let config = good(PARROT);
    let offered = &config.agents[0].profile.interfaces;
    assert_eq!(offered.bindings, [Binding::JsonRpc, Binding::HttpJson]);
    assert_eq!(offered.grpc_address, GrpcAddress::Url);

    let config = good(
        "interfaces: [grpc, rest]\ngrpc_address: host_port\nagents:\n  a: {script: []}\n  \
         b: {script: [], interfaces: [http_json, jsonrpc]}\n  c: {script: [], grpc_address: url}\n",
    );
    let offered: Vec<_> = config
        .agents
        .iter()
        .map(|a| &a.profile.interfaces)
        .collect();
    assert_eq!(offered[0].bindings, [Binding::Grpc, Binding::HttpJson]);
    assert_eq!(offered[0].grpc_address, GrpcAddress::HostPort);
    assert_eq!(offered[1].bindings, [Binding::HttpJson, Binding::JsonRpc]);
    assert_eq!(offered[2].bindings, [Binding::Grpc, Binding::HttpJson]);
    assert_eq!(offered[2].grpc_address, GrpcAddress::Url);
}

#[test]
fn variables_set_interfaces_and_the_required_version() {
    let variables = [
        ("SWITCHBOARD_INTERFACES", "jsonrpc, grpc"),
        ("SWITCHBOARD_GRPC_ADDRESS", "host_port"),
        ("SWITCHBOARD_REQUIRE_VERSION", "true"),
    ];
    let config = Written::new(PARROT).load_with(&variables, &Flags::default());
    let config = config.unwrap();
    let offered = &config.agents[0].profile.interfaces;
    assert_eq!(offered.bindings, [Binding::JsonRpc, Binding::Grpc]);
    assert_eq!(offered.grpc_address, GrpcAddress::HostPort);
    assert_eq!(config.version_header, VersionHeader::Required);
    assert_eq!(good(PARROT).version_header, VersionHeader::Optional);
}

#[test]
fn wrong_interfaces_are_refused_with_their_place() {
    for (yaml, problem) in [
        (
            "interfaces: [grpc]\n",
            "switchboard.yaml:1:1: interfaces: must list `jsonrpc` or `http_json`\n  hint: gRPC does not reach every \
             agent in every version: list it beside one of them",
        ),
        (
            "interfaces: [jsonrpc, rest, http_json]\n",
            "switchboard.yaml:1:29: interfaces[2]: is listed twice",
        ),
        (
            "interfaces: [jsonrcp]\n",
            "switchboard.yaml:1:14: interfaces[0]: unknown value `jsonrcp`\n  hint: did you mean `jsonrpc`?",
        ),
        (
            "grpc_address: hostport\n",
            "switchboard.yaml:1:15: grpc_address: unknown value `hostport`\n  hint: did you mean `host_port`?",
        ),
    ] {
        let problems = Written::new(&format!("{yaml}{PARROT}")).problems(&[]);
        assert_eq!(problems, problem, "{yaml}");
    }
    let empty = "agents: {a: {script: [], interfaces: []}}\n";
    let problems = Written::new(empty).problems(&[]);
    assert!(
        problems.contains("agents.a.interfaces: must list"),
        "{problems}"
    );
}

#[test]
fn grpc_below_a_path_is_doubted() {
    let doubts = |yaml: &str| {
        let config = good(&format!("{yaml}{PARROT}"));
        let doubts = config.doubts.iter().map(ToString::to_string);
        doubts.filter(|doubt| doubt.contains("gRPC")).count()
    };
    let grpc = "interfaces: [jsonrpc, grpc]\n";
    assert_eq!(
        doubts(&format!("public_url: https://a.example/team\n{grpc}")),
        1
    );
    assert_eq!(
        doubts(&format!("public_url: https://a.example/\n{grpc}")),
        0
    );
    assert_eq!(doubts("public_url: https://a.example/team\n"), 0);
}
