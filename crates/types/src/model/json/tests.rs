//! Free JSON: what is kept, what is refused, and where.

use super::*;

#[test]
fn keeps_integers_order_and_escapes() {
    let text = r#"{"z":9223372036854775807,"a":18446744073709551615,"u":"\ud83d\ude00 \u0000"}"#;
    assert_eq!(Json::parse(text).unwrap().as_str(), text);
}

#[test]
fn puts_layout_on_one_line_and_leaves_strings_alone() {
    let json = Json::parse("{\n  \"a b\" : \"x \\\" y\",\r\n \"c\": [1, 2]\n}").unwrap();
    assert_eq!(json.as_str(), r#"{"a b":"x \" y","c":[1,2]}"#);
}

#[test]
fn members_are_left_out_however_they_are_written_and_the_rest_stays() {
    let object = |text: &str| Object::try_from(Json::parse(text).unwrap()).unwrap();
    let all = object(r#"{"b":18446744073709551616,"\u0061":1,"c":[1.0]}"#);
    let rest = r#"{"b":18446744073709551616,"c":[1.0]}"#;
    assert_eq!(all.without(&["a", "x"]).as_str(), rest);
    assert_eq!(all.without(&["x"]), all);
}

#[test]
fn members_are_set_and_others_stay_as_they_are_written() {
    let text = r#"{"big":123456789012345678901234567890,"huge":1e400,"set":1,"text":"\u00e9"}"#;
    let object =
        Object::try_from(Json::from_answer(RawValue::from_string(text.into()).unwrap()).unwrap());
    let set = Object::with(
        object.as_ref().ok(),
        [("set", "new".into()), ("zero", 0.into())],
    );
    assert_eq!(
        set.as_str(),
        r#"{"big":123456789012345678901234567890,"huge":1e400,"text":"\u00e9","set":"new","zero":0}"#
    );
    let object = Object::with(None, [("z", 1.into()), ("n", serde_json::json!({"b": {}}))]);
    let more = Object::with(Some(&object), [("a", 2.into())]);
    assert_eq!(more.as_str(), r#"{"z":1,"n":{"b":{}},"a":2}"#);
    assert_eq!(
        Object::with(None, [("a", true.into())]).as_str(),
        r#"{"a":true}"#
    );
}

#[test]
fn bounds_the_depth() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let deepest = Json::parse(nested(127)).unwrap();
    assert!(deepest.read::<serde_json::Value>().is_some());
    assert_eq!(Json::parse(nested(128)), Err(InvalidJson::TooDeep));
    assert_eq!(Json::parse(nested(100_000)), Err(InvalidJson::TooDeep));
}

#[test]
fn refuses_what_other_readers_cannot_read() {
    for half in [
        r#""\ud83d""#,
        r#"{"a\udc00":1}"#,
        r#"["\ud83d\n"]"#,
        r#""\ud83d\ud83d""#,
    ] {
        assert_eq!(Json::parse(half), Err(InvalidJson::Surrogate), "{half}");
    }
    for fine in [
        r#""\\ud83d""#,
        r#""\ud83d\ude00""#,
        "1e400",
        r#"["\u0000"]"#,
    ] {
        assert!(Json::parse(fine).is_ok(), "{fine}");
    }
}

#[test]
fn duplicate_members_are_refused_with_their_path() {
    for (text, path) in [
        (r#"{"skillId":"epic","skillId":"haiku"}"#, ".skillId"),
        (r#"{"skillId":1,"skill\u0049d":2}"#, ".skillId"),
        (r#"{"\u0073killId":1,"x":2,"skillI\u0064":2}"#, ".skillId"),
        (
            r#"{"a":{"b":[1,{"c":0},{"c":1,"d":2,"c":3}]}}"#,
            ".a.b[2].c",
        ),
        (r#"[[{}],[{"x y":1 , "x y":1}]]"#, r#"[1][0]["x y"]"#),
        (r#"{"":1,"":1}"#, r#"[""]"#),
        (r#"{"a":{"a":{"a":1},"a":1}}"#, ".a.a"),
        ("{\n\"a\":\"}\",\n\"a\":[]}", ".a"),
        (r#"{"/":1,"\/":1}"#, r#"["/"]"#),
        (r#"{"a\"":1,"a\"":1}"#, r#"["a\""]"#),
        (r#"{"\ud83d\ude00":1,"😀":1}"#, r#"["😀"]"#),
    ] {
        let path = InvalidJson::DuplicateMember(path.to_owned());
        assert_eq!(Json::parse(text), Err(path), "{text}");
    }
    for fine in [
        r#"{"a":"a","b":{"a":["a","a",{"a":1},{"a":1}]},"A":1}"#,
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":{"b":1},"b":{"a":1}}"#,
        r#"{"\\u0061":1,"a":1}"#,
        r#"[",", "{\"a\":1,\"a\":2}"]"#,
    ] {
        assert_eq!(Json::parse(fine).unwrap().as_str(), fine);
    }
}

#[test]
fn the_path_of_a_duplicate_member_is_short_whatever_its_name() {
    let long = "é".repeat(100_000);
    let text = format!(r#"{{"{long}":{{"a":1,"a":2}}}}"#);
    let error = Json::parse(text).unwrap_err().to_string();
    assert!(error.len() < 300, "{}", error.len());
}

#[test]
fn the_last_of_duplicate_members_stays_in_answers() {
    for (text, stays) in [
        (r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"b":2,"\u0061":3}"#),
        (
            r#"{"a":{"x":1,"x":2},"c":[{"y":1,"y":{"y":1,"y":2}}],"a":{"x":3,"x":4}}"#,
            r#"{"c":[{"y":{"y":2}}],"a":{"x":4}}"#,
        ),
        (r#"{"a":1,"a":2,"a":3}"#, r#"{"a":3}"#),
        (r#"[{ "a" : 1 ,"a":1e400}]"#, r#"[{ "a":1e400}]"#),
        (r#"{"a":1,"b":1}"#, r#"{"a":1,"b":1}"#),
    ] {
        assert_eq!(Json::parse_answer(text).unwrap().as_str(), stays, "{text}");
    }
}

#[test]
fn requests_hold_only_numbers_that_can_be_read() {
    let from = |text: &str| Json::from_request(RawValue::from_string(text.to_owned()).unwrap());
    let digits = "9".repeat(400);
    for text in ["1e400", r#"{"a":[-1E+309]}"#, &digits] {
        assert_eq!(from(text), Err(InvalidJson::NumberOutOfRange), "{text}");
    }
    let zeros = format!("0.{}1", "0".repeat(400));
    for text in [
        "1e308",
        "1e-400",
        "123456789012345678901234567890",
        r#""1e400""#,
        &zeros,
    ] {
        let json = from(text).unwrap();
        assert!(json.read::<serde_json::Value>().is_some(), "{text}");
    }
}

/// Not a measurement: quadratic work on so many members would take hours.
#[test]
fn objects_with_many_members_are_read_in_one_pass() {
    let members: Vec<String> = (0..40_000)
        .map(|n| format!(r#""k{n}":{{"n":0}}"#))
        .collect();
    let text = format!("{{{}}}", members.join(","));
    assert!(Json::parse(text.as_str()).is_ok());
    let twice = format!(r#"{{{},"k7":0}}"#, members.join(","));
    let path = InvalidJson::DuplicateMember(".k7".to_owned());
    assert_eq!(Json::parse(twice.as_str()), Err(path));
    let all_alike = format!("{{{}}}", vec![r#""a":{"b":1,"b":1}"#; 40_000].join(","));
    let last = Json::parse_answer(all_alike).unwrap();
    assert_eq!(last.as_str(), r#"{"a":{"b":1}}"#);
}

#[test]
fn brackets_in_strings_do_not_nest() {
    let text = format!("\"{}\"", "[".repeat(500));
    assert!(Json::parse(text).is_ok());
}

#[test]
fn only_objects_are_objects() {
    assert!(Object::try_from(Json::parse("{}").unwrap()).is_ok());
    let array = Json::parse("[]").unwrap();
    assert_eq!(Object::try_from(array), Err(InvalidJson::NotAnObject));
}

#[test]
fn reads_a_member() {
    let object = Object::try_from(Json::parse(r#"{"a":{"b":7}}"#).unwrap()).unwrap();
    let b: serde_json::Value = object.get("a").unwrap();
    assert_eq!(b["b"], 7);
    assert_eq!(object.get::<u8>("missing"), None);
}
