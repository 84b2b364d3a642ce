//! Certificates: checked, unless the user says otherwise, and shown where they are asked for.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use switchboard_client::{Client, Kind, Tls};
use switchboard_server::shutdown::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Issuer {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key.
fn issued(by: &Issuer, name: &str) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    (params.signed_by(&key, by).unwrap(), key)
}

/// An agent over TLS at `https://localhost:PORT`; with `asks`, only for those whose certificate that one issued.
async fn serve(by: &Issuer, asks: Option<&Issuer>) -> (String, Tasks) {
    let (certificate, key) = issued(by, "localhost");
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let builder = ServerConfig::builder();
    let builder = match asks {
        None => builder.with_no_client_auth(),
        Some(issuer) => {
            let mut roots = RootCertStore::empty();
            roots
                .add(CertificateDer::from(issuer.der().to_vec()))
                .unwrap();
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots))
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let acceptor = TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    let card = format!(r#"{{"name":"safe","url":"{base}/rpc"}}"#);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{card}",
        card.len()
    );
    let tasks = Tasks::default();
    let own = tasks.clone();
    tasks.spawn(async move {
        loop {
            let accepted = tokio::select! {
                () = own.stopping().cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let (acceptor, answer) = (acceptor.clone(), answer.clone());
            own.spawn(async move {
                let (socket, _) = accepted.unwrap();
                let Ok(mut stream) = acceptor.accept(socket).await else {
                    return;
                };
                let mut head = vec![0; 8192];
                drop(stream.read(&mut head).await);
                drop(stream.write_all(answer.as_bytes()).await);
                drop(stream.shutdown().await);
            });
        }
    });
    (base, tasks)
}

async fn connect(base: &str, tls: Tls) -> Result<String, switchboard_client::Error> {
    let client = Client::builder().tls(tls).connect(base).await?;
    Ok(client.card().name.clone())
}

#[tokio::test]
async fn s1_018_a_certificate_is_checked() {
    let issuer = authority();
    let (base, tasks) = serve(&issuer, None).await;
    let error = connect(&base, Tls::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
    let trusted = connect(&base, Tls::new().trust(issuer.pem())).await;
    assert_eq!(trusted.unwrap(), "safe");
    assert_eq!(connect(&base, Tls::new().insecure()).await.unwrap(), "safe");
    let stranger = connect(&base, Tls::new().trust(authority().pem())).await;
    assert_eq!(stranger.unwrap_err().kind(), Kind::Unreachable);
    tasks.stop();
}

#[tokio::test]
async fn a_certificate_is_shown_where_it_is_asked_for() {
    let issuer = authority();
    let (base, tasks) = serve(&issuer, Some(&issuer)).await;
    let tls = Tls::new().trust(issuer.pem());
    assert!(connect(&base, tls.clone()).await.is_err());
    let (certificate, key) = issued(&issuer, "me");
    let (pem, secret) = (certificate.pem(), key.serialize_pem());
    let known = tls.clone().identity(pem.as_bytes(), secret.as_bytes());
    assert!(!format!("{known:?}").contains("PRIVATE"));
    assert_eq!(connect(&base, known).await.unwrap(), "safe");
    tasks.stop();
}

#[tokio::test]
async fn what_is_no_certificate_is_refused() {
    for tls in [
        Tls::new().trust("nonsense"),
        Tls::new().identity(b"nonsense", b"nonsense"),
    ] {
        let error = connect("https://localhost:1", tls).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Reference, "{error:?}");
    }
}
