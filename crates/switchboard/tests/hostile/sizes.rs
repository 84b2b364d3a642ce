//! Too much: bodies, arrays, nesting. Whatever is sent, memory stays within bounds.

use crate::wire::{Way, envelope, exchange, healthy, memory, post};

/// What the server may need at its peak, in MiB, for any one request of this file and a debug build.
const ROOM: u64 = 400;

#[tokio::test]
async fn a_body_above_the_limit_is_refused_with_the_limit() {
    let server = crate::server("").await;
    let limit = 10 << 20;
    for way in Way::ALL {
        let path = match way {
            Way::Rpc03 | Way::Rpc10 => "/a2a/echo",
            Way::Rest03 => "/a2a/echo/v1/message:send",
            Way::Rest10 => "/a2a/echo/message:send",
        };
        let sized = post(path, way.version(), &vec![b' '; limit + 1]);
        let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20)).repeat(11);
        let chunked = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n",
            way.version()
        );
        for bytes in [sized, chunked.into_bytes()] {
            let answer = exchange(&server, &bytes).await;
            assert_eq!(answer.status(), 413, "{way:?}: {}", answer.text);
            let error = answer.error();
            let code = if way == Way::Rest10 { 413 } else { -32057 };
            assert_eq!(
                (error.code, error.reason.as_str()),
                (code, "PAYLOAD_TOO_LARGE")
            );
            assert!(
                error.message.contains("limit of 10485760 bytes"),
                "{}",
                error.message
            );
            assert!(
                answer.body().contains(r#""limitBytes":"10485760""#),
                "{}",
                answer.text
            );
        }
    }
    let small = crate::server("limits: { body: 1KiB }").await;
    let answer = exchange(&small, &post("/a2a/echo", "", &[b' '; 1025])).await;
    assert!(
        answer.error().message.contains("limit of 1024 bytes"),
        "{}",
        answer.text
    );
    healthy(&small).await;
    healthy(&server).await;
}

#[tokio::test]
async fn what_fits_into_the_limit_is_taken() {
    let server = crate::server("limits: { parts: 10000 }").await;
    let way = Way::Rest10;
    let good = way.good().to_string();
    let ten_mib = (10 << 20) - good.len();
    let text = good.replace("hi", &"x".repeat(ten_mib));
    let numbers = format!(r#"{{"data":[{}1]}}"#, "1,".repeat(1_000_000));
    let data = good.replace(r#"{"text":"hi"}"#, &numbers);
    let raw = good.replace(
        r#"{"text":"hi"}"#,
        &format!(r#"{{"raw":"{}"}}"#, "AAAA".repeat(2_000_000)),
    );
    let parts = vec![r#"{"text":"hi"}"#; 10_000].join(",");
    let parts = good.replace(r#"{"text":"hi"}"#, &parts);
    for (what, body) in [
        ("text", text),
        ("data", data),
        ("raw", raw),
        ("parts", parts),
    ] {
        let answer = exchange(&server, &way.send(&body)).await;
        assert_eq!(
            answer.status(),
            200,
            "{what}: {}",
            &answer.text[..answer.text.len().min(500)]
        );
    }
    let (_, peak) = memory(&server);
    assert!(peak < ROOM, "{peak} MiB");
    healthy(&server).await;
}

#[tokio::test]
async fn arrays_of_many_elements_are_refused_before_they_are_read() {
    let server = crate::server("").await;
    let (before, _) = memory(&server);
    let empty = vec!["{}"; 3_400_000].join(",");
    let strings = vec!["\"a\""; 2_500_000].join(",");
    for way in Way::ALL {
        let good = way.good();
        let set = |place: &str, json: &str| {
            let mut params = good.clone();
            params["message"][place] = "@@".into();
            params.to_string().replace("\"@@\"", &format!("[{json}]"))
        };
        for (place, json) in [
            ("parts", &empty),
            ("extensions", &strings),
            ("referenceTaskIds", &strings),
        ] {
            let answer = exchange(&server, &way.send(&set(place, json))).await;
            let says = format!("message.{place} must not hold more than 10000 elements");
            assert!(
                answer.error().message.contains(&says),
                "{way:?}: {}",
                answer.text
            );
        }
        // Whatever else is wrong: it must not be found out at the price of reading the array.
        let wrong = set("parts", &empty).replace(
            r#""role""#,
            r#""content":5,"parts":5,"extensions":5,"role""#,
        );
        let answer = exchange(&server, &way.send(&wrong)).await;
        assert_ne!(answer.json().get("error"), None, "{way:?}");
    }
    let (_, peak) = memory(&server);
    assert!(
        peak < before + 150,
        "{before} MiB before, {peak} MiB at the peak"
    );
    healthy(&server).await;
}

#[tokio::test]
async fn free_json_may_nest_127_levels_deep() {
    let server = crate::server("").await;
    let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    for way in Way::ALL {
        let good = way.good().to_string();
        let with = |levels| good.replacen('{', &format!(r#"{{"metadata":{},"#, nested(levels)), 1);
        let deepest = exchange(&server, &way.send(&with(127))).await;
        assert!(
            deepest.status() == 200 && !deepest.body().contains("\"error\""),
            "{way:?}: {}",
            deepest.text
        );
        for levels in [128, 1000, 1_000_000] {
            let answer = exchange(&server, &way.send(&with(levels))).await;
            let error = answer.error();
            assert!(
                error
                    .message
                    .contains("metadata is nested deeper than 127 levels"),
                "{way:?} {levels}: {}",
                error.message
            );
        }
        let unknown = good.replacen('{', &format!(r#"{{"zzz":{},"#, nested(500_000)), 1);
        let answer = exchange(&server, &way.send(&unknown)).await;
        assert_eq!(
            answer.json().get("error"),
            None,
            "{way:?}: unknown members are not read"
        );
    }
    healthy(&server).await;
}

#[tokio::test]
async fn long_names_cost_no_long_answers() {
    let server = crate::server("").await;
    let long = "x".repeat(5_000_000);
    for (version, body) in [
        ("", envelope(&long, "{}")),
        ("A2A-Version: 1.0\r\n", envelope(&long, "{}")),
        ("", envelope("tasks/get", &format!(r#"{{"id":"{long}"}}"#))),
        (
            "A2A-Version: 1.0\r\n",
            envelope("GetTask", &format!(r#"{{"id":"t","tenant":"{long}"}}"#)),
        ),
        (
            "A2A-Version: 1.0\r\n",
            envelope("ListTasks", &format!(r#"{{"pageToken":"{long}"}}"#)),
        ),
        (
            "A2A-Version: 1.0\r\n",
            envelope(
                "GetTask",
                &format!(r#"{{"id":"t",{}"x":1}}"#, r#""a":1,"#.repeat(800_000)),
            ),
        ),
        (
            "",
            format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"tasks/get"}}"#),
        ),
    ] {
        let answer = exchange(&server, &post("/a2a/echo", version, body.as_bytes())).await;
        assert_ne!(answer.json().get("error"), None);
        assert!(answer.text.len() < 4096, "{} bytes", answer.text.len());
    }
    healthy(&server).await;
}
