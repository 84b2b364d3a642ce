//! What is spoken, and what is not.

use rustls::ProtocolVersion;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::world::{How, PATIENCE, Safe, ask, socket};

/// The first thing a client says that speaks this version and no later one.
fn hello(minor: u8) -> Vec<u8> {
    let suites = [0xc0, 0x2b, 0xc0, 0x09, 0xc0, 0x0a];
    let mut body = vec![3, minor];
    body.extend([7; 32]);
    body.push(0);
    body.extend([0, u8::try_from(suites.len()).expect("few")]);
    body.extend(suites);
    body.extend([1, 0]);
    // The curve P-256, its points uncompressed, signatures with it.
    let extensions = [
        0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0, 0, 13, 0, 4, 0, 2, 4, 3,
    ];
    body.extend([0, u8::try_from(extensions.len()).expect("few")]);
    body.extend(extensions);
    let length = u8::try_from(body.len()).expect("short");
    let mut record = vec![0x16, 3, 1, 0, length + 4, 1, 0, 0, length];
    record.extend(body);
    record
}

#[tokio::test]
async fn s1_016_https_is_spoken_in_1_2_and_1_3_only() {
    let safe = Safe::open("", "").await;
    for (versions, spoken) in [
        (&[&TLS12][..], ProtocolVersion::TLSv1_2),
        (&[&TLS13], ProtocolVersion::TLSv1_3),
        (&[&TLS12, &TLS13], ProtocolVersion::TLSv1_3),
    ] {
        let how = How {
            versions,
            ..How::default()
        };
        let mut stream = safe.connect(how).await.expect("a connection");
        assert_eq!(stream.get_ref().1.protocol_version(), Some(spoken));
        let answer = ask(&mut stream).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    // SSL 3, TLS 1.0, TLS 1.1
    for minor in [0, 1, 2] {
        let mut socket = socket(&safe.server).await;
        socket.write_all(&hello(minor)).await.expect("bytes");
        let mut answer = Vec::new();
        let read = timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
        read.expect("it is closed").expect("and not cut off");
        // A fatal alert: the version is not spoken.
        let alert = (answer[0], answer[5], answer[6]);
        assert_eq!((answer.len(), alert), (7, (0x15, 2, 70)), "3.{minor}");
    }
    // The same hello is fine but for its version.
    let mut socket = socket(&safe.server).await;
    socket.write_all(&hello(3)).await.expect("bytes");
    let mut answer = [0; 6];
    socket.read_exact(&mut answer).await.expect("an answer");
    assert_eq!((answer[0], answer[5]), (0x16, 2), "{answer:?}");
}

#[tokio::test]
async fn both_versions_of_http_can_be_chosen() {
    let safe = Safe::open("", "").await;
    for (offered, chosen) in [
        (&[b"h2".as_slice(), b"http/1.1"][..], Some(&b"h2"[..])),
        (&[b"http/1.1", b"h2"], Some(b"h2")),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let how = How {
            protocols: offered,
            ..How::default()
        };
        let mut stream = safe.connect(how).await.expect("a connection");
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
        if chosen != Some(b"h2") {
            let answer = ask(&mut stream).await.expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    }
    let how = How {
        protocols: &[b"spdy/3"],
        ..How::default()
    };
    assert!(safe.connect(how).await.is_err());
    for (client, version) in [
        (safe.client(), reqwest::Version::HTTP_2),
        (safe.client().http1_only(), reqwest::Version::HTTP_11),
    ] {
        let client = client.build().expect("a client");
        let answer = client.get(safe.server.url("/readyz")).send().await;
        let answer = answer.expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
    }
}

#[tokio::test]
async fn s1_017_who_does_not_know_the_certificate_is_not_connected() {
    let safe = Safe::open("", "").await;
    let client = reqwest::Client::builder().build().expect("a client");
    let error = client.get(safe.server.url("/readyz")).send().await;
    assert!(error.expect_err("nobody vouches for it").is_connect());
}
