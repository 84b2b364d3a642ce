//! Texts that are no JWS, and headers that ask for what must not be done.

use switchboard_keys::{JwsError, encoded, read, read_detached};

/// A token with this header.
fn with(header: &str) -> String {
    format!("{}.e30.AAAA", encoded(header.as_bytes()))
}

#[test]
fn what_is_no_jws_is_refused_with_the_reason() {
    let good = encoded(br#"{"alg":"ES256"}"#);
    let bad = [
        (String::new(), "three parts"),
        ("x".to_owned(), "three parts"),
        (good.clone(), "three parts"),
        (format!("{good}.e30"), "three parts"),
        // As many as JWE has.
        (format!("{good}.e30.AA.AA.AA"), "three parts"),
        (format!("{good}.e30.AA."), "three parts"),
        ("..".to_owned(), "no JSON object"),
        (format!(".{good}.AA"), "no JSON object"),
        ("e30.e30.AA".to_owned(), "no JSON object"),
        ("!!!!.e30.AA".to_owned(), "header is not base64url"),
        (format!(" {good}.e30.AA"), "header is not base64url"),
        (format!("{good}\n.e30.AA"), "header is not base64url"),
        ("é.e30.AA".to_owned(), "header is not base64url"),
        (format!("{good}.e30.a+/b"), "signature is not base64url"),
        (format!("{good}.e30.A"), "signature is not base64url"),
        (format!("{good}.e30.AA AA"), "signature is not base64url"),
        (format!("{good}.e30.AA\0"), "signature is not base64url"),
        // Bits after the end: two texts would mean the same signature.
        (format!("{good}.e30.AB"), "signature is not base64url"),
    ];
    for (text, why) in bad {
        let error = read(&text).unwrap_err();
        assert!(error.to_string().contains(why), "{text:?}: {error}");
    }
    assert!(read(&format!("{good}.e30.AAAA")).is_ok());
}

#[test]
fn headers_that_ask_for_what_is_not_done_are_refused() {
    let nested = format!(r#"{{"alg":"ES256","x":{}}}"#, "[".repeat(600));
    let bad = [
        ("", "no JSON object"),
        ("null", "no JSON object"),
        ("[]", "no JSON object"),
        (r#""ES256""#, "no JSON object"),
        ("{}", "no JSON object"),
        (r#"{"alg":null}"#, "no JSON object"),
        (r#"{"alg":1}"#, "no JSON object"),
        (r#"{"alg":["ES256"]}"#, "no JSON object"),
        (r#"{"Alg":"ES256"}"#, "no JSON object"),
        (r#"{"alg":"ES256"} {}"#, "no JSON object"),
        (r#"{"alg":"ES256","alg":"none"}"#, "no JSON object"),
        (r#"{"alg":"none","alg":"ES256"}"#, "no JSON object"),
        (r#"{"alg":"ES256","kid":"a","kid":"b"}"#, "no JSON object"),
        (r#"{"alg":"ES256","x5u":"a","x5u":"b"}"#, "no JSON object"),
        (r#"{"alg":"ES256","x":{"y":1,"y":1}}"#, "no JSON object"),
        (r#"{"alg":"ES256","kid":1}"#, "no JSON object"),
        (r#"{"alg":"ES256","typ":{}}"#, "no JSON object"),
        (nested.as_str(), "no JSON object"),
        (r#"{"alg":""}"#, "none that is known"),
        (r#"{"alg":"none"}"#, "none that is known"),
        (r#"{"alg":"NONE"}"#, "none that is known"),
        (r#"{"alg":"nOnE"}"#, "none that is known"),
        (r#"{"alg":"es256"}"#, "none that is known"),
        (r#"{"alg":"ES512"}"#, "none that is known"),
        (r#"{"alg":"RSA-OAEP"}"#, "none that is known"),
        (r#"{"alg":"ES256","crit":["exp"],"exp":1}"#, "extensions"),
        (
            r#"{"alg":"ES256","crit":["b64"],"b64":false}"#,
            "extensions",
        ),
        (r#"{"alg":"ES256","crit":[]}"#, "extensions"),
        (r#"{"alg":"ES256","crit":null}"#, "extensions"),
        (r#"{"alg":"none","crit":["x"]}"#, "extensions"),
    ];
    for (header, why) in bad {
        let error = read(&with(header)).unwrap_err();
        assert!(error.to_string().contains(why), "{header}: {error}");
        let protected = encoded(header.as_bytes());
        let detached = read_detached(&protected, "e30", "AAAA").unwrap_err();
        assert_eq!(detached, error, "{header}");
    }
    let bytes = format!(
        "{}.e30.AAAA",
        encoded(b"{\"alg\":\"ES256\",\"kid\":\"\xff\"}")
    );
    assert!(matches!(read(&bytes), Err(JwsError::Malformed(_))));
    let more = r#"{"alg":"ES256","kid":"k","jku":"https://evil.example","b64":false,"x":[1]}"#;
    assert_eq!(read(&with(more)).unwrap().header.kid.as_deref(), Some("k"));
}

#[test]
fn long_texts_are_refused_before_they_are_read() {
    let token = |length: usize| {
        let header = encoded(br#"{"alg":"ES256"}"#);
        let room = length - header.len() - ".".len() - ".AAAA".len();
        format!("{header}.{}.AAAA", "A".repeat(room))
    };
    assert!(read(&token(8 * 1024)).is_ok());
    assert_eq!(read(&token(8 * 1024 + 1)).unwrap_err(), JwsError::TooLong);
    let header = |kid: usize| format!(r#"{{"alg":"ES256","kid":"{}"}}"#, "k".repeat(kid));
    assert!(read(&with(&header(700))).is_ok());
    assert_eq!(read(&with(&header(800))).unwrap_err(), JwsError::TooLong);
    // A card's signature may carry certificates, and cards are longer than tokens.
    let (protected, payload) = (encoded(header(5000).as_bytes()), "A".repeat(100_000));
    assert!(read_detached(&protected, &payload, "AAAA").is_ok());
    let protected = encoded(header(7000).as_bytes());
    let long = read_detached(&protected, "e30", "AAAA");
    assert_eq!(long.unwrap_err(), JwsError::TooLong);
    let protected = encoded(header(1).as_bytes());
    let long = read_detached(&protected, "e30", &"A".repeat(8 * 1024 + 4));
    assert_eq!(long.unwrap_err(), JwsError::TooLong);
}
