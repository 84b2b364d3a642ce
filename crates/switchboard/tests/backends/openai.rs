//! A model behind an agent: a chat endpoint on a socket that answers as it is told to, and can do wrong.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::shutdown::Tasks;
use switchboard_testkit::model::{Model, Step, end, event, events, head, plain, stream, word};
use switchboard_testkit::{Server, say, text_of};
use tokio::sync::Notify;
use tokio::time::timeout;

/// An agent with this model behind it.
pub(crate) async fn before(model: &Model) -> Server {
    at(&model.url).await
}

/// An agent with a model at this address behind it.
pub(crate) async fn at(url: &str) -> Server {
    let retry = "retry: {attempts: 3, first: 10ms, longest: 2s}";
    let yaml = format!(
        "agents:\n  chat:\n    openai: {{url: '{url}', model: test-model, key: '${{KEY}}', system: Be brief., \
         temperature: 0.5, parameters: {{seed: 7}}, idle_timeout: 2s, {retry}}}\n"
    );
    Server::serve_with(&yaml, &[], &[("KEY", "sk-s3cr3t")]).await
}

pub(crate) fn said(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

/// The text of the answer.
pub(crate) fn answer(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    assert!(artifacts.len() <= 1, "{task}");
    artifacts.first().map(text_of).unwrap_or_default()
}

/// Fails where the wait would be for ever.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.unwrap()
}

fn in_context(text: &str, first: &Value) -> Value {
    let mut next = say(text);
    next["message"]["contextId"] = first["contextId"].clone();
    next
}

/// An encrypted way to a model, for as long as the test lasts: its address, and the certificate to trust.
async fn encrypted(model: &Model) -> (String, String) {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = key.cert.pem();
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let to = url::Url::parse(&model.url).unwrap();
    let to = to.socket_addrs(|| None).unwrap()[0];
    Tasks::default().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut near) = acceptor.accept(stream).await else {
                continue;
            };
            let mut far = tokio::net::TcpStream::connect(to).await.unwrap();
            drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
        }
    });
    (format!("https://localhost:{port}/v1"), certificate)
}

#[tokio::test]
async fn a_model_with_a_certificate_of_its_own_is_asked_if_that_is_trusted() {
    let model = Model::saying(&["Hello"]).await;
    let (url, certificate) = encrypted(&model).await;
    for (trust, state) in [(", ca_file: ca.pem", "completed"), ("", "failed")] {
        let yaml = format!(
            "agents: {{chat: {{timeouts: {{upstream: 0s}}, openai: {{url: '{url}', model: m{trust}}}}}}}"
        );
        let files = [("ca.pem", certificate.clone().into_bytes())];
        let ours = Server::serve_with(&yaml, &files, &[]).await;
        let task = ours.result("chat", "message/send", say("hi")).await;
        assert_eq!(task["status"]["state"], state, "{task}");
    }
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn a_model_is_asked_as_the_file_says_and_its_answer_is_an_artifact() {
    let model = Model::saying(&["Hel", "lo"]).await;
    let ours = before(&model).await;
    let task = ours.result("chat", "message/send", say("hi")).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
    assert_eq!(answer(&task), "Hello");
    let told = &task["artifacts"][0]["metadata"];
    assert_eq!(told["finishReason"], "stop");
    assert_eq!(told["usage"]["totalTokens"], 10);
    let asked = &model.asked()[0];
    assert!(asked.head.starts_with("POST /v1/chat/completions "));
    assert_eq!(asked.header("authorization"), Some("Bearer sk-s3cr3t"));
    assert_eq!(
        asked.body,
        json!({
            "seed": 7, "temperature": 0.5, "model": "test-model", "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        })
    );
    assert!(!ours.logged().contains("s3cr3t"));
    let card = ours.get("/a2a/chat/.well-known/agent-card.json").await.body;
    assert_eq!(card["name"], "chat");
    assert!(
        card["defaultInputModes"]
            .as_array()
            .unwrap()
            .contains(&json!("image/*"))
    );
    assert!(!card.to_string().contains("s3cr3t"));
}

#[tokio::test]
async fn words_are_streamed_while_the_model_still_writes() {
    let go = Arc::new(Notify::new());
    let until = Arc::clone(&go);
    let model = Model::open(move |_, _| {
        let mut reply = vec![
            events(),
            word("one "),
            Step::Wait(Arc::clone(&until)),
            word("two"),
        ];
        reply.extend(end());
        reply
    })
    .await;
    let ours = before(&model).await;
    let mut stream = ours.stream("chat", "message/stream", say("count")).await;
    let first = loop {
        let event = soon(stream.next()).await.unwrap().data["result"].clone();
        if event["kind"] == "artifact-update" {
            break event;
        }
    };
    assert_eq!(text_of(&first["artifact"]), "one ");
    assert_ne!(first["lastChunk"], true);
    go.notify_one();
    let rest = soon(stream.results()).await;
    let more = rest.iter().filter(|e| e["kind"] == "artifact-update");
    let more: String = more.map(|e| text_of(&e["artifact"])).collect();
    assert_eq!(more, "two");
    let last = rest.last().unwrap();
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(last["metadata"]["model"], "m-1");
}

#[tokio::test]
async fn the_model_is_told_the_conversation_and_no_other() {
    let model = Model::open(|asked, _| {
        let last = asked.messages().as_array().unwrap().last().unwrap();
        stream(&["You said ", last["content"].as_str().unwrap()])
    })
    .await;
    let ours = before(&model).await;
    let first = ours.result("chat", "message/send", say("alpha")).await;
    ours.result("chat", "message/send", in_context("beta!", &first))
        .await;
    ours.result("chat", "message/send", say("elsewhere")).await;
    let told: Vec<Vec<String>> = model
        .asked()
        .iter()
        .map(|asked| {
            let messages = asked.messages().as_array().unwrap().iter().skip(1);
            messages
                .map(|m| m["content"].as_str().unwrap().to_owned())
                .collect()
        })
        .collect();
    assert_eq!(told[1], ["alpha", "You said alpha", "beta!"]);
    assert_eq!(told[2], ["elsewhere"]);
}

#[tokio::test]
async fn images_and_text_files_are_shown_to_the_model_and_others_are_refused() {
    let model = Model::saying(&["seen"]).await;
    let ours = before(&model).await;
    let file = |name: &str, media: &str, bytes: &str| json!({"kind": "file", "file": {"name": name, "mimeType": media, "bytes": bytes}});
    let mut send = say("look");
    let parts = send["message"]["parts"].as_array_mut().unwrap();
    parts.push(file("a.png", "image/png", "iVBORw=="));
    parts.push(file("a.csv", "text/csv", "YSxi"));
    parts.push(json!({"kind": "data", "data": {"n": 1}}));
    let task = ours.result("chat", "message/send", send).await;
    assert_eq!(answer(&task), "seen");
    let asked = model.asked();
    let told = &asked[0].messages()[1]["content"];
    assert_eq!(
        told,
        &json!([
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
            {"type": "text", "text": "File a.csv:\n\na,b"},
            {"type": "text", "text": "{\"n\":1}"},
        ])
    );
    let mut send = say("look");
    let pdf = file("a.pdf", "application/pdf", "JVBERg==");
    send["message"]["parts"].as_array_mut().unwrap().push(pdf);
    let refused = ours.error("chat", "message/send", send).await;
    assert_eq!(refused["code"], -32005, "{refused}");
    // Who does not say what it is is told by the agent.
    let mut send = say("look");
    let odd = json!({"kind": "file", "file": {"name": "a.bin", "bytes": "/w=="}});
    send["message"]["parts"].as_array_mut().unwrap().push(odd);
    let refused = ours.result("chat", "message/send", send).await;
    assert_eq!(refused["status"]["state"], "rejected");
    assert!(said(&refused).contains("a.bin"), "{refused}");
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_the_caller_sees_only_the_answer() {
    let model = Model::open(|_, n| match n {
        1 => plain(429, "retry-after: 0\r\n", "{}"),
        2 => plain(500, "", "oh"),
        _ => stream(&["at last"]),
    })
    .await;
    let ours = before(&model).await;
    let task = ours.result("chat", "message/send", say("hi")).await;
    assert_eq!(answer(&task), "at last");
    assert_eq!(model.asked().len(), 3);
}

#[tokio::test]
async fn every_fault_of_the_endpoint_fails_the_task_with_a_reason_and_never_hangs() {
    let model = Model::open(|asked, _| {
        let messages = asked.messages().as_array().unwrap();
        match messages.last().unwrap()["content"].as_str().unwrap() {
            "busy" => plain(429, "", r#"{"error": {"message": "slow down, sk-s3cr3t"}}"#),
            "broken" => plain(500, "", ""),
            "key" => plain(401, "", r#"{"error": {"message": "no key sk-s3cr3t"}}"#),
            "model" => plain(404, "", r#"{"error": {"message": "no such model"}}"#),
            "cut" => vec![events(), word("half of it")],
            "json" => vec![events(), word("half "), event("{\"choices\": [}")],
            "slow" => vec![events(), word("half "), Step::Hang],
            "silent" => vec![Step::Hang],
            "page" => plain(200, "content-type: text/html\r\n", "<p>hello"),
            other => vec![head(200, ""), event(other)],
        }
    })
    .await;
    let ours = before(&model).await;
    let cases = [
        (
            "busy",
            "the model endpoint has too many requests: try again later: slow down, ***",
            "",
            3,
        ),
        (
            "broken",
            "the model endpoint failed with 500: try again later",
            "",
            3,
        ),
        (
            "key",
            "the model endpoint rejected the agent's API key: set a valid one for the agent",
            "",
            1,
        ),
        (
            "model",
            "the model endpoint has no such model or path: check the agent's model and base URL: no such model",
            "",
            1,
        ),
        (
            "cut",
            "the model's response was cut off: send the message again",
            "half of it",
            1,
        ),
        ("json", "returned an invalid response", "half ", 1),
        (
            "slow",
            "the model endpoint sent no data for 2 s",
            "half ",
            1,
        ),
        (
            "silent",
            "the model endpoint did not answer within 2 s",
            "",
            1,
        ),
        ("page", "returned an invalid response", "", 1),
    ];
    let mut before = 0;
    for (fault, why, kept, times) in cases {
        let task = ours.result("chat", "message/send", say(fault)).await;
        assert_eq!(task["status"]["state"], "failed", "{fault}: {task}");
        assert!(said(&task).contains(why), "{fault}: {}", said(&task));
        assert_eq!(answer(&task), kept, "{fault}");
        let now = model.asked().len();
        assert_eq!(now - before, times, "{fault}");
        before = now;
    }
    assert!(!ours.logged().contains("s3cr3t"));
}

#[tokio::test]
async fn a_cancel_closes_the_request() {
    let model = Model::open(|_, _| vec![events(), word("one "), Step::Hang]).await;
    let ours = before(&model).await;
    let mut stream = ours.stream("chat", "message/stream", say("x")).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while soon(stream.next()).await.unwrap().data["result"]["kind"] != "artifact-update" {}
    let canceled = ours
        .result("chat", "tasks/cancel", json!({"id": task}))
        .await;
    assert_eq!(canceled["status"]["state"], "canceled");
    soon(model.hung_up(1)).await;
    assert_eq!(model.asked().len(), 1);
    let last = soon(stream.results()).await;
    assert_eq!(last.last().unwrap()["status"]["state"], "canceled");
}

#[tokio::test]
async fn a_model_is_told_the_trace_and_nothing_that_others_wrote_there() {
    let model = Model::saying(&["Hello"]).await;
    let ours = before(&model).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let send = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hi")});
    let request = ours.http.post(ours.url("/a2a/chat"));
    let request = request.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    let request = request.header("tracestate", "secret=1");
    switchboard_testkit::answer(request.json(&send)).await;
    let asked = &model.asked()[0];
    let told = asked.header("traceparent").unwrap_or_default();
    assert!(told.starts_with(&format!("00-{trace}-")), "{told}");
    assert!(
        !told.contains("00f067aa0ba902b7"),
        "it has a part of its own"
    );
    assert_eq!(asked.header("tracestate"), None);
}

#[tokio::test]
async fn a_model_writes_no_more_than_the_budget_affords() {
    let model = Model::saying(&["Hello"]).await;
    let ours = before(&model).await;
    let with = |budget: Value| {
        let mut params = say("hi");
        params["message"]["metadata"] = json!({ "switchboard/budget": budget });
        params
    };
    let some = with(json!({"tokens": 7}));
    ours.result("chat", "message/send", some).await;
    assert_eq!(model.asked()[0].body["max_tokens"], 7);
    let none = with(json!({"tokens": 0}));
    let refused = ours.result("chat", "message/send", none).await;
    assert_eq!(refused["status"]["state"], "rejected", "{refused}");
    let text = text_of(&refused["status"]["message"]);
    assert!(text.contains("no tokens left"), "{text}");
    assert_eq!(model.asked().len(), 1);
}
