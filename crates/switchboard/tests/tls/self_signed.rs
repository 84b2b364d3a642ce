//! `--tls self-signed`, and what is said about connections that are not encrypted.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use switchboard_testkit::Server;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::world::{AGENTS, Files, run};

async fn sends(server: &Server, agent: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let at = server.url(&format!("/a2a/{agent}"));
    let certificate = server.data().join("dev-cert.pem").display().to_string();
    for transport in ["jsonrpc", "grpc"] {
        let args = ["send", "hello", "-a", &at, "--transport", transport];
        let trusted = run(&dir, &[&args[..], &["--ca", &certificate]].concat()).await;
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
        let unknown = run(&dir, &args).await;
        assert_eq!(unknown.code, Some(3), "{unknown:?}");
    }
}

#[tokio::test]
async fn one_flag_encrypts_and_the_certificate_stays() {
    let offered = [("SWITCHBOARD_INTERFACES", "jsonrpc, grpc")];
    let args = ["up", "--tls", "self-signed"];
    let mut server = Server::start_with(&args, "", &[], &offered).await;
    assert!(server.base.starts_with("https://"), "{}", server.base);
    sends(&server, "echo").await;
    let certificate = server.data().join("dev-cert.pem");
    let said = server.said();
    assert!(
        said.contains(&format!("curl --cacert {}", certificate.display())),
        "{said}"
    );
    for name in ["dev-cert.pem", "dev-key.pem"] {
        let file = server.data().join(name);
        let mode = std::fs::metadata(file)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let before = std::fs::read(&certificate).expect("a file");
    server.kill().await;
    server.restart().await;
    assert_eq!(std::fs::read(&certificate).expect("a file"), before);
    sends(&server, "echo").await;
}

#[tokio::test]
async fn a_configuration_is_served_by_the_same_flag() {
    let yaml = format!("public_url: https://agents.example/\n{AGENTS}");
    let args = ["serve", "-c", "switchboard.yaml", "--tls", "self-signed"];
    let server = Server::start(&args, &yaml).await;
    assert!(server.base.starts_with("https://"), "{}", server.base);
    let certificate = server.data().join("dev-cert.pem");
    assert!(server.logged().contains(&certificate.display().to_string()));
    let root = std::fs::read(&certificate).expect("a file");
    let root = reqwest::Certificate::from_pem(&root).expect("a certificate");
    let (_, address) = server.base.split_once("://").expect("a scheme");
    let port = address.rsplit(':').next().expect("a port");
    // It is for the public name, too.
    for host in ["127.0.0.1", "localhost", "agents.example"] {
        let client = reqwest::Client::builder()
            .tls_certs_only([root.clone()])
            .resolve(host, address.parse().expect("an address"))
            .build()
            .expect("a client");
        let answer = client
            .get(format!("https://{host}:{port}/readyz"))
            .send()
            .await;
        assert_eq!(answer.expect(host).status(), 200);
    }
}

#[tokio::test]
async fn what_is_not_kept_is_known_by_its_fingerprint() {
    let server = Server::start(&["up", "--memory", "--tls", "self-signed"], "").await;
    let said = server.said();
    assert!(
        said.contains("tls       self-signed, sha256:") && said.contains("curl -k"),
        "{said}"
    );
    assert!(!server.data().join("dev-key.pem").exists());
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true);
    let client = client.build().expect("a client");
    let answer = client.get(server.url("/readyz")).send().await;
    assert_eq!(answer.expect("an answer").status(), 200);
}

#[tokio::test]
async fn s1_016_credentials_that_others_could_read_are_warned_of() {
    let files = Files::new();
    let password = files.write("password", "open sesame, please");
    let yaml = format!(
        "listen: 0.0.0.0:0\nauth: {{ methods: {{ ops: {{ basic: {{ users: {{ alice: {{ password_file: \"{password}\" }} \
         }} }} }} }} }}\n{AGENTS}"
    );
    let warned = "credentials cross the network unencrypted";
    for (more, warns) in [
        (String::new(), true),
        ("public_url: http://agents.example\n".to_owned(), true),
        ("public_url: https://agents.example\n".to_owned(), false),
        (files.yaml(""), false),
    ] {
        files.write("switchboard.yaml", &format!("{more}{yaml}"));
        let ran = run(&files.dir, &["check"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.err.contains(warned), warns, "{more}: {ran:?}");
    }
    let summary = run(&files.dir, &["check"]).await.out;
    let line = format!("tls: {}\n", files.text("cert.pem"));
    assert!(summary.contains(&line), "{summary}");

    files.write("switchboard.yaml", &yaml);
    assert!(warned_at_start(&files, "0.0.0.0:0").await.contains(warned));
    assert!(
        !warned_at_start(&files, "127.0.0.1:0")
            .await
            .contains(warned)
    );
}

/// What a server that listens there has logged when it is ready.
async fn warned_at_start(files: &Files, listen: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args([
            "serve",
            "-c",
            "switchboard.yaml",
            "--memory",
            "--listen",
            listen,
        ])
        .current_dir(files.dir.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    let log = BufReader::new(child.stderr.take().expect("a log"));
    let (mut lines, mut logged) = (log.lines(), String::new());
    while !logged.contains("listening") {
        let line = lines.next_line().await.expect("text");
        logged.push_str(&line.expect("it goes on"));
    }
    child.kill().await.expect("it was running");
    logged
}
