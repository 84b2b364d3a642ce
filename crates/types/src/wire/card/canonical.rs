//! The canonical form of JSON (RFC 8785): sorted keys, one spelling per number and string.
//!
//! It knows nothing of cards; `canonical_card` calls it on the card's 1.0 form, `canonical_received` on what came. It never fails:
//! what has no canonical form (a lone surrogate, a number beyond a double) is kept as it stands,
//! since a signature over it could not be verified elsewhere anyway.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::model::Object;

/// The canonical form of a JSON text.
pub(super) fn canonical(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    match std::str::from_utf8(json) {
        Ok(text) => value(text.trim_ascii(), &mut out),
        Err(_) => out.extend_from_slice(json),
    }
    out
}

/// The canonical form of a JSON object without the member `left_out`.
pub(super) fn canonical_without(object: &Object, left_out: &str) -> Vec<u8> {
    let mut members: BTreeMap<String, &RawValue> = object.as_json().read().unwrap_or_default();
    members.remove(left_out);
    let mut out = Vec::with_capacity(object.as_str().len());
    put_members(members, &mut out);
    out
}

/// Writes any value. Recursion ends: free JSON in the model nests at most 128 deep (requests: 127).
fn value(text: &str, out: &mut Vec<u8>) {
    let done = match text.as_bytes().first() {
        Some(b'{') => object(text, out),
        Some(b'[') => array(text, out),
        Some(b'"') => string(text, out),
        Some(b'-' | b'0'..=b'9') => number(text, out),
        _ => None,
    };
    if done.is_none() {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Members sorted by the UTF-16 units of their names (RFC 8785 §3.2.3); of equal names the last
/// counts, as in ECMAScript.
fn object(text: &str, out: &mut Vec<u8>) -> Option<()> {
    put_members(serde_json::from_str(text).ok()?, out);
    Some(())
}

fn put_members(members: BTreeMap<String, &RawValue>, out: &mut Vec<u8>) {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    out.push(b'{');
    for (i, (name, member)) in members.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        quote(name, out);
        out.push(b':');
        value(member.get(), out);
    }
    out.push(b'}');
}

fn array(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    out.push(b'[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        value(item.get(), out);
    }
    out.push(b']');
    Some(())
}

fn string(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let string: String = serde_json::from_str(text).ok()?;
    quote(&string, out);
    Some(())
}

/// Only what must be escaped is, the short way where there is one (RFC 8785 §3.2.2.2).
fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\0'..='\u{1f}' => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

fn number(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let number: f64 = text.parse().ok()?;
    if !number.is_finite() {
        return None;
    }
    out.extend_from_slice(ecmascript(number).as_bytes());
    Some(())
}

/// A finite number as ECMAScript prints it (ECMA-262, `Number::toString`; RFC 8785 §3.2.2.3).
fn ecmascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = shortest(number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", layout(&digits, exponent))
}

/// `d.ddde±x` with the fewest digits that read back as the same double; among several of that
/// length the closest, and of two equally close the even one. Rust prints the fewest digits too but
/// does not promise which, while printing to a given number of digits rounds the right way.
fn shortest(number: f64) -> String {
    let any = format!("{number:e}");
    let mantissa = any.split('e').next().unwrap_or_default();
    let closest = format!("{number:.0$e}", mantissa.len().saturating_sub(2));
    // Just above a power of two the closest may lie outside what reads back.
    if closest.parse() == Ok(number) {
        closest
    } else {
        any
    }
}

/// Lays out `d.ddd × 10^exponent`, given all its digits.
fn layout(digits: &str, exponent: i32) -> String {
    // Doubles have at most 17 digits and exponents below 325, so no conversion here loses anything.
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    let split = |n: i32| digits.split_at(usize::try_from(n).unwrap_or(0).min(digits.len()));
    match exponent {
        e if !(-6..21).contains(&e) => {
            let (first, rest) = split(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e{e:+}")
        }
        e if e + 1 >= count => format!("{digits}{}", zeros(e + 1 - count)),
        e if e >= 0 => {
            let (whole, fraction) = split(e + 1);
            format!("{whole}.{fraction}")
        }
        e => format!("0.{}{digits}", zeros(-e - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_text(json: &str) -> String {
        String::from_utf8(canonical(json.as_bytes())).unwrap()
    }

    /// RFC 8785 appendix B.
    #[test]
    fn numbers_are_printed_as_in_ecmascript() {
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
            (0x3d30_0000_0000_0000, "5.684341886080802e-14"),
        ] {
            assert_eq!(ecmascript(f64::from_bits(bits)), text, "{bits:x}");
        }
    }

    /// RFC 8785 §3.2.2 and §3.2.3.
    #[test]
    fn the_examples_of_the_rfc_come_out() {
        let input = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let output = concat!(
            r#"{"literals":[null,true,false],"#,
            r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
            r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#,
        );
        assert_eq!(canonical_text(input), output);
    }

    /// RFC 8785 §3.2.3: by UTF-16 units, so an emoji stands before U+FB33.
    #[test]
    fn keys_are_sorted_by_utf16_units() {
        let input = r#"{
            "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#;
        let output = concat!(
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",",
            "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",",
            "\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        );
        assert_eq!(canonical_text(input), output);
    }

    #[test]
    fn layout_goes_and_equal_keys_collapse() {
        assert_eq!(canonical_text(" [ ] "), "[]");
        assert_eq!(
            canonical_text("{ \"a\" : { } , \"a\" : [ 1.0 ] }"),
            r#"{"a":[1]}"#
        );
        assert_eq!(canonical_text("-0.0"), "0");
        assert_eq!(canonical_text("\"\\u007f\\u2028\""), "\"\u{7f}\u{2028}\"");
        assert_eq!(canonical_text("9223372036854775807"), "9223372036854776000");
    }

    #[test]
    fn what_has_no_canonical_form_stays() {
        assert_eq!(
            canonical_text(r#"{"b":1e400,"a":"\ud800"}"#),
            r#"{"a":"\ud800","b":1e400}"#
        );
    }
}
