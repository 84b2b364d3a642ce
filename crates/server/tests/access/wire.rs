//! A caller of every binding that knows nothing but HTTP.

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::header::{HeaderMap, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use prost::Message as _;
use serde_json::{Value, json};
use switchboard_proto::{rpc, v0_3, v1_0};

use crate::house::House;

/// Every binding in every version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Rpc10,
    Rpc03,
    Rest10,
    Rest03,
    Grpc10,
    Grpc03,
}

pub(crate) const WAYS: [Way; 6] = [
    Way::Rpc10,
    Way::Rpc03,
    Way::Rest10,
    Way::Rest03,
    Way::Grpc10,
    Way::Grpc03,
];

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Of gRPC: the code, from headers or trailers.
    pub(crate) code: Option<u16>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn challenges(&self) -> Vec<&str> {
        let all = self.headers.get_all(WWW_AUTHENTICATE).into_iter();
        all.map(|value| value.to_str().unwrap()).collect()
    }

    /// Everything it says of an error, as text.
    pub(crate) fn error(&self) -> String {
        match self.header("grpc-status-details-bin") {
            None => String::from_utf8(self.body.to_vec()).unwrap(),
            Some(details) => {
                let details = decode(details);
                let status = rpc::Status::decode(&*details).unwrap();
                let infos = status
                    .details
                    .iter()
                    .filter(|d| d.type_url.ends_with("ErrorInfo"));
                let infos = infos.map(|d| rpc::ErrorInfo::decode(&*d.value).unwrap());
                format!("{} {:?}", status.message, infos.collect::<Vec<_>>())
            }
        }
    }
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&base64::alphabet::STANDARD, lenient)
        .decode(text)
        .unwrap()
}

/// Headers that name a bearer.
pub(crate) fn bearer(token: &str) -> Vec<(&'static str, String)> {
    match token {
        "" => Vec::new(),
        token => vec![("authorization", format!("Bearer {token}"))],
    }
}

impl House {
    pub(crate) async fn ask(
        &self,
        verb: &str,
        path: &str,
        headers: &[(&'static str, String)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let grpc = headers.iter().any(|(_, value)| value == "application/grpc");
        let mut request = Request::builder()
            .method(verb)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let mut client = Client::builder(TokioExecutor::new());
        let client = client.http2_only(grpc).build_http::<Full<Bytes>>();
        let (head, body) = client.request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap();
        let trailers = body.trailers().cloned().unwrap_or_default();
        let code = head.headers.get("grpc-status");
        let code = code.or_else(|| trailers.get("grpc-status"));
        Answer {
            status: head.status,
            code: code.map(|code| code.to_str().unwrap().parse().unwrap()),
            headers: head.headers,
            body: body.to_bytes(),
        }
    }

    /// Calls a method of JSON-RPC 1.0 at a path, with the id 7.
    pub(crate) async fn rpc(&self, path: &str, token: &str, method: &str, params: Value) -> Answer {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let mut headers = bearer(token);
        headers.push(("a2a-version", "1.0".to_owned()));
        self.ask("POST", path, &headers, call.to_string()).await
    }

    /// Makes a task with that agent, which ends at once; its id.
    pub(crate) async fn task(&self, agent: &str, token: &str) -> String {
        let params =
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
        let path = format!("/a2a/{agent}");
        let answer = self.rpc(&path, token, "SendMessage", params).await;
        let task = &answer.json()["result"]["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        task["id"].as_str().unwrap().to_owned()
    }

    /// Reads a task by one of the ways; JSON-RPC has the id 7.
    pub(crate) async fn read(&self, way: Way, agent: &str, token: &str, id: &str) -> Answer {
        let mut headers = bearer(token);
        let call = |method| {
            json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"id": id}}).to_string()
        };
        let base = format!("/a2a/{agent}");
        let version = ("a2a-version", "1.0".to_owned());
        match way {
            Way::Rpc10 => {
                headers.push(version);
                self.ask("POST", &base, &headers, call("GetTask")).await
            }
            Way::Rpc03 => self.ask("POST", &base, &headers, call("tasks/get")).await,
            Way::Rest10 => {
                headers.push(version);
                let path = format!("{base}/tasks/{id}");
                self.ask("GET", &path, &headers, "").await
            }
            Way::Rest03 => {
                let path = format!("{base}/v1/tasks/{id}");
                self.ask("GET", &path, &headers, "").await
            }
            Way::Grpc10 => {
                let get = v1_0::GetTaskRequest {
                    id: id.to_owned(),
                    ..Default::default()
                };
                self.rpc_of("/lf.a2a.v1.A2AService/GetTask", agent, headers, &get)
                    .await
            }
            Way::Grpc03 => {
                let get = v0_3::GetTaskRequest {
                    name: format!("tasks/{id}"),
                    ..Default::default()
                };
                self.rpc_of("/a2a.v1.A2AService/GetTask", agent, headers, &get)
                    .await
            }
        }
    }

    /// Reads a task by an rpc whose agent is named in its message only.
    pub(crate) async fn read_of_tenant(&self, tenant: &str, token: &str) -> Answer {
        let get = v1_0::GetTaskRequest {
            tenant: tenant.to_owned(),
            id: "x".to_owned(),
            ..Default::default()
        };
        let path = "/lf.a2a.v1.A2AService/GetTask";
        self.rpc_of(path, "", bearer(token), &get).await
    }

    pub(crate) async fn rpc_of(
        &self,
        path: &str,
        agent: &str,
        mut headers: Vec<(&'static str, String)>,
        message: &impl prost::Message,
    ) -> Answer {
        headers.push(("content-type", "application/grpc".to_owned()));
        headers.push(("te", "trailers".to_owned()));
        if !agent.is_empty() {
            headers.push(("x-agent", agent.to_owned()));
        }
        let message = message.encode_to_vec();
        let mut frame = BytesMut::new();
        frame.put_u8(0);
        frame.put_u32(u32::try_from(message.len()).unwrap());
        frame.extend_from_slice(&message);
        self.ask("POST", path, &headers, frame.freeze()).await
    }
}

impl Way {
    /// Asserts that an answer has this status in REST and this code in gRPC. Of JSON-RPC it is the status that its
    /// errors have of their own, if they have one.
    pub(crate) fn expect(self, answer: &Answer, rest: u16, grpc: u16, own: bool) {
        match self {
            Self::Grpc10 | Self::Grpc03 => {
                assert_eq!(answer.status, 200, "{self:?}: {answer:?}");
                assert_eq!(answer.code, Some(grpc), "{self:?}: {answer:?}");
            }
            Self::Rest10 | Self::Rest03 => assert_eq!(answer.status, rest, "{self:?}: {answer:?}"),
            Self::Rpc10 | Self::Rpc03 => {
                let status = if own { rest } else { 200 };
                assert_eq!(answer.status, status, "{self:?}: {answer:?}");
                assert_eq!(answer.json()["id"], 7, "{self:?}: {answer:?}");
            }
        }
    }
}
