//! Sealed texts: opened by their key, as they were, or not at all.

use std::collections::HashSet;

use switchboard_keys::{SealingKey, decoded, encoded, random};

#[test]
fn what_is_sealed_is_opened_by_its_key_only() {
    let key = SealingKey::from_bytes(random());
    for text in ["", "s3cret", "grüße", &"x".repeat(10_000)] {
        let sealed = key.seal(text);
        assert!(sealed.starts_with("sealed:1:"));
        assert!(text.is_empty() || !sealed.contains(text));
        assert_eq!(key.open(&sealed).as_deref(), Some(text));
        assert_ne!(key.seal(text), sealed, "never the same twice");
        assert_eq!(SealingKey::from_bytes(random()).open(&sealed), None);
    }
    assert_eq!(format!("{key:?}"), "SealingKey(***)");
}

#[test]
fn what_was_touched_is_not_opened() {
    let key = SealingKey::from_bytes([7; 32]);
    let sealed = key.seal("s3cret");
    let bytes = decoded(sealed.strip_prefix("sealed:1:").unwrap()).unwrap();
    for at in 0..bytes.len() {
        let mut touched = bytes.clone();
        touched[at] ^= 1;
        let touched = format!("sealed:1:{}", encoded(&touched));
        assert_eq!(key.open(&touched), None, "byte {at}");
        let cut = format!("sealed:1:{}", encoded(&bytes[..at]));
        assert_eq!(key.open(&cut), None, "cut at {at}");
    }
    for text in [
        "",
        "s3cret",
        "sealed:1:",
        "sealed:1:!",
        &sealed.replace(":1:", ":2:"),
        &sealed[1..],
    ] {
        assert_eq!(key.open(text), None, "{text}");
    }
}

/// Texts lie in databases for years.
#[test]
fn what_was_sealed_once_is_still_opened() {
    let key = SealingKey::from_bytes([7; 32]);
    let sealed = "sealed:1:AAECAwQFBgcICQoLa7KKAnh90qVzOry2nVssk9XPQVxUuw";
    assert_eq!(key.open(sealed).as_deref(), Some("s3cret"));
}

#[test]
fn random_bytes_do_not_repeat() {
    let seen: HashSet<[u8; 16]> = (0..1000).map(|_| random()).collect();
    assert_eq!(seen.len(), 1000);
}

/// A server's threads share them.
#[test]
fn keys_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<SealingKey>();
    shared::<switchboard_keys::SigningKey>();
    shared::<switchboard_keys::PublicKeys>();
    shared::<switchboard_keys::SharedSecret>();
}

#[test]
fn a_key_is_read_from_either_kind_of_base64_and_from_nothing_else() {
    let bytes: [u8; 32] = std::array::from_fn(|at| 255 - u8::try_from(at).unwrap());
    let sealed = SealingKey::from_bytes(bytes).seal("text");
    for text in [
        "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=",
        "__79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eA",
        " __79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eA=\n",
    ] {
        let key = SealingKey::from_base64(text).unwrap();
        assert_eq!(key.open(&sealed).as_deref(), Some("text"), "{text}");
    }
    let long = SealingKey::fresh() + "AAAA";
    for text in [
        "",
        "AAEC",
        "no base64 at all, but long enough!!!!!!!!!!",
        long.as_str(),
    ] {
        assert!(SealingKey::from_base64(text).is_none(), "{text}");
    }
    assert_ne!(SealingKey::fresh(), SealingKey::fresh());
}
