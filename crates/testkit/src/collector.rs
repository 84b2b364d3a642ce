//! A collector: takes spans as protobuf, and reads them by the numbers of the published schema, with code of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::eventually;

/// A span as it came.
#[derive(Debug, Clone)]
pub struct Span {
    /// The trace id, in hex.
    pub trace: String,
    /// The span id, in hex.
    pub id: String,
    /// The parent's span id; empty for a root.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// 1 internal, 2 server, 3 client.
    pub kind: u64,
    /// When it began, in nanoseconds since 1970.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// Its attributes, values as text.
    pub attributes: BTreeMap<String, String>,
    /// Trace and span of each.
    pub links: Vec<(String, String)>,
    /// 2 is an error.
    pub status: u64,
    /// The attributes of who sent it.
    pub resource: BTreeMap<String, String>,
}

/// A collector on a socket; gone when it is dropped.
#[derive(Debug)]
pub struct Collector {
    /// Where it listens.
    pub url: String,
    got: Arc<Mutex<Vec<(HeaderMap, Span)>>>,
    _owner: JoinSet<()>,
}

impl Collector {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let got: Arc<Mutex<Vec<(HeaderMap, Span)>>> = Arc::default();
        let kept = Arc::clone(&got);
        let take = move |headers: HeaderMap, body: Bytes| async move {
            let spans = read(&body).into_iter().map(|span| (headers.clone(), span));
            kept.lock().extend(spans);
            StatusCode::OK
        };
        let app = Router::new().route("/v1/traces", post(take));
        let mut owner = JoinSet::new();
        owner.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url,
            got,
            _owner: owner,
        }
    }

    /// All spans so far, each with the headers of its request.
    pub fn spans(&self) -> Vec<(HeaderMap, Span)> {
        self.got.lock().clone()
    }

    /// Waits until so many spans have come.
    pub async fn wait(&self, many: usize) -> Vec<(HeaderMap, Span)> {
        eventually(&format!("{many} spans"), async || {
            let got = self.spans();
            match got.len() >= many {
                true => Ok(got),
                false => Err(format!("{got:#?}")),
            }
        })
        .await
    }
}

/// A field of a message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Field<'_> {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => panic!("not a number"),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(_) => panic!("no bytes"),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("text")
    }

    fn hex(&self) -> String {
        self.bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// The fields of a protobuf message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(number.try_into().expect("8 bytes")))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).expect("a length");
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for at in 0.. {
        let (byte, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

fn only(bytes: &[u8], tag: u64) -> Vec<Field<'_>> {
    let all = fields(bytes).into_iter();
    all.filter(|(found, _)| *found == tag)
        .map(|(_, field)| field)
        .collect()
}

fn attributes(message: &[u8], tag: u64) -> BTreeMap<String, String> {
    let pairs = only(message, tag);
    let pairs = pairs.iter().map(|pair| {
        let key = only(pair.bytes(), 1)[0].text();
        let value = only(pair.bytes(), 2);
        let texts = only(value[0].bytes(), 1);
        let text = match texts.first() {
            Some(text) => text.text(),
            None if !only(value[0].bytes(), 3).is_empty() => {
                only(value[0].bytes(), 3)[0].number().to_string()
            }
            None => {
                let list = only(value[0].bytes(), 5);
                let values = only(list[0].bytes(), 1);
                let values = values.iter().map(|value| only(value.bytes(), 1)[0].text());
                values.collect::<Vec<_>>().join(" ")
            }
        };
        (key, text)
    });
    pairs.collect()
}

fn link(link: &Field<'_>) -> (String, String) {
    let id = |tag| only(link.bytes(), tag)[0].hex();
    (id(1), id(2))
}

fn read(request: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    for group in only(request, 1) {
        let resource = attributes(only(group.bytes(), 1)[0].bytes(), 1);
        for scope in only(group.bytes(), 2) {
            for span in only(scope.bytes(), 2) {
                let span = span.bytes();
                let first = |tag| only(span, tag).into_iter().next();
                spans.push(Span {
                    trace: first(1).expect("a trace").hex(),
                    id: first(2).expect("an id").hex(),
                    parent: first(4).map(|field| field.hex()).unwrap_or_default(),
                    name: first(5).expect("a name").text(),
                    kind: first(6).expect("a kind").number(),
                    began: first(7).expect("a beginning").number(),
                    ended: first(8).expect("an end").number(),
                    attributes: attributes(span, 9),
                    links: only(span, 13).iter().map(link).collect(),
                    status: first(15)
                        .and_then(|status| Some(only(status.bytes(), 3).first()?.number()))
                        .unwrap_or_default(),
                    resource: resource.clone(),
                });
            }
        }
    }
    spans
}
