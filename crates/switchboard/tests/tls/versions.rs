//! What is spoken, and what is not.

use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, ProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::world::{Files, How, PATIENCE, Safe, ask, socket, uri};

/// A cipher suite that is good, and some that no longer are: keys that are not fresh, CBC, 3DES, RC4, none at all.
const GOOD: [u8; 2] = [0xc0, 0x2b];
const WEAK: [u8; 12] = [
    0x00, 0x9c, 0xc0, 0x09, 0xc0, 0x0a, 0xc0, 0x08, 0xc0, 0x07, 0x00, 0x02,
];

/// The first thing a client says that speaks this version and no later one.
fn hello(minor: u8, suites: &[u8]) -> Vec<u8> {
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
async fn s1_017_https_is_spoken_in_1_2_and_1_3_only() {
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
        // A fatal alert: the version is not spoken.
        let answer = answer(&safe, &hello(minor, &GOOD)).await;
        assert_eq!(answer, [0x15, 2, 70], "3.{minor}");
    }
    // The same hello is fine but for its version, but not with weak ciphers.
    assert_eq!(answer(&safe, &hello(3, &GOOD)).await[..2], [0x16, 2]);
    assert_eq!(answer(&safe, &hello(3, &WEAK)).await, [0x15, 2, 40]);
}

/// What a record is answered with: the kind of the record, and its first two bytes.
async fn answer(safe: &Safe, record: &[u8]) -> [u8; 3] {
    let mut socket = socket(&safe.server).await;
    socket.write_all(record).await.expect("bytes");
    let mut answer = [0; 7];
    let read = timeout(PATIENCE, socket.read_exact(&mut answer)).await;
    read.expect("in time").expect("a record");
    [answer[0], answer[5], answer[6]]
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
async fn who_does_not_know_the_certificate_is_not_connected() {
    let safe = Safe::open("", "").await;
    let client = reqwest::Client::builder().build().expect("a client");
    let error = client.get(safe.server.url("/readyz")).send().await;
    assert!(error.expect_err("nobody vouches for it").is_connect());
}

#[tokio::test]
async fn a_session_is_taken_up_again_unless_certificates_were_shown_in_it() {
    let files = Files::new();
    let ca = files.text("ca.pem");
    let asks = Safe::with(files, "", &format!(", client_ca_file: \"{ca}\"")).await;
    let open = Safe::open("", "").await;
    for (safe, second) in [
        (&open, HandshakeKind::Resumed),
        (&asks, HandshakeKind::Full),
    ] {
        for version in [&TLS12, &TLS13] {
            let who = safe.files.authority.issue(vec![uri("spiffe://corp/ann")]);
            let config = safe.config(How {
                versions: &[version],
                identity: Some(&who),
                ..How::default()
            });
            for kind in [HandshakeKind::Full, second] {
                let stream = safe.connect_by(&config).await;
                let mut stream = stream.expect("a connection");
                ask(&mut stream).await.expect("an answer");
                let done = stream.get_ref().1.handshake_kind();
                assert_eq!(done, Some(kind), "{version:?}");
            }
        }
    }
}
