//! Agents elsewhere, and who ours are there: what is right, and what is wrong.

use std::time::Duration;

use switchboard_agents::profile::Fact;
use switchboard_client::{Address, Reference};
use switchboard_types::FileBytes;

use super::{Written, good};
use crate::config::{Backend, Identity};

const ENV: [(&str, &str); 2] = [("KEY", "s3cr3t"), ("NONE", "a\nb")];

/// One agent with these keys.
fn agent(keys: &str) -> String {
    format!("agents: {{poet: {{{keys}}}}}\n")
}

fn problems(keys: &str) -> String {
    Written::new(&agent(keys)).problems(&ENV)
}

#[test]
fn an_address_is_enough() {
    let config = good(&agent("a2a: {url: 'https://a.example/a2a/poet'}"));
    let agent = &config.agents[0];
    let Backend::Remote(settings, Identity::Nobody) = &agent.backend else {
        panic!("{:?}", agent.backend);
    };
    assert!(matches!(&settings.at, Reference::Url(url) if url.path() == "/a2a/poet"));
    assert_eq!(settings.refresh, Duration::from_secs(300));
    assert!(!settings.idempotent && settings.names_contexts);
    assert_eq!(settings.file_bytes, FileBytes::Base64);
    assert_eq!(agent.gaps.len(), 9);
    // Until its card is known, it is not for us to refuse anything.
    assert_eq!(agent.profile.card.default_input_modes, ["*/*"]);
}

#[test]
fn everything_can_be_said() {
    let config = good(&agent(
        "title: Poet, input_modes: [text/plain], a2a: {url: 'localhost:7420#poet', binding: grpc, \
         version: 1.0, address: given, credentials_to: ['https://b.example:8443'], extensions: ['urn:x'], \
         idempotent: true, contexts: theirs, file_bytes: raw, refresh: 1m}",
    ));
    let agent = &config.agents[0];
    let Backend::Remote(settings, _) = &agent.backend else {
        panic!("{:?}", agent.backend);
    };
    assert!(matches!(&settings.at, Reference::Catalog { name, .. } if name == "poet"));
    assert_eq!(settings.address, Address::Given);
    assert_eq!(
        settings.credentials_to[0].to_string(),
        "https://b.example:8443"
    );
    assert_eq!(settings.preference.bindings.len(), 1);
    assert_eq!(settings.preference.versions.len(), 1);
    assert!(settings.idempotent && !settings.names_contexts);
    assert_eq!(settings.file_bytes, FileBytes::Raw);
    assert!(!agent.gaps.contains(&Fact::Name) && !agent.gaps.contains(&Fact::InputModes));
}

#[test]
fn an_agent_is_somebody_in_four_ways() {
    let client = "client_id: us, secret: '${KEY}'";
    for (identity, shown) in [
        ("headers: {x-key: '${KEY}'}".to_owned(), "Headers"),
        ("forward: [authorization, x-trace]".to_owned(), "Forward"),
        (
            format!("client_credentials: {{token_url: 'https://i.example/t', {client}}}"),
            "Token(Url",
        ),
        (
            format!("token_exchange: {{issuer: 'https://i.example', audience: up, {client}}}"),
            "Token(Issuer",
        ),
    ] {
        let yaml = agent(&format!(
            "a2a: {{url: 'https://a.example'}}, identity: {{{identity}}}"
        ));
        let loaded = Written::new(&yaml).load_with(&ENV, &super::Flags::default());
        let config = loaded.unwrap();
        let Backend::Remote(_, identity) = &config.agents[0].backend else {
            panic!("{yaml}");
        };
        let text = format!("{identity:?}");
        assert!(text.starts_with(shown), "{text}");
        assert!(!text.contains("s3cr3t"), "{text}");
        assert!(!identity.outbound().unwrap().is_nothing());
    }
}

#[test]
fn what_is_wrong_is_named_where_it_stands() {
    let a2a = "a2a: {url: 'https://a.example'}";
    let identity = |keys: &str| format!("{a2a}, identity: {{{keys}}}");
    let cases = [
        (
            "a2a: {url: 'https://u:p@a.example'}".to_owned(),
            "agents.poet.a2a.url: must not have credentials in it",
        ),
        (
            "a2a: {url: './card.json'}".to_owned(),
            "agents.poet.a2a.url: `./card.json` is not the address of an agent",
        ),
        (
            "a2a: {url: 'ftp://a.example'}".to_owned(),
            "agents.poet.a2a.url: ",
        ),
        (
            "a2a: {url: x.example, version: 2.0}".to_owned(),
            "agents.poet.a2a.version: `2.0` is not a supported A2A version",
        ),
        (
            "a2a: {url: x.example, refresh: 0s}".to_owned(),
            "agents.poet.a2a.refresh: must be longer than zero",
        ),
        (
            "a2a: {url: x.example, credentials_to: ['https://b.example', b.example:8443]}"
                .to_owned(),
            "agents.poet.a2a.credentials_to[1]: this is not an origin: it must begin with http:// or https://",
        ),
        (
            "a2a: {url: x.example, ca_file: no.pem}".to_owned(),
            "agents.poet.a2a.ca_file: no.pem cannot be read",
        ),
        ("a2a: {}".to_owned(), "agents.poet.a2a"),
        (
            format!("{a2a}, script: [{{complete: x}}]"),
            "`script` and `a2a` are mutually exclusive",
        ),
        (
            "script: [{complete: x}], identity: {forward: [x-a]}".to_owned(),
            "agents.poet.identity: this agent has no upstream",
        ),
        (identity(""), "agents.poet.identity: is empty"),
        (
            identity("forward: [x-a], headers: {x-b: '${KEY}'}"),
            "`headers` and `forward` are mutually exclusive",
        ),
        (
            identity("forward: ['x y']"),
            "agents.poet.identity.forward[0]: `x y` cannot be the name of a header",
        ),
        (
            identity("forward: [host]"),
            "agents.poet.identity.forward[0]: the header host belongs to a single hop",
        ),
        (
            identity("headers: {x-b: plain}"),
            "agents.poet.identity.headers.x-b: secrets must not be written in the file",
        ),
        (
            identity("client_credentials: {client_id: us, secret: '${KEY}'}"),
            "`token_url` or `issuer` is missing",
        ),
        (
            identity(
                "client_credentials: {token_url: 'http://i.example', client_id: us, secret: '${KEY}'}",
            ),
            "agents.poet.identity.client_credentials.token_url: ",
        ),
        (
            identity("token_exchange: {issuer: 'https://i.example', client_id: us}"),
            "there is no secret",
        ),
    ];
    for (keys, wanted) in cases {
        let found = problems(&keys);
        assert!(found.contains(wanted), "{keys}\n{found}");
        assert!(found.starts_with("switchboard.yaml:1:"), "{found}");
        assert!(!found.contains("s3cr3t"), "{found}");
    }
}
