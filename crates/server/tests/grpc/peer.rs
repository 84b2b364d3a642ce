//! The server, and a caller of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use prost::Message;
use switchboard_proto::{rpc, v1_0};
use switchboard_server::agent::{Outcome, Said};
use switchboard_server::auth::method::{Basic, User};
use switchboard_server::auth::{Access, Alternative, Authenticator, Scheme};
use switchboard_server::authorize::Authorized;
use switchboard_server::binding::{Parts, Service};
use switchboard_server::engine::Settings;
use switchboard_server::http::{self, Cors, Limits};
use switchboard_server::log::Log;
use switchboard_server::net::BaseUrl;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::MemoryStore;
use switchboard_server::table::Table;
use switchboard_server::testing::agent::{FnAgent, Line, profile};
use switchboard_types::FileBytes;
use switchboard_types::model::{
    Artifact, ArtifactId, Binding, Content, Extension, Json, Part, Secret, Skill,
};
use tokio::net::TcpListener;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder, Streaming};
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

pub(crate) const NEW: &str = "/lf.a2a.v1.A2AService";
pub(crate) const OLD: &str = "/a2a.v1.A2AService";

/// An extension the agent knows.
pub(crate) const EXTENSION: &str = "https://example.com/extension/v1";

/// A server on a socket.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) tasks: Tasks,
}

pub(crate) async fn serve() -> Server {
    serve_with(Limits::default()).await
}

pub(crate) async fn serve_with(limits: Limits) -> Server {
    serve_as(limits, None).await
}

/// With this form of files in 0.3, or the caller's.
pub(crate) async fn serve_as(limits: Limits, file_bytes: Option<FileBytes>) -> Server {
    let mut profile = profile();
    profile.file_bytes = file_bytes;
    profile.interfaces.bindings.push(Binding::Grpc);
    profile.card.capabilities.extended_agent_card = Some(true);
    profile.card.capabilities.extensions.push(Extension {
        uri: EXTENSION.to_owned(),
        description: None,
        required: false,
        params: None,
    });
    let skill = Skill::new("secret", "Secret", "for those who know").with_tags(["secret"]);
    profile.extended = Some(profile.card.clone().with_skill(skill));
    let log = Log::new(Arc::new(MemoryStore::default()));
    let settings = Settings {
        reply_with_message: true,
        ..Settings::default()
    };
    let line = Line::with_profile(&log, Arc::new(agent()), settings, profile);
    let known: Arc<dyn Scheme> = Arc::new(Basic::new("ops".into(), vec![ann()]));
    let known_or_not = vec![
        Alternative(vec![Arc::clone(&known)]),
        Alternative::default(),
    ];
    let agent = Authorized::new(line.engine, Arc::new(Access::by(known_or_not)));
    let name = Arc::clone(agent.engine().name());
    let table = Arc::new(Table::default());
    table.change(vec![agent], &[], &name);
    let tasks = Tasks::default();
    let service = Arc::new(Service::new(Parts {
        handler: Arc::clone(&table) as _,
        directory: table,
        authenticator: Authenticator::new(vec![known]),
        base_url: BaseUrl::default(),
        cors: Cors::default(),
        limits,
        tasks: tasks.clone(),
    }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(http::serve(listener, service, None));
    Server { address, tasks }
}

/// How Ann shows who she is.
pub(crate) const ANN: &str = "Basic YW5uOm9wZW4=";

fn ann() -> User {
    User {
        name: "ann".to_owned(),
        password: Secret::new("open"),
        tenant: None,
        scopes: Vec::new(),
    }
}

/// Does what its message says.
fn agent() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        let text = turn.message.text();
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["msg", ..] => return Ok(Outcome::Reply(Said::text(text))),
            ["ask"] => return Ok(Outcome::InputRequired(Said::text("which one?"))),
            ["wait"] => {
                progress.working(Said::text("waiting")).await?;
                turn.canceled.cancelled().await;
            }
            ["burst", n, size] => {
                let (n, size): (u64, usize) = (n.parse().unwrap(), size.parse().unwrap());
                for i in 0..n {
                    let chunk = format!("{i} {}", "x".repeat(size));
                    let piece =
                        Artifact::new(ArtifactId::new("a").unwrap(), vec![Part::text(chunk)]);
                    progress.chunk(piece, i > 0, i + 1 == n).await?;
                }
            }
            _ => {
                // What was sent comes back, and data beside it.
                let mut parts = turn.message.parts.clone();
                parts.push(Part::data(Json::parse(r#"{"n":7}"#).unwrap()));
                parts.push(Part::new(Content::Raw(Bytes::from_static(b"\x00raw"))));
                let whole = Artifact::new(ArtifactId::new("a").unwrap(), parts);
                progress.artifact(whole).await?;
            }
        }
        Ok(Outcome::Completed(Said::text("done")))
    })
}

impl Server {
    pub(crate) fn caller(&self) -> Caller {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let link = Client::builder(TokioExecutor::new())
            .http2_only(true)
            .build(connector);
        let origin = format!("http://{}", self.address).parse().unwrap();
        Caller {
            grpc: tonic::client::Grpc::with_origin(link, origin)
                .max_decoding_message_size(usize::MAX),
            metadata: MetadataMap::new(),
        }
    }

    /// Stops, and waits until everything has ended.
    pub(crate) async fn drain(self) {
        self.tasks.stop();
        assert!(self.tasks.drain(Duration::from_secs(10)).await);
    }
}

type Link = Client<HttpConnector, tonic::body::Body>;

/// Calls rpcs by their path.
#[derive(Clone)]
pub(crate) struct Caller {
    grpc: tonic::client::Grpc<Link>,
    metadata: MetadataMap,
}

impl Caller {
    /// The same, with metadata.
    pub(crate) fn with(mut self, key: &'static str, value: &str) -> Self {
        self.metadata.insert(key, value.parse().unwrap());
        self
    }

    fn request(&self, message: &impl Message) -> Request<Bytes> {
        let mut request = Request::new(Bytes::from(message.encode_to_vec()));
        *request.metadata_mut() = self.metadata.clone();
        request
    }

    pub(crate) async fn call<A: Message + Default>(
        &self,
        path: impl AsRef<str>,
        message: &impl Message,
    ) -> Result<A, Status> {
        let response = self.respond(path, message).await?;
        Ok(A::decode(response.into_inner()).unwrap())
    }

    pub(crate) async fn respond(
        &self,
        path: impl AsRef<str>,
        message: &impl Message,
    ) -> Result<tonic::Response<Bytes>, Status> {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.unwrap();
        let path = path.as_ref().parse().unwrap();
        grpc.unary(self.request(message), path, Bytewise).await
    }

    pub(crate) async fn stream(
        &self,
        path: impl AsRef<str>,
        message: &impl Message,
    ) -> Result<Streaming<Bytes>, Status> {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.unwrap();
        let path = path.as_ref().parse().unwrap();
        let response = grpc
            .server_streaming(self.request(message), path, Bytewise)
            .await?;
        Ok(response.into_inner())
    }

    /// Both ways at once.
    pub(crate) async fn converse(
        &self,
        path: &'static str,
        messages: Vec<Bytes>,
    ) -> Result<Streaming<Bytes>, Status> {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.unwrap();
        let request = Request::new(futures_util::stream::iter(messages));
        let response = grpc
            .streaming(request, path.parse().unwrap(), Bytewise)
            .await?;
        Ok(response.into_inner())
    }
}

/// All messages of a stream.
pub(crate) async fn all<A: Message + Default>(mut stream: Streaming<Bytes>) -> Vec<A> {
    let mut seen = Vec::new();
    while let Some(message) = stream.message().await.unwrap() {
        seen.push(A::decode(message).unwrap());
    }
    seen
}

/// The reason in the details of an error.
pub(crate) fn reason(status: &Status) -> String {
    let details = rpc::Status::decode(status.details()).unwrap();
    assert_eq!(details.code, status.code() as i32);
    let info = details
        .details
        .iter()
        .find(|any| any.type_url == "type.googleapis.com/google.rpc.ErrorInfo")
        .unwrap();
    rpc::ErrorInfo::decode(&*info.value).unwrap().reason
}

/// A message of the client in 1.0.
pub(crate) fn says(text: &str) -> v1_0::SendMessageRequest {
    v1_0::SendMessageRequest {
        message: Some(v1_0::Message {
            message_id: format!("m-{text}"),
            role: v1_0::Role::User.into(),
            parts: vec![v1_0::Part {
                content: Some(v1_0::part::Content::Text(text.to_owned())),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[derive(Debug, Clone, Copy)]
struct Bytewise;

impl Codec for Bytewise {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytewise {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Bytewise {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
