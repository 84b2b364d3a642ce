//! Spans as protobuf: as much of `opentelemetry.proto.collector.trace.v1` as is sent.

use prost::Message;
use switchboard_server::trace::{self, Attribute};
use switchboard_types::model::Timestamp;

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<Link>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(string, optional, tag = "1")]
    string_value: Option<String>,
    #[prost(int64, optional, tag = "3")]
    int_value: Option<i64>,
    #[prost(message, optional, tag = "5")]
    array_value: Option<ArrayValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    values: Vec<AnyValue>,
}

/// The status of what failed.
const ERROR: i32 = 2;

/// A request with these spans.
pub(super) fn encode(resource: &[(String, String)], spans: Vec<trace::Span>) -> Vec<u8> {
    let attributes = resource.iter().map(|(name, value)| KeyValue {
        key: name.clone(),
        value: Some(text(value.clone())),
    });
    let scope = Scope {
        name: "switchboard".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let request = Request {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: attributes.collect(),
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope),
                spans: spans.into_iter().map(span).collect(),
            }],
        }],
    };
    request.encode_to_vec()
}

fn span(span: trace::Span) -> Span {
    let parent = span.trace.parent();
    Span {
        trace_id: span.trace.id().to_bytes().to_vec(),
        span_id: span.trace.span().to_bytes().to_vec(),
        trace_state: span.trace.tracestate().unwrap_or_default().to_owned(),
        parent_span_id: parent.map(|id| id.to_bytes().to_vec()).unwrap_or_default(),
        name: span.name,
        kind: match span.kind {
            trace::Kind::Internal => 1,
            trace::Kind::Server => 2,
            trace::Kind::Client => 3,
        },
        start_time_unix_nano: nanos(span.began),
        end_time_unix_nano: nanos(span.ended),
        attributes: span.attributes.into_iter().map(attribute).collect(),
        links: span.links.into_iter().map(link).collect(),
        status: span.error.map(|message| Status {
            message,
            code: ERROR,
        }),
    }
}

fn link((trace, span): (trace::TraceId, trace::SpanId)) -> Link {
    Link {
        trace_id: trace.to_bytes().to_vec(),
        span_id: span.to_bytes().to_vec(),
    }
}

fn attribute((name, value): (&'static str, Attribute)) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(match value {
            Attribute::Text(value) => text(value),
            Attribute::Number(value) => AnyValue {
                int_value: Some(value),
                ..AnyValue::default()
            },
            Attribute::Texts(values) => AnyValue {
                array_value: Some(ArrayValue {
                    values: values.into_iter().map(text).collect(),
                }),
                ..AnyValue::default()
            },
        }),
    }
}

fn text(value: String) -> AnyValue {
    AnyValue {
        string_value: Some(value),
        ..AnyValue::default()
    }
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.as_micros())
        .unwrap_or_default()
        .saturating_mul(1000)
}
