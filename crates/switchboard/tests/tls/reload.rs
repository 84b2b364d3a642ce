//! Certificates that change while we serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use switchboard_testkit::eventually;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::world::{Authority, Files, How, Issued, Safe, ask, shown, uri};

/// Waits until new connections are shown that certificate.
async fn until_shown(safe: &Safe, issued: &Issued) {
    eventually("the new certificate", async || {
        safe.shown().await == issued.certificate.der().to_vec()
    })
    .await;
}

async fn until_logged(safe: &Safe, text: &str) {
    eventually(text, async || safe.server.logged().contains(text)).await;
}

async fn hang_up(safe: &Safe) {
    let pid = safe.server.pid().to_string();
    let sent = Command::new("kill").args(["-HUP", &pid]).status().await;
    assert!(sent.expect("kill").success());
}

#[tokio::test]
async fn a_certificate_is_swapped_under_load_without_a_failed_request() {
    let safe = Safe::open("", "").await;
    let (stop, asked) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut load = JoinSet::new();
    for n in 0..8 {
        // Half of them make a new connection for each request.
        let idle = if n % 2 == 0 { 0 } else { 10 };
        let client = safe.client().pool_max_idle_per_host(idle);
        let client = if n % 4 < 2 {
            client
        } else {
            client.http1_only()
        };
        let client = client.build().expect("a client");
        let url = safe.server.url("/a2a/echo/.well-known/agent-card.json");
        let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
        load.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let answer = client.get(&url).send().await.expect("an answer");
                assert_eq!(answer.status(), 200);
                answer.bytes().await.expect("all of it");
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut before = safe.connect(How::default()).await.expect("a connection");
    let first = shown(&before);

    // Both files are found to have changed; in between they do not fit.
    let second = safe.files.authority.issue_here();
    safe.files.write("key.pem", &second.pem().1);
    hang_up(&safe).await;
    until_logged(&safe, "is not the key of").await;
    assert_eq!(safe.shown().await, first);
    safe.files.write("cert.pem", &second.pem().0);
    until_shown(&safe, &second).await;

    // And when we are told so, at once.
    let third = safe.files.authority.issue_here();
    safe.files.write_pair(&third);
    hang_up(&safe).await;
    until_shown(&safe, &third).await;

    let answer = ask(&mut before).await.expect("an open connection stays");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    stop.store(true, Ordering::Relaxed);
    while let Some(done) = load.join_next().await {
        done.expect("no request failed");
    }
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked > 100, "only {asked} requests");
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing_and_is_said_once() {
    let safe = Safe::open("", "").await;
    let first = safe.shown().await;
    let (whole, key) = safe.files.authority.issue_here().pem();
    for (name, text, said) in [
        (
            "cert.pem",
            &whole[..whole.len() / 2],
            "has no certificate in PEM form",
        ),
        ("cert.pem", "", "has no certificate in PEM form"),
        ("cert.pem", &whole, "is not the key of"),
        ("key.pem", &key[..40], "has no private key in PEM form"),
    ] {
        safe.files.write(name, text);
        hang_up(&safe).await;
        until_logged(&safe, said).await;
        assert_eq!(safe.shown().await, first, "{said}");
    }
    std::fs::remove_file(safe.files.path("key.pem")).expect("a file");
    hang_up(&safe).await;
    until_logged(&safe, "cannot be read").await;
    hang_up(&safe).await;
    safe.files.write("key.pem", &key);
    hang_up(&safe).await;
    until_logged(&safe, "TLS certificate reloaded").await;
    assert_ne!(safe.shown().await, first);
    // The configuration, which names the files, may be read meanwhile, and says so for itself.
    let logged = safe.server.logged();
    let certificate = logged
        .lines()
        .filter(|line| line.contains("TLS certificate reload rejected, keeping previous"));
    let times = certificate
        .filter(|line| line.contains("cannot be read"))
        .count();
    assert_eq!(times, 1, "{logged}");
}

#[tokio::test]
async fn a_link_that_points_elsewhere_is_a_change() {
    let files = Files::new();
    let second = files.authority.issue_here();
    // As secrets are mounted: a link to a directory, swapped at once.
    for (at, pair) in [("one", &files.authority.issue_here()), ("two", &second)] {
        std::fs::create_dir(files.path(at)).expect("a directory");
        let (certificate, key) = pair.pem();
        files.write(&format!("{at}/cert.pem"), &certificate);
        files.write(&format!("{at}/key.pem"), &key);
    }
    let link = |dir: &std::path::Path, to: &str| {
        std::os::unix::fs::symlink(dir.join(to), dir.join("new")).expect("a link");
        std::fs::rename(dir.join("new"), dir.join("now")).expect("a link");
    };
    link(files.dir.path(), "one");
    for name in ["cert.pem", "key.pem"] {
        std::fs::remove_file(files.path(name)).expect("a file");
        let to = files.path("now").join(name);
        std::os::unix::fs::symlink(to, files.path(name)).expect("a link");
    }
    let safe = Safe::with(files, "", "").await;
    link(safe.files.dir.path(), "two");
    until_shown(&safe, &second).await;
}

#[tokio::test]
async fn whose_certificates_are_taken_can_change_too() {
    let files = Files::new();
    let ca = files.text("ca.pem");
    let tls = format!(", client_ca_file: \"{ca}\", client_certificates: required");
    let safe = Safe::with(files, "", &tls).await;
    let (authority, names) = (Authority::new(), || vec![uri("spiffe://corp/ann")]);
    let (old, new) = (
        safe.files.authority.issue(names()),
        authority.issue(names()),
    );
    let shake = async |who| {
        let how = How {
            identity: Some(who),
            ..How::default()
        };
        let mut stream = safe.connect(how).await?;
        ask(&mut stream).await.map(|_| stream)
    };
    let mut open = shake(&old).await.expect("it is known");
    assert!(shake(&new).await.is_err());
    safe.files.write("ca.pem", &authority.pem());
    hang_up(&safe).await;
    until_logged(&safe, "TLS certificate reloaded").await;
    shake(&new).await.expect("it is known now");
    assert!(shake(&old).await.is_err());
    ask(&mut open).await.expect("an open connection stays");
}
