//! Every step but `call`.

use bytes::Bytes;
use switchboard_types::model::Json;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_script_that_ends_by_itself_completes_the_task() {
    let played = script("- say: hi").run().await;
    assert_eq!(played.events, ["working: hi"]);
    assert_eq!(played.end, "completed");
}

#[tokio::test(start_paused = true)]
async fn waits_before_what_follows() {
    let played = script("- wait: 300ms\n- say: hi\n- wait: 1.5s").run().await;
    assert_eq!(played.took, Duration::from_millis(1800));
}

#[tokio::test(start_paused = true)]
async fn says_parts_of_every_kind() {
    let yaml = r#"
- say:
    text: see
    metadata: { tone: "{{word|calm}}" }
    parts:
      - { text: more, media_type: text/markdown }
      - { file: "a,b\n{{text}}", filename: a.csv }
      - { raw: dGNr, media_type: text/plain, filename: output.txt }
      - { url: "https://example.com/{{turn}}" }
      - { data: { said: "{{text}}", list: [1, "{{n}}", null], deep: { ok: true } } }
"#;
    let played = script(yaml).run().await;
    assert_eq!(
        played.events,
        [
            "working: see + more text/markdown + raw(a,b\nhello there) a.csv + raw(tck) text/plain output.txt \
             + url(https://example.com/1) \
             + {\"said\":\"hello there\",\"list\":[1,\"0\",null],\"deep\":{\"ok\":true}} \
             #{\"tone\":\"calm\"}"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn chunks_begin_add_and_close() {
    let yaml = "
- chunk: { name: a, text: one }
- chunk: { name: b, text: other, last: true }
- chunk: { name: a, text: two }
- chunk: { name: a, text: three, last: true }
- chunk: { name: a, text: again }
- artifact: { name: a, text: whole }
- chunk: { name: a, text: anew }
";
    let played = script(yaml).run().await;
    let expected = [
        "a one",
        "b. other",
        "a+ two",
        "a+. three",
        "a again",
        "a. whole",
        "a anew",
    ];
    assert_eq!(played.events, expected);
}

#[tokio::test(start_paused = true)]
async fn streams_words_and_closes_with_the_last() {
    let yaml = r#"
- repeat:
    words: "{{text}}"
    do:
      - wait: 100ms
      - chunk: { name: out, text: "{{word}}", last: true }
"#;
    let play = script(yaml).text("  one two\n\nthree ");
    let played = play.run().await;
    assert_eq!(
        played.events,
        ["out   one ", "out+ two\n\n", "out+. three "]
    );
    assert_eq!(played.took, Duration::from_millis(300));
    assert_eq!(play.clone().text("").run().await.events, [""; 0]);
    assert_eq!(play.text("one").run().await.events, ["out. one"]);
}

#[tokio::test(start_paused = true)]
async fn rounds_are_counted_and_nest() {
    let yaml = r#"
- repeat:
    times: 2
    do:
      - repeat:
          words: a b
          do: [{ chunk: { name: out, text: "{{n}}{{word}}", last: true } }]
      - say: "round {{n}}"
- say: "after {{n}}"
"#;
    let played = script(yaml).run().await;
    assert_eq!(
        played.events,
        [
            "out 1a ",
            "out+ 2b",
            "working: round 1",
            "out+ 1a ",
            "out+. 2b",
            "working: round 2",
            "working: after 0",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_ending_within_a_repeat_ends_the_turn() {
    let played = script("- repeat: { times: 3, do: [{ complete: early }] }\n- say: never")
        .run()
        .await;
    assert_eq!(
        (played.events.len(), played.end.as_str()),
        (0, "completed: early")
    );
}

#[tokio::test(start_paused = true)]
async fn a_count_that_is_no_number_fails_the_task() {
    let play = script("- repeat: { times: \"{{text}}\", do: [{ say: hi }] }");
    let end = play.clone().text("many").run().await.end;
    assert_eq!(end, "failed: `many` is not a number from 0 to 10000");
    assert_eq!(play.text("2").run().await.events.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn ends_in_every_way() {
    for (yaml, end) in [
        ("- complete: done", "completed: done"),
        ("- complete: {}", "completed"),
        ("- ask: well?", "input-required: well?"),
        ("- require_auth: sign in", "auth-required: sign in"),
        ("- reject: never", "rejected: never"),
        ("- fail: \"no {{text}}\"", "failed: no hello there"),
        ("- reply: hi", "reply: hi"),
    ] {
        assert_eq!(script(yaml).run().await.end, end);
    }
}

#[tokio::test(start_paused = true)]
async fn asks_in_a_form_that_programs_understand() {
    let request =
        r#"{"kind":"input-request","prompt":"your code?","sensitive":true,"requestId":"t1-1"}"#;
    let play = script("- ask: { text: your code?, input: { sensitive: true } }");
    assert_eq!(
        play.run().await.end,
        format!("input-required: your code? + {request} #{{\"inputRequest\":{request}}}")
    );
    let play =
        script("- ask: { text: t, metadata: { a: b }, input: { prompt: p, id: \"r-{{turn}}\" } }");
    let request = r#"{"kind":"input-request","prompt":"p","sensitive":false,"requestId":"r-1"}"#;
    assert_eq!(
        play.run().await.end,
        format!("input-required: t + {request} #{{\"a\":\"b\",\"inputRequest\":{request}}}")
    );
}

#[tokio::test(start_paused = true)]
async fn copies_parts_as_they_came() {
    let data = Part::data(Json::parse("[1, 2]").unwrap());
    let mut file = Part::new(Content::Raw(Bytes::from_static(b"x")));
    file.filename = Some("x.bin".to_owned());
    let url = Part::new(Content::Url("https://example.com".to_owned()));
    let parts = vec![Part::text("a"), data, file, Part::text("b"), url];
    let play = script(
        "- artifact: { name: all, parts: [{ copy: message }] }\n- artifact: { name: rest, parts: [{ copy: attachments }] }",
    );
    let played = play.clone().parts(parts).run().await;
    assert_eq!(
        played.events,
        [
            "all. a + [1, 2] + raw(x) x.bin + b + url(https://example.com)",
            "rest. [1, 2] + raw(x) x.bin + url(https://example.com)",
        ]
    );
    assert_eq!(
        play.run().await.events,
        ["all. hello there"],
        "nothing to hand over, no event"
    );
}

const CHOOSE: &str = r#"
- choose:
    - when: { text: "^approve (?<what>\\w+)" }
      do: [{ say: "approve {{match.what}}{{match.why}}" }]
    - when: { message_id: tck-long-, turn: 1 }
      do: [{ say: long }]
    - when: { message_id: tck- }
      do: [{ say: short }]
    - when: { metadata: { skill: fast, level: 2 } }
      do: [{ say: "fast {{metadata.level}}{{metadata.none|!}}" }]
    - when: { part: data }
      do: [{ say: data }]
    - when: { part: url }
    - when: { turn: 2 }
      do: [{ say: "second, {{turn}}" }]
    - do: [{ say: other }]
- say: "{{match.what|nothing}}"
"#;

#[tokio::test(start_paused = true)]
async fn chooses_the_first_case_that_applies() {
    let play = script(CHOOSE);
    let first = |p: Play| async move { p.run().await.events };
    assert_eq!(
        first(play.clone().text("APPROVE this now")).await,
        ["working: approve this", "working: this"]
    );
    assert_eq!(
        first(play.clone().id("tck-long-1")).await,
        ["working: long", "working: nothing"]
    );
    assert_eq!(
        first(play.clone().id("tck-longer")).await[0],
        "working: short"
    );
    assert_eq!(
        first(play.clone().id("a-tck-long-1")).await[0],
        "working: other"
    );
    let data = vec![Part::data(Json::parse("null").unwrap())];
    assert_eq!(first(play.clone().parts(data)).await[0], "working: data");
    let url = vec![Part::new(Content::Url("https://example.com".to_owned()))];
    assert_eq!(first(play.clone().parts(url)).await, ["working: nothing"]);
    let before = vec![user("m0", vec![Part::text("hi")])];
    assert_eq!(
        first(play.clone().after(before)).await[0],
        "working: second, 2"
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_of_the_message_comes_before_that_of_the_request() {
    let mut play = script(CHOOSE);
    play.metadata = Some(object(&json!({"skill": "slow", "level": "2"})));
    assert_eq!(play.run().await.events[0], "working: other");
    play.message.metadata = Some(object(&json!({"skill": "fast"})));
    assert_eq!(play.run().await.events[0], "working: fast 2!");
}

#[tokio::test(start_paused = true)]
async fn templates_know_the_task_and_its_past() {
    let mut play = script(
        "- say: \"{{task_id}} {{context_id}} {{ message_id }} {{earlier}}: {{earlier.text}}\"",
    );
    assert!(play.script.looks_back());
    play.earlier = vec!["one".to_owned(), "two".to_owned()];
    assert_eq!(play.run().await.events, ["working: t1 c1 m1 2: one\ntwo"]);
}

const LONG: &str = r#"
- say: begin
- wait: 1s
- choose:
    - when: { text: (?<times>\d+) }
- repeat:
    times: "{{match.times|3}}"
    do:
      - wait: 10s
      - chunk: { name: report, text: "{{n}}", last: true }
      - choose:
          - when: { text: noisy }
            do: [{ say: "round {{n}}" }]
- artifact: { name: files, parts: [{ copy: attachments }] }
- artifact: { name: sum, text: total }
- say: {}
- wait: 5s
- ask: more?
"#;

#[tokio::test(start_paused = true)]
async fn a_run_that_was_cut_off_goes_on_at_the_next_event() {
    let play = script(LONG);
    play.resumes_anywhere().await;
    play.clone().text("noisy 7").resumes_anywhere().await;
    play.parts(vec![Part::data(Json::parse("1").unwrap())])
        .resumes_anywhere()
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_is_not_waited_for_again() {
    let play = script(LONG);
    assert_eq!(play.run().await.took, Duration::from_secs(36));
    // begin and one chunk are stored: two chunks and the end are to come.
    assert_eq!(play.emitted(2).run().await.took, Duration::from_secs(25));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_wait_at_once() {
    let play = script("- say: hi\n- wait: 60m\n- say: never");
    let cancel = play.canceled.clone();
    let canceled = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(play.run(), canceled);
    assert_eq!(played.events, ["working: hi"]);
    assert_eq!(played.end, "failed: the task is over");
    assert_eq!(played.took, Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_run_takes_no_further_step() {
    let play = script("- say: hi");
    play.canceled.cancel();
    assert_eq!(play.run().await.events, [""; 0]);
}
