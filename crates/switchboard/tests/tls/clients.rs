//! Callers who are known by their certificates.

use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use switchboard_client::{Client, Tls};
use switchboard_keys::sha256_hex;
use switchboard_testkit::{answer, eventually, say};

use crate::world::{Authority, Files, How, Issued, Safe, ask, host, run, uri};

const PASSWORD: &str = "open sesame, please";

/// Agents that ask for a certificate, in the forms of both cards, and others.
async fn closed(files: Files, more: &str) -> Safe {
    let authorities = files.text("ca.pem");
    let password = files.write("password", PASSWORD);
    let settings = format!(
        r#"
interfaces: [jsonrpc, http_json, grpc]
auth:
  methods:
    mesh: {{ mtls: {{ subjects: ["spiffe://corp/*", "*.Corp.example"{more}] }} }}
    ops: {{ basic: {{ users: {{ alice: {{ password_file: "{password}" }} }} }} }}
  require: [mesh]
agents:
  new: {{ script: [complete: "{{{{text}}}}"], card: 1.0 }}
  old: {{ script: [complete: done], card: 0.3 }}
  either: {{ script: [complete: done], auth: [mesh, ops] }}
  both: {{ script: [complete: done], auth: [[mesh, ops]] }}
  open: {{ script: [complete: done], auth: none }}
"#
    );
    let tls = format!(", client_ca_file: \"{authorities}\"");
    Safe::with(files, &settings, &tls).await
}

fn robot(files: &Files, name: &str) -> Issued {
    files
        .authority
        .issue(vec![uri(&format!("spiffe://corp/{name}"))])
}

/// A call of 0.3: the status, what is asked for, and the body.
async fn call(
    safe: &Safe,
    client: &reqwest::Client,
    agent: &str,
    method: &str,
    params: Value,
    password: Option<&str>,
) -> (u16, Vec<String>, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = client.post(safe.server.url(&format!("/a2a/{agent}")));
    if let Some(password) = password {
        request = request.basic_auth("alice", Some(password));
    }
    let answer = answer(request.json(&body)).await;
    let asked = answer.headers.get_all("www-authenticate").into_iter();
    let asked = asked.map(|value| value.to_str().expect("text").to_owned());
    (answer.status, asked.collect(), answer.body)
}

async fn send(safe: &Safe, client: &reqwest::Client, agent: &str) -> (u16, Vec<String>, Value) {
    call(safe, client, agent, "message/send", say("hi"), None).await
}

#[tokio::test]
async fn a_caller_is_known_by_the_name_in_its_certificate() {
    let safe = closed(Files::new(), "").await;
    let nobody = safe.client().build().expect("a client");
    let (status, asked, body) = send(&safe, &nobody, "new").await;
    assert_eq!(status, 401);
    assert_eq!(asked, ["ClientCertificate realm=\"switchboard\""]);
    assert_eq!(body["error"]["data"]["schemes"], "mesh", "{body}");
    assert_eq!(send(&safe, &nobody, "open").await.0, 200);

    let stranger = safe
        .files
        .authority
        .issue(vec![uri("spiffe://other/a"), host("corp.example")]);
    let stranger = safe.client_as(&stranger);
    // Who is not known may come again as often as it likes, and harms nobody at its address.
    for _ in 0..30 {
        let (status, asked, _) = send(&safe, &stranger, "new").await;
        assert_eq!(status, 401);
        assert!(
            asked[0].contains("no principal matches the certificate"),
            "{asked:?}"
        );
    }
    assert_eq!(send(&safe, &stranger, "open").await.0, 200);

    let ann = safe.client_as(&robot(&safe.files, "ann"));
    let named = safe.files.authority.issue(vec![host("robot.corp.example")]);
    let bob = safe.client_as(&named);
    let (status, _, task) = send(&safe, &ann, "new").await;
    assert_eq!(status, 200, "{task}");
    assert_eq!(send(&safe, &bob, "new").await.0, 200);
    let get = json!({"id": task["result"]["id"]});
    let (_, _, own) = call(&safe, &ann, "new", "tasks/get", get.clone(), None).await;
    assert_eq!(own["result"]["id"], task["result"]["id"], "{own}");
    let (_, _, foreign) = call(&safe, &bob, "new", "tasks/get", get.clone(), None).await;
    assert_eq!(foreign["error"]["code"], -32001, "{foreign}");
    // Another certificate with the same name is the same caller.
    let again = safe.client_as(&robot(&safe.files, "ann"));
    let (_, _, own) = call(&safe, &again, "new", "tasks/get", get, None).await;
    assert_eq!(own["result"]["id"], task["result"]["id"], "{own}");
}

#[tokio::test]
async fn a_certificate_goes_together_with_other_methods() {
    let safe = closed(Files::new(), "").await;
    let nobody = safe.client().build().expect("a client");
    let robot = safe.client_as(&robot(&safe.files, "ann"));
    let stranger = safe.client_as(&safe.files.authority.issue(vec![uri("spiffe://other/a")]));
    for (agent, client, password, status) in [
        ("either", &nobody, None, 401),
        ("either", &nobody, Some(PASSWORD), 200),
        ("either", &stranger, Some(PASSWORD), 200),
        ("either", &robot, None, 200),
        ("either", &robot, Some("wrong"), 401),
        ("both", &nobody, Some(PASSWORD), 401),
        ("both", &robot, None, 401),
        ("both", &stranger, Some(PASSWORD), 401),
        ("both", &robot, Some(PASSWORD), 200),
    ] {
        let (found, asked, _) =
            call(&safe, client, agent, "message/send", say("hi"), password).await;
        assert_eq!(found, status, "{agent} {password:?}");
        assert_eq!(asked.len(), if status == 200 { 0 } else { 2 }, "{asked:?}");
    }
}

#[tokio::test]
async fn cards_of_every_version_declare_it() {
    let safe = closed(Files::new(), "").await;
    let client = safe.client().build().expect("a client");
    for (agent, scheme, requirement) in [
        (
            "new",
            json!({"mtlsSecurityScheme": {}}),
            "securityRequirements",
        ),
        ("old", json!({"type": "mutualTLS"}), "security"),
    ] {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        let card = answer(client.get(safe.server.url(&path))).await.body;
        assert_eq!(card["securitySchemes"]["mesh"], scheme, "{card}");
        assert!(card[requirement].to_string().contains("mesh"), "{card}");
    }
}

/// Whether a connection comes about and answers.
async fn served(safe: &Safe, how: How<'_>) -> bool {
    // In TLS 1.3 a client learns only from the first answer that it was refused.
    match safe.connect(how).await {
        Ok(mut stream) => ask(&mut stream).await.is_ok(),
        Err(_) => false,
    }
}

#[tokio::test]
async fn a_certificate_of_a_foreign_authority_is_refused() {
    let foreign = Authority::new().issue(vec![uri("spiffe://corp/ann")]);
    for (clients, without, with, with_foreign) in [
        ("off", true, true, true),
        ("optional", true, true, false),
        ("required", false, true, false),
    ] {
        let files = Files::new();
        let own = robot(&files, "ann");
        let expired = files
            .authority
            .issue_expired(vec![uri("spiffe://corp/ann")]);
        let ca = files.text("ca.pem");
        let tls = format!(", client_ca_file: \"{ca}\", client_certificates: {clients}");
        let safe = Safe::with(files, "", &tls).await;
        for version in [&TLS12, &TLS13] {
            for (identity, taken) in [
                (None, without),
                (Some(&own), with),
                (Some(&foreign), with_foreign),
                (Some(&expired), clients == "off"),
            ] {
                let versions = &[version][..];
                let how = How {
                    versions,
                    identity,
                    ..How::default()
                };
                let named = identity.is_some();
                assert_eq!(
                    served(&safe, how).await,
                    taken,
                    "{clients} {version:?} {named}"
                );
            }
        }
    }
}

#[tokio::test]
async fn certificates_that_are_refused_are_written_down() {
    let files = Files::new();
    let names = || vec![uri("spiffe://corp/ann")];
    let expired = files.authority.issue_expired(names());
    let foreign = Authority::new().issue(names());
    let unknown = files.authority.issue(vec![uri("spiffe://other/ann")]);
    let safe = closed(files, "").await;
    for identity in [&expired, &foreign] {
        let how = How {
            identity: Some(identity),
            ..How::default()
        };
        assert!(!served(&safe, how).await);
    }
    let (status, ..) = send(&safe, &safe.client_as(&unknown), "new").await;
    assert_eq!(status, 401);
    let (data, config) = (safe.server.data(), safe.server.configuration());
    let [data, config] = [data, config].map(|path| path.display().to_string());
    let args = ["audit", "-o", "json", "-c", &config, "--data", &data];
    let (told, all) = eventually("three failed logins in the audit log", async || {
        let ran = run(&safe.files.dir, &args).await;
        let lines = ran.out.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines.map(|line| line.expect("JSON")).collect();
        let told = |entry: &Value| {
            assert_eq!(entry["what"], "login-failed", "{entry}");
            assert_eq!(entry["address"], "127.0.0.1", "{entry}");
            let detail = &entry["detail"];
            let of = |name: &str| detail[name].as_str().expect("text").to_owned();
            (of("scheme"), of("cause"))
        };
        let mut told: Vec<_> = lines.iter().map(told).collect();
        told.sort_unstable();
        let pair = |scheme: &str, cause: &str| (scheme.to_owned(), cause.to_owned());
        let all = [
            pair("tls", "Expired"),
            pair("tls", "Invalid"),
            pair("tls", "Unknown"),
        ];
        match told.len() == all.len() {
            true => Ok((told, all)),
            false => Err(format!("{ran:?}")),
        }
    })
    .await;
    assert_eq!(told, all);
}

#[tokio::test]
async fn a_certificate_without_names_is_known_by_its_fingerprint() {
    let files = Files::new();
    let nameless = files.authority.issue(Vec::new());
    let other = files.authority.issue(Vec::new());
    let fingerprint = sha256_hex(nameless.certificate.der());
    let safe = closed(files, &format!(", \"sha256:{fingerprint}\"")).await;
    assert_eq!(send(&safe, &safe.client_as(&nameless), "new").await.0, 200);
    assert_eq!(send(&safe, &safe.client_as(&other), "new").await.0, 401);
}

#[tokio::test]
async fn our_own_client_shows_its_certificate_by_every_binding() {
    let safe = closed(Files::new(), "").await;
    let (certificate, key) = robot(&safe.files, "ann").pem();
    let tls = Tls::new().trust(safe.files.authority.pem());
    let tls = tls.identity(certificate.as_bytes(), key.as_bytes());
    let at = safe.server.url("/a2a/new");
    let client = Client::builder().tls(tls).connect(at.as_str()).await;
    assert_eq!(client.expect("a client").card().name, "new");

    let certificate = safe.files.write("me.pem", &certificate);
    let key = safe.files.write("me-key.pem", &key);
    for transport in ["jsonrpc", "http+json", "grpc"] {
        for command in [
            &["send", "hello there"][..],
            &["send", "--stream", "hello there"],
        ] {
            let how = [
                "--transport",
                transport,
                "--a2a-version",
                "1.0",
                "-o",
                "json",
            ];
            let args = [command, &how].concat();
            let refused = safe.cli("new", &args).await;
            assert_ne!(refused.code, Some(0), "{transport}: {refused:?}");
            let shown = ["--client-cert", &*certificate, "--client-key", &*key];
            let ran = safe.cli("new", &[&args[..], &shown].concat()).await;
            assert_eq!(ran.code, Some(0), "{transport}: {ran:?}");
            assert!(ran.out.contains("hello there"), "{transport}: {ran:?}");
        }
    }
}
