//! What can go wrong with a chat endpoint.

use http::{HeaderMap, HeaderValue};
use switchboard_client::{Tls, TokenClient, TokenEndpoint, Tokens};
use switchboard_server::call::ReplyBody;
use switchboard_server::testing::agent::send;
use switchboard_testkit::eventually;
use switchboard_testkit::model::plain;
use switchboard_types::operation::{Operation, Response};
use tokio::net::TcpSocket;
use tokio::time::Instant;

use super::*;

/// What a task comes to that is answered like this, every time; and how often it was asked.
async fn asked(reply: impl Fn() -> Vec<Step> + Send + Sync + 'static) -> (Arc<Task>, usize) {
    let model = Model::open(move |_, _| reply()).await;
    let line = line(Settings {
        max_answer_bytes: 1000,
        ..settings(&model)
    });
    let task = line.send(says("hi")).await.unwrap();
    let count = model.asked().len();
    (task, count)
}

fn error(message: &str) -> String {
    json!({ "error": { "message": message } }).to_string()
}

#[tokio::test]
async fn who_says_when_to_come_back_is_obeyed() {
    let model = Model::open(|_, n| match n {
        1 => plain(429, "retry-after: 1\r\n", &error("slow down")),
        _ => stream(&["now"]),
    })
    .await;
    let begin = Instant::now();
    let task = line(settings(&model)).send(says("hi")).await.unwrap();
    assert_eq!(answer(&task, "answer"), "now");
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn who_asks_for_too_much_patience_is_not_waited_for() {
    let (task, count) = asked(|| plain(429, "retry-after: 600\r\n", &error("slow down"))).await;
    assert_eq!(count, 1);
    assert_eq!(
        said(&task),
        "the model endpoint has too many requests: try again later: slow down"
    );
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_again_and_one_that_does_not_is_given_up() {
    let model = Model::open(|_, n| match n {
        1 => plain(500, "", "oh"),
        2 => plain(503, "", ""),
        _ => stream(&["fine"]),
    })
    .await;
    let task = line(settings(&model)).send(says("hi")).await.unwrap();
    assert_eq!(answer(&task, "answer"), "fine");

    let (task, count) = asked(|| plain(500, "", &error("no memory"))).await;
    assert_eq!(state(&task), TaskState::Failed);
    assert_eq!(count, 3);
    assert_eq!(
        said(&task),
        "the model endpoint failed with 500: try again later: no memory"
    );
}

#[tokio::test]
async fn an_answer_that_breaks_off_fails_and_is_not_asked_for_again() {
    let cut = || vec![events(), word("half of "), word("it")];
    let in_a_frame = || {
        let half = Step::Send(b"data: {\"choices\":[{\"del".to_vec());
        vec![events(), word("half of "), word("it"), half]
    };
    // The connection is lost in the middle of a chunk.
    let in_a_chunk = || {
        let head = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
        let Step::Send(data) = word("half of it") else {
            unreachable!()
        };
        let size = format!("{:x}\r\n", data.len());
        let next = Step::Send(b"\r\nff\r\ndata: {".to_vec());
        vec![
            model::head(200, head),
            Step::Send(size.into()),
            Step::Send(data),
            next,
        ]
    };
    let cases: [Box<dyn Fn() -> Vec<Step> + Send + Sync>; 2] =
        [Box::new(cut), Box::new(in_a_chunk)];
    for case in cases {
        let (task, count) = asked(case).await;
        assert_eq!((state(&task), count), (TaskState::Failed, 1));
        let text = "the model's response was cut off: send the message again";
        assert_eq!(said(&task), text);
        assert_eq!(
            answer(&task, "answer"),
            "half of it",
            "what there is is kept"
        );
    }
    let (task, _) = asked(in_a_frame).await;
    assert_eq!(state(&task), TaskState::Failed);
    assert_eq!(answer(&task, "answer"), "half of it");
}

#[tokio::test]
async fn what_is_no_answer_fails_with_what_is_wrong() {
    let long = "x".repeat(1001);
    let flood = "x".repeat(3 << 20);
    let cases: [(Vec<Step>, &str); 8] = [
        (bare("{\"choices\": [}"), "returned an invalid response"),
        (bare("[DONE]"), "the model gave an empty answer"),
        (vec![events()], "was cut off"),
        (bare(&error("it is tired")), "reports an error: it is tired"),
        (vec![events(), word(&long)], "too long"),
        (bare(&flood), "too long"),
        (
            plain(200, "content-type: text/html\r\n", "<html>"),
            "returned an invalid response",
        ),
        (
            plain(200, "content-type: application/json\r\n", &flood),
            "too long",
        ),
    ];
    for (reply, text) in cases {
        let (task, count) = asked(move || reply.clone()).await;
        assert_eq!((state(&task), count), (TaskState::Failed, 1), "{text}");
        assert!(said(&task).contains(text), "{text}: {}", said(&task));
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do_and_never_shows_the_key() {
    let leak = format!("Incorrect API key provided: {KEY}");
    for (status, text) in [
        (
            400,
            "refused the request with 400: Incorrect API key provided: ***",
        ),
        (401, "set a valid one for the agent"),
        (403, "set another key"),
        (404, "check the agent's model and base URL"),
        (413, "send less"),
        (302, "redirects to another URL"),
    ] {
        let body = error(&leak);
        let reply = move || plain(status, "location: http://127.0.0.1:1/\r\n", &body);
        let (task, count) = asked(reply).await;
        assert_eq!((state(&task), count), (TaskState::Failed, 1), "{status}");
        assert!(said(&task).contains(text), "{status}: {}", said(&task));
        assert!(!format!("{task:?}").contains(KEY), "{status}: {task:?}");
    }
    let leaked = error(&leak);
    let (task, _) = asked(move || bare(&leaked)).await;
    assert!(said(&task).contains("Incorrect API key"), "{}", said(&task));
    assert!(!format!("{task:?}").contains(KEY), "{task:?}");
    // Nor half of it, where such a text is cut.
    let leaked = error(&format!("{}{KEY}", "x".repeat(490)));
    let (task, _) = asked(move || bare(&leaked)).await;
    assert!(said(&task).contains("xxx"), "{}", said(&task));
    assert!(!said(&task).contains(&KEY[..4]), "{}", said(&task));
    let spent = json!({ "error": { "message": "pay", "code": "insufficient_quota" } });
    let (task, count) = asked(move || plain(429, "", &spent.to_string())).await;
    assert_eq!(count, 1);
    assert!(said(&task).contains("quota"), "{}", said(&task));
}

#[tokio::test]
async fn a_token_that_is_no_longer_taken_is_renewed_once() {
    let issuer = Model::open(|_, n| {
        let token = json!({ "access_token": format!("token-{n}"), "expires_in": 3600 });
        plain(
            200,
            "content-type: application/json\r\n",
            &token.to_string(),
        )
    })
    .await;
    let model = Model::open(|asked, _| match asked.header("authorization") {
        Some("Bearer token-2") => stream(&["welcome"]),
        _ => plain(401, "", &error("who are you")),
    })
    .await;
    let at = TokenEndpoint::Url(issuer.url.clone());
    let us = TokenClient {
        id: "us".to_owned(),
        secret: Secret::new("x"),
        scopes: Vec::new(),
    };
    let tokens = Tokens::client_credentials(&at, us, &Tls::new()).unwrap();
    let agent = OpenAiAgent::new(settings(&model), Outbound::token(tokens)).unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let engine = switchboard_server::engine::Settings::default();
    let line = Line::new(&Log::new(store), Arc::new(agent), engine);
    let task = line.send(says("hi")).await.unwrap();
    assert_eq!(answer(&task, "answer"), "welcome", "{}", said(&task));
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn a_caller_whose_own_key_is_not_taken_is_asked_for_another() {
    let model = Model::open(|asked, _| match asked.header("authorization") {
        Some("Bearer good") => stream(&["welcome"]),
        _ => plain(401, "", &error("who are you")),
    })
    .await;
    let identity = Outbound::forwarded(vec![AUTHORIZATION]).unwrap();
    let agent = OpenAiAgent::new(settings(&model), identity).unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let engine = switchboard_server::engine::Settings::default();
    let line = Line::new(&Log::new(store), Arc::new(agent), engine);
    let send = async |message: Message, key: Option<&'static str>| {
        let operation = Operation::Send(Box::new(send(message)));
        let body = line.ask(operation, |call| {
            let key = key.map(|key| (AUTHORIZATION, HeaderValue::from_static(key)));
            let headers = HeaderMap::from_iter(key);
            let caller = call.principal.clone();
            call.principal = caller.bringing(&headers, &[AUTHORIZATION]);
        });
        match body.await.unwrap() {
            ReplyBody::Response(Response::SentTask(view)) => view.task,
            other => panic!("{other:?}"),
        }
    };
    let task = send(says("paint it"), Some("Bearer bad")).await;
    assert_eq!(state(&task), TaskState::AuthRequired, "{}", said(&task));
    let more = Message {
        task_id: Some(task.id.clone()),
        ..says("here")
    };
    let task = send(more, Some("Bearer good")).await;
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    let last = model.asked().pop().unwrap();
    let told = last.messages().as_array().unwrap().iter();
    let told: Vec<&str> = told.map(|m| m["content"].as_str().unwrap()).collect();
    let asked = "authentication required to continue: send a message with credentials";
    assert_eq!(told, ["paint it", asked, "here"]);
}

#[test]
fn an_agent_does_not_show_its_keys() {
    let url = format!("http://user:{KEY}@h/v1?key={KEY}");
    let settings = Settings::new(url.parse().unwrap(), "m");
    let agent = OpenAiAgent::new(settings.clone(), key()).unwrap();
    let shown = format!("{settings:?} {agent:?}");
    assert!(!shown.contains(KEY) && shown.contains("\"m\""), "{shown}");
}

#[tokio::test]
async fn a_cancel_closes_the_request_before_and_in_the_answer() {
    let model = Model::open(|_, n| match n {
        1 => vec![Step::Hang],
        _ => vec![events(), word("so "), Step::Hang],
    })
    .await;
    let line = line(settings(&model));
    for n in 1..=2 {
        let task = line.send_at_once(says(&n.to_string())).await.unwrap();
        eventually("the request", async || model.asked().len() == n).await;
        let task = line.cancel(&task.id).await.unwrap();
        assert_eq!(state(&task), TaskState::Canceled);
        model.hung_up(n).await;
    }
}

#[tokio::test]
async fn a_cancel_ends_the_wait_for_another_attempt() {
    let model = Model::open(|_, _| plain(429, "retry-after: 5\r\n", "")).await;
    let line = line(settings(&model));
    let task = line.send_at_once(says("hi")).await.unwrap();
    eventually("the request", async || !model.asked().is_empty()).await;
    let begin = Instant::now();
    let task = line.cancel(&task.id).await.unwrap();
    assert_eq!(state(&task), TaskState::Canceled);
    assert!(begin.elapsed() < Duration::from_secs(4));
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn silence_is_not_waited_for_for_ever() {
    for reply in [vec![Step::Hang], vec![events(), word("well"), Step::Hang]] {
        let model = Model::open(move |_, _| reply.clone()).await;
        let line = line(Settings {
            idle_timeout: Duration::from_millis(300),
            ..settings(&model)
        });
        let task = line.send(says("hi")).await.unwrap();
        assert_eq!(state(&task), TaskState::Failed);
        assert!(said(&task).contains("0.3 s"), "{}", said(&task));
        model.hung_up(1).await;
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_tried_again_and_then_unavailable() {
    // A port that is ours, and where nobody listens.
    let held = TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = held.local_addr().unwrap();
    let url = format!("http://user:{KEY}@{address}/v1?key={KEY}");
    let away = Settings {
        retry: Retry {
            attempts: 2,
            first: Duration::from_millis(20),
            longest: Duration::from_millis(40),
        },
        ..Settings::new(url.parse().unwrap(), "m")
    };
    let agent = OpenAiAgent::new(away, key()).unwrap();
    let engine = switchboard_server::engine::Settings {
        upstream_timeout: Duration::from_millis(300),
        ..Default::default()
    };
    let log = Log::new(Arc::new(MemoryStore::default()));
    let line = Line::new(&log, Arc::new(agent), engine);
    let mut cursor = line.stream(says("hi")).await.unwrap();
    let events = rest(&mut cursor).await;
    let Event::Status(update) = &events.last().unwrap().1 else {
        panic!("{events:?}");
    };
    assert_eq!(update.status.state, TaskState::Failed);
    let told = update.metadata.as_ref().unwrap();
    let reason: String = told.get("reason").unwrap();
    assert_eq!(reason, "AGENT_UNAVAILABLE");
    assert!(told.as_str().contains("check that it runs"), "{told:?}");
    // More often than `retry` says: that is for endpoints that answer.
    let url = format!("upstream http://{address}/v1 is unreachable");
    assert!(told.as_str().contains(&url), "{told:?}");
    assert!(!format!("{events:?}").contains(KEY), "{events:?}");
}

#[tokio::test]
async fn an_endpoint_that_comes_up_meanwhile_is_reached() {
    let held = TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = held.local_addr().unwrap();
    let url = format!("http://{address}/v1");
    let late = Settings {
        retry: Retry {
            attempts: 50,
            first: Duration::from_millis(50),
            longest: Duration::from_millis(50),
        },
        ..Settings::new(url.parse().unwrap(), "m")
    };
    let line = line(late);
    let task = line.send_at_once(says("hi")).await.unwrap();
    let model = Model::on(held.listen(16).unwrap(), |_, _| stream(&["here"]));
    let mut cursor = line.subscribe(&task.id, Some(0)).await.unwrap();
    rest(&mut cursor).await;
    let task = line.get(&task.id).await.unwrap();
    assert_eq!(answer(&task, "answer"), "here", "{}", said(&task));
    assert_eq!(model.asked().len(), 1);
}
