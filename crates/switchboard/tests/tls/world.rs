//! An authority, a server it has given a certificate to, and ways to speak to it.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use switchboard_testkit::Server;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Agents that answer at once, count slowly, and never end.
pub(crate) const AGENTS: &str = "
interfaces: [jsonrpc, http_json, grpc]
agents:
  echo: { script: [{ complete: '{{text}}' }] }
  counter: { script: [{ say: one }, { wait: 100ms }, { say: two }, { wait: 100ms }, { complete: three }] }
  sleeper: { script: [{ say: working }, { wait: 60m }] }
";

/// One who issues certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(crate) struct Issued {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn issue(&self, names: Vec<SanType>) -> Issued {
        self.sign(CertificateParams::default(), names)
    }

    pub(crate) fn issue_expired(&self, names: Vec<SanType>) -> Issued {
        let mut params = CertificateParams::default();
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        self.sign(params, names)
    }

    fn sign(&self, mut params: CertificateParams, names: Vec<SanType>) -> Issued {
        params.subject_alt_names = names;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Issued { certificate, key }
    }

    /// For a server on this machine.
    pub(crate) fn issue_here(&self) -> Issued {
        self.issue(vec![
            host("localhost"),
            SanType::IpAddress([127, 0, 0, 1].into()),
        ])
    }
}

pub(crate) fn host(name: &str) -> SanType {
    SanType::DnsName(name.try_into().expect("a host"))
}

pub(crate) fn uri(name: &str) -> SanType {
    SanType::URI(name.try_into().expect("a URI"))
}

impl Issued {
    pub(crate) fn pem(&self) -> (String, String) {
        (self.certificate.pem(), self.key.serialize_pem())
    }
}

/// Files, and who has issued what is in them.
pub(crate) struct Files {
    pub(crate) dir: TempDir,
    pub(crate) authority: Authority,
}

impl Files {
    /// `ca.pem`, `cert.pem` and `key.pem`.
    pub(crate) fn new() -> Self {
        let files = Self {
            dir: tempfile::tempdir().expect("a directory"),
            authority: Authority::new(),
        };
        files.write("ca.pem", &files.authority.pem());
        files.write_pair(&files.authority.issue_here());
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        self.text(name)
    }

    pub(crate) fn write_pair(&self, issued: &Issued) {
        let (certificate, key) = issued.pem();
        self.write("cert.pem", &certificate);
        self.write("key.pem", &key);
    }

    /// The keys of `tls` that name the files; `more` may follow.
    pub(crate) fn yaml(&self, more: &str) -> String {
        let [certificate, key] = ["cert.pem", "key.pem"].map(|name| self.text(name));
        format!("tls: {{ cert_file: \"{certificate}\", key_file: \"{key}\" {more} }}\n")
    }
}

/// An encrypted server.
pub(crate) struct Safe {
    pub(crate) server: Server,
    pub(crate) files: Files,
}

impl Safe {
    /// With these settings, and more keys of `tls`, each after a comma.
    pub(crate) async fn open(settings: &str, tls: &str) -> Self {
        let files = Files::new();
        Self::with(files, settings, tls).await
    }

    pub(crate) async fn with(files: Files, settings: &str, tls: &str) -> Self {
        let agents = if settings.contains("agents:") {
            ""
        } else {
            AGENTS
        };
        let yaml = format!("{settings}\n{}{agents}", files.yaml(tls));
        let server = Server::serve(&yaml).await;
        assert!(server.base.starts_with("https://"), "{}", server.base);
        Self { server, files }
    }

    /// A client that trusts the authority.
    pub(crate) fn client(&self) -> reqwest::ClientBuilder {
        let root = reqwest::Certificate::from_pem(self.files.authority.pem().as_bytes());
        reqwest::Client::builder()
            .tls_certs_only([root.expect("a certificate")])
            .timeout(PATIENCE)
    }

    /// The same with a certificate of its own.
    pub(crate) fn client_as(&self, who: &Issued) -> reqwest::Client {
        let (certificate, key) = who.pem();
        let identity = reqwest::Identity::from_pem(format!("{certificate}{key}").as_bytes());
        let client = self.client().identity(identity.expect("an identity"));
        client.build().expect("a client")
    }

    /// Shakes hands.
    pub(crate) async fn connect(&self, how: How<'_>) -> io::Result<TlsStream<TcpStream>> {
        self.connect_by(&self.config(how)).await
    }

    pub(crate) async fn connect_by(
        &self,
        config: &Arc<ClientConfig>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        let socket = socket(&self.server).await;
        let connector = TlsConnector::from(Arc::clone(config));
        connector.connect(name, socket).await
    }

    pub(crate) fn config(&self, how: How<'_>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from(self.files.authority.0.der().to_vec());
        roots.add(root).expect("a root");
        let builder = ClientConfig::builder_with_protocol_versions(how.versions);
        let builder = builder.with_root_certificates(roots);
        let mut config = match how.identity {
            None => builder.with_no_client_auth(),
            Some(who) => {
                let chain = vec![CertificateDer::from(who.certificate.der().to_vec())];
                let key = PrivateKeyDer::try_from(who.key.serialize_der()).expect("a key");
                builder.with_client_auth_cert(chain, key).expect("a pair")
            }
        };
        config.alpn_protocols = how.protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }

    /// The certificate that a new connection is shown.
    pub(crate) async fn shown(&self) -> Vec<u8> {
        let stream = self.connect(How::default()).await.expect("a connection");
        shown(&stream)
    }

    /// Runs a command against it, with `-a` and `--ca`.
    pub(crate) async fn cli(&self, agent: &str, args: &[&str]) -> Ran {
        let ca = self.files.text("ca.pem");
        let at = self.server.url(&format!("/a2a/{agent}"));
        run(&self.files.dir, &[args, &["-a", &at, "--ca", &ca]].concat()).await
    }
}

/// How to shake hands.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    pub(crate) versions: &'a [&'static SupportedProtocolVersion],
    pub(crate) protocols: &'a [&'a [u8]],
    pub(crate) identity: Option<&'a Issued>,
}

impl Default for How<'_> {
    fn default() -> Self {
        Self {
            versions: rustls::ALL_VERSIONS,
            protocols: &[],
            identity: None,
        }
    }
}

pub(crate) fn shown(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    let chain = stream.get_ref().1.peer_certificates().expect("a chain");
    chain[0].to_vec()
}

/// A plain socket to the server.
pub(crate) async fn socket(server: &Server) -> TcpStream {
    let (_, address) = server.base.split_once("://").expect("a scheme");
    TcpStream::connect(address).await.expect("a connection")
}

/// Asks for something small over a connection that stays open, and reads all of the answer.
pub(crate) async fn ask(stream: &mut TlsStream<TcpStream>) -> io::Result<String> {
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await?;
    let mut read = Vec::new();
    // The body is short and comes with its head.
    while !read.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => read.extend_from_slice(&piece[..length]),
        }
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the binary in a home of its own.
pub(crate) async fn run(dir: &TempDir, args: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(args)
        .current_dir(dir.path())
        .env_clear()
        .env("HOME", dir.path())
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
