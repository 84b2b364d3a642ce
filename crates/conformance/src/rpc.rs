//! gRPC in the words of the other bindings: messages become JSON and back by what the .proto files say, and a status
//! becomes an error as HTTP+JSON has it. So the same checks read all three.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::{HeaderMap, HeaderValue};
use prost_reflect::prost::Message as _;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, Kind, MessageDescriptor,
    ReflectMessage as _, Value as Field,
};
use serde_json::{Value, json};
use switchboard_types::wire::grpc::DESCRIPTORS;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap_or_default());

/// The codes of gRPC, each at its number: their names, and the HTTP statuses that mean the same.
const CODES: [(&str, u16); 17] = [
    ("OK", 200),
    ("CANCELLED", 499),
    ("UNKNOWN", 500),
    ("INVALID_ARGUMENT", 400),
    ("DEADLINE_EXCEEDED", 504),
    ("NOT_FOUND", 404),
    ("ALREADY_EXISTS", 409),
    ("PERMISSION_DENIED", 403),
    ("RESOURCE_EXHAUSTED", 429),
    ("FAILED_PRECONDITION", 400),
    ("ABORTED", 409),
    ("OUT_OF_RANGE", 400),
    ("UNIMPLEMENTED", 501),
    ("INTERNAL", 500),
    ("UNAVAILABLE", 503),
    ("DATA_LOSS", 500),
    ("UNAUTHENTICATED", 401),
];

/// The code of what went wrong in no other way.
const UNKNOWN: usize = 2;

/// The code of what is not implemented.
pub(crate) const UNIMPLEMENTED: i64 = 12;

/// An rpc: what goes in and what comes out. Nothing is known of one that no package has.
#[derive(Debug, Clone)]
pub(crate) struct Rpc(Option<(MessageDescriptor, MessageDescriptor)>);

impl Rpc {
    /// The rpc at a path.
    pub(crate) fn at(path: &str) -> Self {
        let find = || {
            let (service, name) = path.strip_prefix('/')?.split_once('/')?;
            let service = POOL.get_service_by_name(service)?;
            let method = service.methods().find(|method| method.name() == name)?;
            Some((method.input(), method.output()))
        };
        Self(find())
    }

    /// The message that says this, if there are words for it.
    pub(crate) fn write(&self, params: &Value) -> Result<Vec<u8>, String> {
        let (input, _) = self.0.as_ref().ok_or("this version has no such rpc")?;
        let strict = DeserializeOptions::new();
        DynamicMessage::deserialize_with_options(input.clone(), params, &strict)
            .map(|message| message.encode_to_vec())
            .map_err(|error| format!("gRPC cannot say it: {error}"))
    }

    /// A request, for people.
    pub(crate) fn shown(&self, frames: &[u8]) -> String {
        let input = self.0.as_ref().map(|(input, _)| input);
        Frames::of(input).push(frames).join("\n")
    }

    /// Reads what comes back.
    pub(crate) fn frames(&self) -> Frames {
        Frames::of(self.0.as_ref().map(|(_, output)| output))
    }
}

/// Gathers bytes until a message is complete.
#[derive(Debug)]
pub(crate) struct Frames {
    of: Option<MessageDescriptor>,
    buffer: Vec<u8>,
}

impl Frames {
    fn of(message: Option<&MessageDescriptor>) -> Self {
        Self {
            of: message.cloned(),
            buffer: Vec::new(),
        }
    }

    /// Takes bytes, and gives all messages that are complete now, as JSON. What is no message is said to be so.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.buffer.extend_from_slice(bytes);
        let mut messages = Vec::new();
        while let Some((&[compressed, a, b, c, d], rest)) = self.buffer.split_first_chunk() {
            let length = u32::from_be_bytes([a, b, c, d]);
            let Some(message) = usize::try_from(length).ok().and_then(|n| rest.get(..n)) else {
                break;
            };
            messages.push(match compressed {
                0 => self.text(message),
                _ => "a compressed message that was not asked for".to_owned(),
            });
            let taken = message.len() + 5;
            self.buffer.drain(..taken);
        }
        messages
    }

    /// How much there is of a message that was begun and not ended.
    pub(crate) fn torn(&self) -> usize {
        self.buffer.len()
    }

    fn text(&self, message: &[u8]) -> String {
        let Some(of) = &self.of else {
            return format!("{} bytes", message.len());
        };
        match DynamicMessage::decode(of.clone(), message) {
            Ok(read) => json_of(&read).to_string(),
            Err(error) => format!("what is no {}: {error}", of.name()),
        }
    }
}

/// A message as JSON. In a list without elements even what is 0 or empty is there: the wire knows no difference.
fn json_of(message: &DynamicMessage) -> Value {
    let mut json = serde_json::to_value(message).unwrap_or_default();
    let of = message.descriptor();
    if let (true, Some(members)) = (of.name().starts_with("List"), json.as_object_mut()) {
        for field in of.fields().filter(|field| !field.supports_presence()) {
            let empty = match field.kind() {
                _ if field.is_list() => json!([]),
                Kind::String => json!(""),
                _ => json!(0),
            };
            members.entry(field.json_name()).or_insert(empty);
        }
    }
    json
}

/// A message in its frame.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut frame = vec![0];
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

/// The status and the error in metadata, as HTTP+JSON would have them. None: all went well.
pub(crate) fn refusal(headers: &HeaderMap) -> Option<(u16, Value)> {
    let said = |name| headers.get(name).map(HeaderValue::as_bytes);
    let code = std::str::from_utf8(said("grpc-status")?).ok();
    let code: Option<usize> = code.and_then(|code| code.parse().ok());
    let code = code.filter(|code| *code < CODES.len()).unwrap_or(UNKNOWN);
    if code == 0 {
        return None;
    }
    let (name, status) = CODES[code];
    let error = json!({
        "code": code,
        "status": name,
        "message": decoded(said("grpc-message").unwrap_or_default()),
        "details": details(said("grpc-status-details-bin").unwrap_or_default()),
    });
    Some((status, json!({ "error": error })))
}

/// Text with percent-encoding.
fn decoded(text: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let meant = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(meant.unwrap_or(byte));
        rest = meant.map_or(after, |_| &after[2..]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether metadata says how it went.
pub(crate) fn has_status(headers: &HeaderMap) -> bool {
    headers.contains_key("grpc-status")
}

/// The details of `google.rpc.Status` in base64; of those whose type is not known only that.
fn details(text: &[u8]) -> Vec<Value> {
    let length = text.iter().position(|byte| *byte == b'=');
    let status = STANDARD_NO_PAD.decode(&text[..length.unwrap_or(text.len())]);
    let status = status.unwrap_or_default();
    let of = POOL.get_message_by_name("google.rpc.Status");
    let read = of.and_then(|of| DynamicMessage::decode(of, &*status).ok());
    let list = read.and_then(|read| read.get_field_by_name("details").map(|d| d.into_owned()));
    let list = list.as_ref().and_then(Field::as_list).unwrap_or_default();
    let messages = list.iter().filter_map(Field::as_message);
    messages
        .map(|any| {
            serde_json::to_value(any).unwrap_or_else(|_| {
                let name = any.get_field_by_name("type_url");
                json!({"@type": name.as_deref().and_then(Field::as_str)})
            })
        })
        .collect()
}

/// The address in a card, which has no scheme but may have one: as the card was found, so is gRPC.
pub(crate) fn address(said: &str, plain: bool) -> String {
    let said = said.trim();
    let bare = said.strip_prefix("dns:").unwrap_or(said);
    if let Some(host) = said.strip_prefix("grpc://") {
        return format!("http://{host}");
    }
    if let Some(host) = said.strip_prefix("grpcs://") {
        return format!("https://{host}");
    }
    if bare.contains("://") {
        return bare.to_owned();
    }
    let scheme = if plain && !bare.ends_with(":443") {
        "http"
    } else {
        "https"
    };
    format!("{scheme}://{}", bare.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_json_is_read_back_however_it_arrives() {
        let rpc = Rpc::at("/lf.a2a.v1.A2AService/GetTask");
        let params = json!({"id": "t", "historyLength": -1});
        let message = rpc.write(&params).unwrap();
        assert_eq!(rpc.shown(&framed(&message)), params.to_string());
        let odd = rpc.write(&json!({"notThere": 1})).unwrap_err();
        assert!(odd.contains("notThere"), "{odd}");
        assert!(Rpc::at("/a.B/C").write(&params).is_err());

        let list = Rpc::at("/lf.a2a.v1.A2AService/ListTasks");
        let mut frames = list.frames();
        let bytes = [framed(b""), framed(b"\xff")].concat();
        let found: Vec<String> = bytes
            .iter()
            .flat_map(|byte| frames.push(&[*byte]))
            .collect();
        let page: Value = serde_json::from_str(&found[0]).unwrap();
        let empty = json!({"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0});
        assert_eq!(page, empty);
        assert!(found[1].starts_with("what is no ListTasksResponse"));
        assert_eq!(frames.torn(), 0);
        frames.push(b"\0\0");
        assert_eq!(frames.torn(), 2);
    }

    #[test]
    fn a_status_is_an_error_with_its_details() {
        let mut headers = HeaderMap::new();
        assert_eq!((refusal(&headers), has_status(&headers)), (None, false));
        headers.insert("grpc-status", "0".parse().unwrap());
        assert_eq!((refusal(&headers), has_status(&headers)), (None, true));
        headers.insert("grpc-status", "5".parse().unwrap());
        headers.insert("grpc-message", "not%20here".parse().unwrap());
        let (status, body) = refusal(&headers).unwrap();
        assert_eq!(status, 404);
        let error = json!({"code": 5, "status": "NOT_FOUND", "message": "not here", "details": []});
        assert_eq!(body["error"], error);

        // Nothing that an agent may write there makes us fall.
        for (code, details) in [("x", "!"), ("-1", "=="), ("99", "AA=A"), ("", "")] {
            headers.insert("grpc-status", code.parse().unwrap());
            headers.insert("grpc-status-details-bin", details.parse().unwrap());
            headers.insert("grpc-message", "100% %F".parse().unwrap());
            let (status, body) = refusal(&headers).unwrap();
            assert_eq!(status, 500, "{code}");
            assert_eq!(body["error"]["message"], "100% %F");
        }
    }

    #[test]
    fn addresses_need_no_scheme() {
        for (said, plain, url) in [
            ("here:1", true, "http://here:1"),
            ("here:443", true, "https://here:443"),
            ("here:1", false, "https://here:1"),
            ("dns:///here:1", true, "http://here:1"),
            ("grpcs://here", true, "https://here"),
            ("https://here:1", true, "https://here:1"),
        ] {
            assert_eq!(address(said, plain), url, "{said}");
        }
    }
}
