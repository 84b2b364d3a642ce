//! Calls and requests of a client, to the letter.

use switchboard_types::model::{
    Id, Json, Message, Object, Part, PushConfig, Role, TaskState, Timestamp,
};
use switchboard_types::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Method,
    Operation, SendConfiguration, SendMessage, Subscribe,
};
use switchboard_types::wire::{jsonrpc, rest};
use switchboard_types::{Dialect, FileBytes, VersionHeader};

fn id<K>(text: &str) -> Id<K> {
    Id::new(text).unwrap()
}

fn hello() -> Box<SendMessage> {
    Box::new(SendMessage {
        message: Message::new(id("m"), Role::User, vec![Part::text("hello")]),
        configuration: SendConfiguration::default(),
        metadata: None,
    })
}

fn webhook() -> PushConfig {
    PushConfig {
        id: None,
        task_id: Some(id("t")),
        url: "https://hook.example/".into(),
        token: None,
        authentication: None,
    }
}

fn call(dialect: Dialect, operation: &Operation) -> String {
    let mut out = Vec::new();
    jsonrpc::write_call(&mut out, &jsonrpc::Id::text("1"), dialect, operation, None);
    String::from_utf8(out).unwrap()
}

/// Verb, path and query on one line, the body on the next.
fn request(dialect: Dialect, operation: &Operation, tenant: Option<&str>) -> String {
    let asked = rest::write_request(dialect, operation, tenant);
    let query = if asked.query.is_empty() { "" } else { "?" };
    let body = asked.body.map_or_else(String::new, |body| {
        format!("\n{}", String::from_utf8(body).unwrap())
    });
    format!("{} {}{query}{}{body}", asked.verb, asked.path, asked.query)
}

#[test]
fn a_prompt_is_said_as_each_version_says_it() {
    let send = Operation::Send(hello());
    assert_eq!(
        call(Dialect::V1, &send),
        concat!(
            r#"{"jsonrpc":"2.0","id":"1","method":"SendMessage","params":{"message":"#,
            r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#,
        )
    );
    assert_eq!(
        call(Dialect::V0Json, &send),
        concat!(
            r#"{"jsonrpc":"2.0","id":"1","method":"message/send","params":{"message":"#,
            r#"{"kind":"message","role":"user","parts":[{"kind":"text","text":"hello"}],"messageId":"m"},"#,
            r#""configuration":{"acceptedOutputModes":[],"blocking":true}}}"#,
        )
    );
    assert_eq!(
        request(
            Dialect::V0Proto(FileBytes::Base64),
            &Operation::Stream(hello()),
            None
        ),
        concat!(
            "POST /v1/message:stream\n",
            r#"{"message":{"role":"ROLE_USER","content":[{"text":"hello"}],"messageId":"m"}}"#,
        )
    );
}

#[test]
fn whoever_does_not_wait_says_so() {
    let mut send = hello();
    send.configuration.return_immediately = true;
    let send = Operation::Send(send);
    let end = |text: String| text[text.find("\"configuration\"").unwrap()..].to_owned();
    assert_eq!(
        end(call(Dialect::V1, &send)),
        r#""configuration":{"returnImmediately":true}}}"#
    );
    assert_eq!(
        end(call(Dialect::V0Json, &send)),
        r#""configuration":{"acceptedOutputModes":[],"blocking":false}}}"#
    );
}

#[test]
fn a_webhook_in_a_send_names_no_task() {
    let mut send = hello();
    send.configuration.push = Some(webhook());
    let send = Operation::Send(send);
    for (dialect, name) in [
        (Dialect::V1, "taskPushNotificationConfig"),
        (Dialect::V0Json, "pushNotificationConfig"),
        (Dialect::V0Proto(FileBytes::Base64), "pushNotification"),
    ] {
        let text = request(dialect, &send, None);
        let config = format!(r#""{name}":{{"url":"https://hook.example/"}}"#);
        assert!(text.contains(&config), "{text}");
    }
}

#[test]
fn every_operation_has_its_name_and_0_x_has_no_list() {
    for dialect in Dialect::ALL {
        for method in Method::ALL {
            let name = jsonrpc::method_name(dialect, method);
            let version = dialect.version().name();
            let (_, found) = jsonrpc::negotiate(name, version, VersionHeader::Required).unwrap();
            assert_eq!(found, method, "{name}");
            let missing = dialect != Dialect::V1 && method == Method::List;
            assert_eq!(jsonrpc::offers(dialect, method), !missing, "{name}");
        }
    }
}

#[test]
fn the_extended_card_has_no_parameters_in_0_x() {
    assert_eq!(
        call(Dialect::V0Json, &Operation::ExtendedCard),
        r#"{"jsonrpc":"2.0","id":"1","method":"agent/getAuthenticatedExtendedCard"}"#
    );
    assert_eq!(
        call(Dialect::V1, &Operation::ExtendedCard),
        r#"{"jsonrpc":"2.0","id":"1","method":"GetExtendedAgentCard","params":{}}"#
    );
}

#[test]
fn every_operation_has_its_request() {
    let odd = "a/b:c d";
    let list = ListTasks {
        context_id: Some(id("c&d")),
        status: Some(TaskState::InputRequired),
        page_size: Some(5),
        page_token: Some("x+y=".into()),
        history_length: Some(0),
        status_timestamp_after: Some(Timestamp::from_micros(0)),
        include_artifacts: true,
    };
    let metadata = Object::try_from(Json::parse(r#"{"why":1}"#).unwrap()).unwrap();
    let get = GetTask {
        id: id(odd),
        history_length: Some(3),
    };
    let cancel = CancelTask {
        id: id("t"),
        metadata: Some(metadata),
    };
    let configs = ListPushConfigs {
        task_id: id("t"),
        page_size: Some(2),
        page_token: None,
    };
    let config = |id| GetPushConfig {
        task_id: self::id("t"),
        id,
    };
    let delete = DeletePushConfig {
        task_id: id("t"),
        id: id("c/1"),
    };
    for (operation, newer, older) in [
        (
            Operation::Get(get),
            "GET /tasks/a%2Fb%3Ac%20d?historyLength=3",
            "GET /v1/tasks/a%2Fb%3Ac%20d?historyLength=3",
        ),
        (
            Operation::List(list),
            concat!(
                "GET /tasks?contextId=c%26d&status=TASK_STATE_INPUT_REQUIRED&pageSize=5&pageToken=x%2By%3D",
                "&historyLength=0&statusTimestampAfter=1970-01-01T00%3A00%3A00.000Z&includeArtifacts=true",
            ),
            concat!(
                "GET /v1/tasks?contextId=c%26d&status=TASK_STATE_INPUT_REQUIRED&pageSize=5&pageToken=x%2By%3D",
                "&historyLength=0&statusTimestampAfter=1970-01-01T00%3A00%3A00.000Z&includeArtifacts=true",
            ),
        ),
        (
            Operation::Cancel(cancel),
            "POST /tasks/t:cancel\n{\"metadata\":{\"why\":1}}",
            "POST /v1/tasks/t:cancel\n{}",
        ),
        (
            Operation::Subscribe(Subscribe { id: id("..") }),
            "GET /tasks/%2E%2E:subscribe",
            "GET /v1/tasks/%2E%2E:subscribe",
        ),
        (
            Operation::CreatePushConfig(webhook()),
            "POST /tasks/t/pushNotificationConfigs\n{\"taskId\":\"t\",\"url\":\"https://hook.example/\"}",
            concat!(
                "POST /v1/tasks/t/pushNotificationConfigs\n",
                r#"{"parent":"tasks/t","configId":"default","config":{"name":"tasks/t/pushNotificationConfigs/default","#,
                r#""pushNotificationConfig":{"id":"default","url":"https://hook.example/"}}}"#,
            ),
        ),
        (
            Operation::GetPushConfig(config(Some(id("c")))),
            "GET /tasks/t/pushNotificationConfigs/c",
            "GET /v1/tasks/t/pushNotificationConfigs/c",
        ),
        (
            Operation::GetPushConfig(config(None)),
            "GET /tasks/t/pushNotificationConfigs",
            "GET /v1/tasks/t/pushNotificationConfigs",
        ),
        (
            Operation::ListPushConfigs(configs),
            "GET /tasks/t/pushNotificationConfigs?pageSize=2",
            "GET /v1/tasks/t/pushNotificationConfigs?pageSize=2",
        ),
        (
            Operation::DeletePushConfig(delete),
            "DELETE /tasks/t/pushNotificationConfigs/c%2F1",
            "DELETE /v1/tasks/t/pushNotificationConfigs/c%2F1",
        ),
        (
            Operation::ExtendedCard,
            "GET /extendedAgentCard",
            "GET /v1/card",
        ),
    ] {
        assert_eq!(request(Dialect::V1, &operation, None), newer);
        assert_eq!(
            request(Dialect::V0Proto(FileBytes::Base64), &operation, None),
            older
        );
    }
}

#[test]
fn a_tenant_stands_in_the_path_if_it_can() {
    let card = &Operation::ExtendedCard;
    let asked = |tenant| request(Dialect::V1, card, Some(tenant));
    assert_eq!(asked("acme"), "GET /acme/extendedAgentCard");
    assert_eq!(asked("a b:c"), "GET /a%20b%3Ac/extendedAgentCard");
    assert_eq!(asked(""), "GET /extendedAgentCard");
    for tenant in ["a/b", "v1", "tasks", "..", "message:send"] {
        let encoded = rest::encode_segment(tenant).replace("%2E", ".");
        assert_eq!(
            asked(tenant),
            format!("GET /extendedAgentCard?tenant={encoded}")
        );
    }
    let cancel = Operation::Cancel(CancelTask {
        id: id("t"),
        metadata: None,
    });
    assert_eq!(
        request(Dialect::V1, &cancel, Some("v1")),
        "POST /tasks/t:cancel\n{\"tenant\":\"v1\"}"
    );
    assert_eq!(
        request(Dialect::V0Proto(FileBytes::Base64), &cancel, Some("acme")),
        "POST /v1/tasks/t:cancel\n{}"
    );
}
