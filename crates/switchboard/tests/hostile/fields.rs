//! Members of the wrong type, size or content: refused with their path, in every binding and version.

use serde_json::Value;

use crate::wire::{Way, envelope, exchange, healthy, post};

/// A place in the parameters of a send, what stands there, and what is said about it.
const EVERY_VERSION: [(&str, &str, &str); 42] = [
    ("/message", "5", "message must be an object"),
    ("/message", "[]", "message must be an object"),
    ("/message", "null", "message is required"),
    (
        "/message/messageId",
        "5",
        "message.messageId must be a string",
    ),
    (
        "/message/messageId",
        "\"\"",
        "message.messageId must not be empty",
    ),
    (
        "/message/messageId",
        "null",
        "message.messageId is required",
    ),
    (
        "/message/messageId",
        r#""a\u0007""#,
        "message.messageId must not contain control characters",
    ),
    (
        "/message/messageId",
        r#""a\u0000""#,
        "message.messageId must not contain control characters",
    ),
    (
        "/message/messageId",
        r#""\ud83d""#,
        "message.messageId has half a surrogate pair",
    ),
    (
        "/message/contextId",
        "{}",
        "message.contextId must be a string",
    ),
    (
        "/message/contextId",
        r#""\n""#,
        "message.contextId must not contain control characters",
    ),
    ("/message/taskId", "true", "message.taskId must be a string"),
    (
        "/message/taskId",
        r#""\u009f""#,
        "message.taskId must not contain control characters",
    ),
    ("/message/role", "\"boss\"", "message.role must be"),
    ("/message/role", "7", "message.role must be"),
    ("/message/role", "-1", "message.role must be"),
    ("/message/role", "1.5", "message.role must be"),
    ("/message/role", "null", "message.role is required"),
    (
        "/message/parts",
        "[]",
        "message.parts must hold at least one part",
    ),
    ("/message/parts", "null", "message.parts is required"),
    ("/message/parts", "{}", "message.parts must be an array"),
    ("/message/parts", "\"x\"", "message.parts must be an array"),
    (
        "/message/parts",
        "[5]",
        "message.parts[0] must be an object",
    ),
    (
        "/message/parts",
        "[[]]",
        "message.parts[0] must be an object",
    ),
    (
        "/message/parts",
        "[null]",
        "message.parts[0] must be an object",
    ),
    ("/message/parts", "[{}]", "message.parts[0]"),
    (
        "/message/parts/0/text",
        "5",
        "message.parts[0].text must be a string",
    ),
    (
        "/message/parts/0/text",
        r#""\udc00""#,
        "message.parts[0].text has half a surrogate pair",
    ),
    (
        "/message/parts/0/metadata",
        "[]",
        "message.parts[0].metadata must be an object",
    ),
    (
        "/message/metadata",
        "5",
        "message.metadata must be an object",
    ),
    (
        "/message/metadata",
        r#"{"a":"\ud83d"}"#,
        "message.metadata has half a surrogate pair",
    ),
    (
        "/message/metadata",
        r#"{"skillId":"epic","skill\u0049d":"haiku"}"#,
        "message.metadata.skillId is given twice",
    ),
    (
        "/metadata",
        r#"{"a":[{"b":1,"b":2}]}"#,
        "metadata.a[0].b is given twice",
    ),
    (
        "/metadata",
        r#"{"a":1e400}"#,
        "metadata has a number out of range",
    ),
    (
        "/message/extensions",
        "\"x\"",
        "message.extensions must be an array",
    ),
    (
        "/message/extensions",
        "[5]",
        "message.extensions[0] must be a string",
    ),
    (
        "/message/referenceTaskIds",
        "[\"\"]",
        "message.referenceTaskIds[0] must not be empty",
    ),
    ("/configuration", "5", "configuration must be an object"),
    (
        "/configuration",
        r#"{"historyLength":-1}"#,
        "configuration.historyLength must not be negative",
    ),
    (
        "/configuration",
        r#"{"historyLength":1e400}"#,
        "configuration.historyLength is a number out of range",
    ),
    (
        "/configuration",
        r#"{"acceptedOutputModes":[5]}"#,
        "configuration.acceptedOutputModes[0] must be a string",
    ),
    ("/metadata", "[]", "metadata must be an object"),
];

const ONLY_1_0: [(&str, &str, &str); 13] = [
    (
        "/message/parts",
        r#"[{"text":"a","url":"b"}]"#,
        "message.parts[0] must have exactly one of",
    ),
    (
        "/message/parts",
        r#"[{"raw":"!!"}]"#,
        "message.parts[0].raw must be base64",
    ),
    (
        "/message/parts",
        r#"[{"raw":"Y"}]"#,
        "message.parts[0].raw must be base64",
    ),
    (
        "/message/parts",
        r#"[{"raw":5}]"#,
        "message.parts[0].raw must be a string",
    ),
    (
        "/message/parts",
        r#"[{"data":"\ud83d"}]"#,
        "message.parts[0].data has half a surrogate pair",
    ),
    (
        "/message/parts",
        r#"[{"text":"a","text":"b"}]"#,
        "message.parts[0] has a duplicate field `text`",
    ),
    (
        "/message/parts",
        r#"[{"text":"a"},{"text":"a","mediaType":5}]"#,
        "message.parts[1].mediaType must be a string",
    ),
    (
        "/message/parts",
        r#"[{"text":"a","filename":[]}]"#,
        "message.parts[0].filename must be a string",
    ),
    (
        "/configuration",
        r#"{"returnImmediately":"yes"}"#,
        "configuration.returnImmediately must be a boolean",
    ),
    (
        "/configuration",
        r#"{"taskPushNotificationConfig":{}}"#,
        "configuration.taskPushNotificationConfig.url is required",
    ),
    (
        "/configuration",
        r#"{"taskPushNotificationConfig":{"url":"nope"}}"#,
        "taskPushNotificationConfig.url must be an absolute",
    ),
    (
        "/configuration",
        r#"{"taskPushNotificationConfig":{"url":"http://127.0.0.1/"}}"#,
        "url must not point to a loopback address; an operator can allow it with push.allow",
    ),
    ("/tenant", "5", "tenant must be a string"),
];

const ONLY_0_3: [(&str, &str, &str); 7] = [
    ("/message/kind", "\"task\"", "message.kind must be"),
    (
        "/message/parts/0/kind",
        "\"nope\"",
        "message.parts[0].kind must be",
    ),
    (
        "/message/parts",
        r#"[{"kind":"file","file":{"bytes":"!!"}}]"#,
        "message.parts[0].file.bytes must be base64",
    ),
    (
        "/message/parts",
        r#"[{"kind":"file"}]"#,
        "message.parts[0].file",
    ),
    (
        "/message/parts",
        r#"[{"kind":"file","file":{}}]"#,
        "message.parts[0].file",
    ),
    (
        "/message/parts",
        r#"[{"kind":"data","data":{"a":"\udead"}}]"#,
        "message.parts[0].data has half a surrogate pair",
    ),
    (
        "/configuration",
        r#"{"blocking":"yes"}"#,
        "configuration.blocking must be a boolean",
    ),
];

/// A method of 1.0, its parameters, and what is said about them.
const OTHER_CALLS: [(&str, &str, &str); 29] = [
    (
        "CreateTaskPushNotificationConfig",
        r#"{"taskId":"t","url":"u","authentication":{"credentials":"c"}}"#,
        "authentication.scheme is required",
    ),
    ("GetTask", "null", "id is required"),
    ("GetTask", r#"{"id":5}"#, "id must be a string"),
    (
        "GetTask",
        r#"{"id":"a","id":"b"}"#,
        "has a duplicate field `id`",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":1,"history_length":2}"#,
        "has a duplicate field",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":-1}"#,
        "historyLength must not be negative",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":2147483648}"#,
        "historyLength must be a 32-bit integer",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":99999999999999999999}"#,
        "historyLength must be a 32-bit integer",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":1.5}"#,
        "historyLength must be a 32-bit integer",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":"x"}"#,
        "historyLength must be a 32-bit integer",
    ),
    (
        "GetTask",
        r#"{"id":"a","historyLength":1e400}"#,
        "historyLength is a number out of range",
    ),
    (
        "ListTasks",
        r#"{"pageSize":0}"#,
        "pageSize must be between 1 and 100",
    ),
    (
        "ListTasks",
        r#"{"pageSize":101}"#,
        "pageSize must be between 1 and 100",
    ),
    (
        "ListTasks",
        r#"{"pageSize":-1}"#,
        "pageSize must be between 1 and 100",
    ),
    (
        "ListTasks",
        r#"{"pageSize":"x"}"#,
        "pageSize must be a 32-bit integer",
    ),
    (
        "ListTasks",
        r#"{"pageToken":"bad"}"#,
        "pageToken is not the nextPageToken of this query",
    ),
    (
        "ListTasks",
        r#"{"pageToken":5}"#,
        "pageToken must be a string",
    ),
    (
        "ListTasks",
        r#"{"status":"nope"}"#,
        "status must be the name of a task state",
    ),
    (
        "ListTasks",
        r#"{"status":99}"#,
        "status must be the name of a task state",
    ),
    (
        "ListTasks",
        r#"{"statusTimestampAfter":"yesterday"}"#,
        "statusTimestampAfter must be an ISO 8601",
    ),
    (
        "ListTasks",
        r#"{"includeArtifacts":"yes"}"#,
        "includeArtifacts must be a boolean",
    ),
    (
        "ListTasks",
        r#"{"contextId":"\u0001"}"#,
        "contextId must not contain control characters",
    ),
    (
        "CancelTask",
        r#"{"id":"a","metadata":[]}"#,
        "metadata must be an object",
    ),
    ("SubscribeToTask", "{}", "id is required"),
    (
        "CreateTaskPushNotificationConfig",
        r#"{"url":"https://a.example"}"#,
        "taskId is required",
    ),
    (
        "CreateTaskPushNotificationConfig",
        r#"{"taskId":"t"}"#,
        "url is required",
    ),
    (
        "GetTaskPushNotificationConfig",
        r#"{"taskId":"t"}"#,
        "id is required",
    ),
    (
        "DeleteTaskPushNotificationConfig",
        r#"{"id":"t"}"#,
        "taskId is required",
    ),
    (
        "ListTaskPushNotificationConfigs",
        r#"{"taskId":"t","pageSize":-1}"#,
        "pageSize must not be negative",
    ),
];

/// Parameters that are fine but for one member; the text stands there as it is.
fn with(way: Way, place: &str, json: &str) -> String {
    let mut params = way.good();
    let (parent, name) = place.rsplit_once('/').expect("a place");
    let parent = params.pointer_mut(parent).expect("its parent");
    parent[name] = Value::from("@@");
    params.to_string().replace("\"@@\"", json)
}

#[tokio::test]
async fn a_wrong_member_is_refused_with_its_path() {
    let server = crate::server("").await;
    for way in Way::ALL {
        let own: &[_] = if way.is_1_0() { &ONLY_1_0 } else { &ONLY_0_3 };
        for (place, json, says) in EVERY_VERSION.iter().chain(own) {
            let answer = exchange(&server, &way.send(&with(way, place, json))).await;
            let what = format!("{way:?} {place} = {json}: {}", answer.body());
            assert_eq!(
                answer.status(),
                if way.is_rpc() { 200 } else { 400 },
                "{what}"
            );
            let error = answer.error();
            let code = if way == Way::Rest10 { 400 } else { -32602 };
            assert_eq!(
                (error.code, error.reason.as_str()),
                (code, "INVALID_PARAMS"),
                "{what}"
            );
            assert!(error.message.contains(says), "{says:?}? {what}");
        }
    }
    healthy(&server).await;
}

#[tokio::test]
async fn long_ids_are_refused_and_the_longest_is_taken() {
    let server = crate::server("").await;
    for way in Way::ALL {
        for place in ["messageId", "contextId"] {
            let id =
                |length: usize| format!("\"{}\"", "é".repeat(length / 2) + &"x".repeat(length % 2));
            let place = format!("/message/{place}");
            let longest = exchange(&server, &way.send(&with(way, &place, &id(512)))).await;
            assert_eq!(longest.json().get("error"), None, "{way:?}");
            let longer = exchange(&server, &way.send(&with(way, &place, &id(513)))).await;
            assert!(
                longer
                    .error()
                    .message
                    .contains("must not be longer than 512 bytes"),
                "{way:?}"
            );
        }
    }
}

#[tokio::test]
async fn any_text_comes_back_as_it_was_sent() {
    let server = crate::server("").await;
    let texts = [
        "\0",
        "a\0b",
        "🙂👩‍👩‍👧",
        "\u{202e}rtl\u{202c}",
        "\u{feff}",
        "\u{2028}\u{2029}\r\n\t",
        "ﷺ",
        "\u{10ffff}",
        "\\u0000",
        "</script>",
    ];
    for way in Way::ALL {
        for text in texts {
            let mut params = way.good();
            params["message"]["parts"][0]["text"] = text.into();
            params["message"]["metadata"] = serde_json::json!({text: [text]});
            let answer = exchange(&server, &way.send(&params.to_string())).await;
            assert_eq!(answer.status(), 200, "{way:?} {text:?}");
            let body = answer.json();
            let task = body.get("result").unwrap_or(&body);
            let task = task.get("task").unwrap_or(task);
            let parts = |message: &Value| message.get("parts").or(message.get("content")).cloned();
            let status = &task["status"];
            let said = status
                .get("message")
                .or(status.get("update"))
                .and_then(parts);
            assert_eq!(said.expect("parts")[0]["text"], text, "{way:?}: {body}");
            assert_eq!(
                task["history"][0]["metadata"][text][0], text,
                "{way:?}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn numbers_and_words_of_other_calls_are_checked_too() {
    let server = crate::server("").await;
    for (method, params, says) in OTHER_CALLS {
        let call = post(
            "/a2a/echo",
            "A2A-Version: 1.0\r\n",
            envelope(method, params).as_bytes(),
        );
        let answer = exchange(&server, &call).await;
        let body = answer.body().trim_start_matches("data: ").trim();
        assert!(
            body.contains("-32602") && body.contains(says),
            "{method} {params}: {}",
            answer.text
        );
    }
    healthy(&server).await;
}
