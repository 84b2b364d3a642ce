//! Routes, queries and bodies of REST.

use switchboard_types::model::Content;
use switchboard_types::operation::{Method, Operation};
use switchboard_types::wire::Request;
use switchboard_types::wire::rest::{self, RouteError, route};
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes, ProtocolVersion};

fn ask(
    verb: &str,
    path: &str,
    query: &str,
    body: &str,
) -> Result<(Dialect, Request), (Dialect, Error)> {
    ask_as(FileBytes::Base64, verb, path, query, body)
}

fn ask_as(
    files: FileBytes,
    verb: &str,
    path: &str,
    query: &str,
    body: &str,
) -> Result<(Dialect, Request), (Dialect, Error)> {
    let route = route(verb, path).unwrap();
    rest::decode(&route, files, Some(query), body.as_bytes())
}

#[test]
fn every_operation_has_its_path() {
    for (verb, path, method) in [
        ("POST", "/message:send", Method::Send),
        ("POST", "/message%3Astream", Method::Stream),
        ("GET", "/tasks", Method::List),
        ("GET", "/tasks/", Method::List),
        ("GET", "/tasks/t", Method::Get),
        ("POST", "/tasks/t:cancel", Method::Cancel),
        ("GET", "/tasks/t:subscribe", Method::Subscribe),
        ("POST", "/tasks/t:subscribe", Method::Subscribe),
        (
            "POST",
            "/tasks/t/pushNotificationConfigs",
            Method::CreatePushConfig,
        ),
        (
            "GET",
            "/tasks/t/pushNotificationConfigs",
            Method::ListPushConfigs,
        ),
        (
            "GET",
            "/tasks/t/pushNotificationConfigs/p",
            Method::GetPushConfig,
        ),
        (
            "DELETE",
            "/tasks/t/pushNotificationConfigs/p",
            Method::DeletePushConfig,
        ),
    ] {
        for (prefix, version, tenant) in [
            ("", ProtocolVersion::V1_0, None),
            ("/acme", ProtocolVersion::V1_0, Some("acme")),
            ("/v1", ProtocolVersion::V0_3, None),
        ] {
            let found = route(verb, &format!("{prefix}{path}")).unwrap();
            assert_eq!(found.method, method, "{prefix}{path}");
            assert_eq!(found.version, version, "{prefix}{path}");
            assert_eq!(found.tenant.as_deref(), tenant, "{prefix}{path}");
            let named = path.starts_with("/tasks/t");
            assert_eq!(found.task_id.as_deref(), named.then_some("t"), "{path}");
            let config = path.ends_with("/p").then_some("p");
            assert_eq!(found.config_id.as_deref(), config, "{path}");
        }
    }
    assert_eq!(
        route("GET", "/v1/card").unwrap().method,
        Method::ExtendedCard
    );
    let card = route("GET", "/extendedAgentCard").unwrap();
    assert_eq!(card.method, Method::ExtendedCard);
    let slip = route("POST", "/v1/task/t/pushNotificationConfigs").unwrap();
    assert_eq!(slip.method, Method::CreatePushConfig);
}

#[test]
fn ids_may_hold_anything_once_encoded() {
    let id = |path: &str| route("GET", path).unwrap().task_id.unwrap();
    assert_eq!(id("/tasks/a%20b%2Fc"), "a b/c");
    assert_eq!(id("/tasks/urn:uuid:1"), "urn:uuid:1");
    assert_eq!(id("/tasks/t%3Acancel"), "t:cancel");
    assert_eq!(id("/tasks/a+b"), "a+b");
    let cancel = route("POST", "/tasks/a:b%3Ac:cancel").unwrap();
    assert_eq!(cancel.task_id.as_deref(), Some("a:b:c"));
}

#[test]
fn other_paths_are_not_found() {
    for path in [
        "",
        "/",
        "/nothing",
        "/v1",
        "/v1/extendedAgentCard",
        "/card",
        "/a/b/tasks",
        "/tasks//x",
        "/tasks/:cancel",
        "/tasks/%zz",
        "/tasks/%ff",
        "/a%2Fb/tasks",
        "/tasks/t/other",
        "/task/t/pushNotificationConfigs",
        "/tasks/t/pushNotificationConfigs/p/q",
    ] {
        assert_eq!(route("GET", path), Err(RouteError::NotFound), "{path}");
    }
}

#[test]
fn other_verbs_are_told_what_is_allowed() {
    for (verb, path, allow) in [
        ("GET", "/message:send", "POST"),
        ("POST", "/tasks", "GET"),
        ("DELETE", "/tasks/t", "GET"),
        ("GET", "/tasks/t:cancel", "POST"),
        ("PUT", "/tasks/t:subscribe", "GET, POST"),
        ("DELETE", "/tasks/t/pushNotificationConfigs", "GET, POST"),
        ("POST", "/tasks/t/pushNotificationConfigs/p", "GET, DELETE"),
    ] {
        let refused = route(verb, path);
        assert_eq!(
            refused,
            Err(RouteError::MethodNotAllowed(allow)),
            "{verb} {path}"
        );
    }
}

#[test]
fn queries_of_1_0_are_read() {
    let query = "contextId=c%201&status=TASK_STATE_WORKING&page_size=7&pageToken=a%2Bb\
                 &historyLength=0&statusTimestampAfter=2025-10-30T10%3A00%3A00Z\
                 &includeArtifacts=true&tenant=acme&A2A-Version=1.0";
    let (dialect, request) = ask("GET", "/tasks", query, "").unwrap();
    assert_eq!(dialect, Dialect::V1);
    assert_eq!(request.tenant.as_deref(), Some("acme"));
    let Operation::List(list) = request.operation else {
        panic!("not a list");
    };
    assert_eq!(list.context_id.unwrap().as_str(), "c 1");
    assert_eq!(list.page_size, Some(7));
    assert_eq!(list.page_token.as_deref(), Some("a+b"));
    assert_eq!(list.history_length, Some(0));
    assert!(list.include_artifacts && list.status_timestamp_after.is_some());
}

#[test]
fn bad_queries_are_refused_by_name() {
    for (query, field) in [
        ("pageSize=0", "pageSize"),
        ("pageSize=abc", "pageSize"),
        ("pageSize=1&page_size=2", "pageSize"),
        ("status=DANCING", "status"),
        ("includeArtifacts=maybe", "includeArtifacts"),
        ("historyLength=-1", "historyLength"),
    ] {
        let (dialect, error) = ask("GET", "/tasks", query, "").unwrap_err();
        assert_eq!(dialect, Dialect::V1);
        assert_eq!(error.violations()[0].field, field, "{query}");
    }
}

#[test]
fn path_query_and_body_must_agree() {
    let body =
        r#"{"tenant":"b","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
    let field = |answer: Result<(Dialect, Request), (Dialect, Error)>| {
        answer.unwrap_err().1.violations()[0].field.clone()
    };
    assert_eq!(field(ask("POST", "/a/message:send", "", body)), "tenant");
    assert_eq!(
        field(ask("POST", "/message:send", "tenant=a", body)),
        "tenant"
    );
    assert_eq!(field(ask("GET", "/a/tasks", "tenant=b", "")), "tenant");
    assert_eq!(
        field(ask("POST", "/tasks/t:cancel", "", r#"{"id":"u"}"#)),
        "id"
    );
    let create = ask(
        "POST",
        "/tasks/t/pushNotificationConfigs",
        "",
        r#"{"taskId":"u","url":"x"}"#,
    );
    assert_eq!(field(create), "taskId");
    let (_, request) = ask("POST", "/b/message:send", "tenant=b", body).unwrap();
    assert_eq!(request.tenant.as_deref(), Some("b"));
}

#[test]
fn cancel_takes_any_empty_body_and_metadata() {
    for (path, dialect) in [
        ("/tasks/t:cancel", Dialect::V1),
        ("/v1/tasks/t:cancel", Dialect::V0Proto(FileBytes::Base64)),
    ] {
        for body in [
            "",
            " \n",
            "{}",
            r#"{"name":"tasks/t"}"#,
            r#"{"metadata":{"a":1}}"#,
        ] {
            let (answered, request) = ask("POST", path, "", body).unwrap();
            assert_eq!(answered, dialect);
            let Operation::Cancel(cancel) = request.operation else {
                panic!("not a cancel");
            };
            assert_eq!(cancel.id.as_str(), "t");
            assert_eq!(cancel.metadata.is_some(), body.contains("metadata"));
        }
        let (_, error) = ask("POST", path, "", "[]").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        let (_, error) = ask("POST", path, "", "{").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse);
    }
}

#[test]
fn the_body_shows_the_spelling_of_0_3() {
    for (body, dialect) in [
        (
            r#"{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}"#,
            Dialect::V0Json,
        ),
        (
            r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}"#,
            Dialect::V0Json,
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"kind":"text","text":"x"}]}}"#,
            Dialect::V0Json,
        ),
        (
            r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]}}"#,
            Dialect::V0Proto(FileBytes::Base64),
        ),
        (
            r#"{"request":{"message_id":"m","role":1,"content":[{"data":{"data":{"k":1}}}]},"configuration":{"blocking":true}}"#,
            Dialect::V0Proto(FileBytes::Base64),
        ),
    ] {
        let (spoken, request) = ask("POST", "/v1/message:send", "", body).unwrap();
        assert_eq!(spoken, dialect, "{body}");
        assert!(matches!(request.operation, Operation::Send(_)));
    }
    let (_, error) = ask("POST", "/v1/message:stream", "", "{}").unwrap_err();
    assert_eq!(error.violations()[0].field, "message");
}

#[test]
fn what_proto_json_of_0_3_leaves_out_of_a_configuration_is_false() {
    let waits = |message: &str, configuration: &str| {
        let body = format!(r#"{{"message":{message}{configuration}}}"#);
        let (_, request) = ask("POST", "/v1/message:send", "", &body).unwrap();
        let Operation::Send(send) = request.operation else {
            panic!("not a send");
        };
        !send.configuration.return_immediately
    };
    let proto = r#"{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]}"#;
    assert!(waits(proto, ""));
    assert!(!waits(proto, r#","configuration":{}"#));
    assert!(waits(proto, r#","configuration":{"blocking":true}"#));
    let json = r#"{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}"#;
    assert!(waits(json, ""));
    assert!(waits(json, r#","configuration":{}"#));
    assert!(!waits(json, r#","configuration":{"blocking":false}"#));
}

#[test]
fn requests_of_0_3_without_a_body_are_proto_json() {
    let (dialect, request) = ask("GET", "/v1/tasks/t", "history_length=2", "").unwrap();
    assert_eq!(dialect, Dialect::V0Proto(FileBytes::Base64));
    let Operation::Get(get) = request.operation else {
        panic!("not a get");
    };
    assert_eq!((get.id.as_str(), get.history_length), ("t", Some(2)));
    let (_, request) = ask("DELETE", "/v1/tasks/t/pushNotificationConfigs/p", "", "").unwrap();
    assert_eq!(request.operation.method(), Method::DeletePushConfig);
    let (_, request) = ask("GET", "/v1/card", "", "").unwrap();
    assert_eq!(request.operation, Operation::ExtendedCard);
}

#[test]
fn a_webhook_of_0_3_takes_its_task_from_the_path() {
    for body in [
        r#"{"config":{"url":"https://h.example/"}}"#,
        r#"{"url":"https://h.example/"}"#,
        r#"{"pushNotificationConfig":{"url":"https://h.example/"}}"#,
        r#"{"config":{"pushNotificationConfig":{"url":"https://h.example/"}}}"#,
        r#"{"parent":"tasks/t","configId":"p","config":{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"url":"https://h.example/"}}}"#,
    ] {
        let (_, request) = ask("POST", "/v1/tasks/t/pushNotificationConfigs", "", body).unwrap();
        let Operation::CreatePushConfig(config) = request.operation else {
            panic!("not a webhook");
        };
        assert_eq!(config.task_id.unwrap().as_str(), "t", "{body}");
        assert_eq!(config.url, "https://h.example/");
    }
    let other = r#"{"taskId":"u","pushNotificationConfig":{"url":"https://h.example/"}}"#;
    let (dialect, error) =
        ask("POST", "/v1/tasks/t/pushNotificationConfigs", "", other).unwrap_err();
    assert_eq!(dialect, Dialect::V0Json);
    assert_eq!(error.violations()[0].field, "taskId");
}

/// `deadbeef`: a file that is base64 text by chance, as each SDK writes it.
#[test]
fn file_with_bytes_of_0_3_holds_what_the_caller_is_said_to_write() {
    let body = |file: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","content":[{{"file":{file}}}]}}}}"#
        )
    };
    let sent = |files, body: &str| {
        let (dialect, request) = ask_as(files, "POST", "/v1/message:send", "", body)?;
        assert_eq!(dialect.files(), Some(files), "the answer has the same form");
        match request.operation {
            Operation::Send(send) => Ok(send.message.parts[0].content.clone()),
            other => panic!("not a send: {other:?}"),
        }
    };
    let file = Ok(Content::Raw("deadbeef".into()));
    let python = body(r#"{"fileWithBytes":"WkdWaFpHSmxaV1k9"}"#);
    assert_eq!(sent(FileBytes::Base64, &python), file);
    let strict = body(r#"{"fileWithBytes":"ZGVhZGJlZWY="}"#);
    assert_eq!(sent(FileBytes::Raw, &strict), file);
    // `bytes` is not ProtoJSON, and has one form only.
    let plain = body(r#"{"bytes":"ZGVhZGJlZWY="}"#);
    assert_eq!(sent(FileBytes::Base64, &plain), file);
    assert_eq!(sent(FileBytes::Raw, &plain), file);
    let other = body(r#"{"fileWithBytes":"AAH+/w=="}"#);
    let (_, error) = sent(FileBytes::Base64, &other).unwrap_err();
    assert_eq!(
        error.violations()[0].field,
        "message.content[0].file.fileWithBytes"
    );
    assert!(error.message().contains("`file_bytes: raw`"), "{error}");
}

#[test]
fn file_with_bytes_beside_a_kind_is_the_file() {
    let body = r#"{"message":{"kind":"message","messageId":"m","role":"user",
        "parts":[{"kind":"file","file":{"fileWithBytes":"AAH+/w=="}}]}}"#;
    let (dialect, request) = ask("POST", "/v1/message:send", "", body).unwrap();
    assert_eq!(dialect, Dialect::V0Json);
    let Operation::Send(send) = request.operation else {
        panic!("not a send");
    };
    let file = Content::Raw(b"\x00\x01\xfe\xff".to_vec().into());
    assert_eq!(send.message.parts[0].content, file);
}
