//! What is signed and sealed: what is right, what is wrong, and that no key shows.

use switchboard_server::auth::method::Algorithm;
use switchboard_server::sign::{SigningKey, Use};

use super::{PARROT, Written};
use crate::config::{Config, Flags};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const PUBLIC: &str = "public_url: https://a.example\n";

fn written(yaml: &str) -> Written {
    let written = Written::new(&format!("{yaml}{PARROT}"));
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    written.file("one.pem", &key.to_pem());
    let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
    written.file("two.pem", &key.to_pem());
    written.file("no.pem", "no key");
    written
}

fn load(yaml: &str) -> Config {
    let env = [("KEY", KEY)];
    written(yaml).load_with(&env, &Flags::default()).unwrap()
}

#[test]
fn keys_are_read_beside_the_configuration_and_may_be_made_later() {
    let config = load(&format!(
        "{PUBLIC}signing: {{keys: [{{file: one.pem}}, {{file: two.pem, use: publish, kid: next}}, {{file: new.pem, \
         create: true}}], webhooks: false}}\n"
    ));
    let signing = config.signing.unwrap();
    assert!(!signing.webhooks);
    let keys: Vec<_> = signing.keys.iter().map(|key| key.purpose).collect();
    assert_eq!(keys, [Use::Sign, Use::Publish, Use::Sign]);
    let kid = |at: usize| {
        signing.keys[at]
            .key
            .as_ref()
            .map(|key| key.kid().to_owned())
    };
    assert_eq!(kid(0).unwrap().len(), 43, "a thumbprint");
    assert_eq!(kid(1).as_deref(), Some("next"));
    assert_eq!(kid(2), None);
    assert!(!signing.keys[2].file.exists(), "nothing is made by a check");
    assert!(load(PUBLIC).signing.is_none());
    let config = load(&format!("{PUBLIC}signing: {{keys: [{{file: one.pem}}]}}\n"));
    assert!(config.signing.unwrap().webhooks);
}

#[test]
fn a_key_for_secrets_comes_from_the_environment_or_a_file() {
    assert!(load("secrets: {key: '${KEY}'}\n").secret_key.is_some());
    let in_file = written("secrets: {key_file: k}\n");
    in_file.file("k", &format!("{KEY}\n"));
    assert!(in_file.load().unwrap().secret_key.is_some());
    let bare = written("");
    let env = [("SWITCHBOARD_SECRETS__KEY", KEY)];
    let config = bare.load_with(&env, &Flags::default()).unwrap();
    assert!(config.secret_key.is_some());
    assert!(bare.load().unwrap().secret_key.is_none());
}

#[test]
fn no_key_shows_when_a_configuration_is_shown() {
    let config = load(&format!(
        "{PUBLIC}secrets: {{key: '${{KEY}}'}}\nsigning: {{keys: [{{file: one.pem, kid: shown}}]}}\n"
    ));
    let shown = format!("{config:?}");
    assert!(shown.contains("SigningKey(\"shown\")"), "{shown}");
    assert!(
        !shown.contains(KEY) && !shown.contains("PRIVATE"),
        "{shown}"
    );
}

#[test]
fn each_mistake_has_a_place_a_cause_and_a_way_out() {
    for (yaml, wrong) in [
        (
            "signing: {keys: [{file: one.pem}]}\n".to_owned(),
            "switchboard.yaml:1:1: signing: requires `public_url`\n  hint: set `public_url`: \
             the URL on agent cards",
        ),
        (
            format!("{PUBLIC}signing: {{}}\n"),
            "switchboard.yaml:2:1: signing.keys: no keys configured\n  hint: add `- {file: signing.pem, create: true}`",
        ),
        (
            format!("{PUBLIC}signing: {{keys: [{{kid: a}}]}}\n"),
            "switchboard.yaml:2:18: signing.keys[0]: there is no key\n  hint: add `file`; with `create: true` it is \
             made",
        ),
        (
            format!("{PUBLIC}signing: {{keys: [{{file: none.pem}}]}}\n"),
            "switchboard.yaml:2:19: signing.keys[0].file: none.pem cannot be read: no such file or directory (os \
             error 2)\n  hint: add `create: true` to make it; the path is relative to this file",
        ),
        (
            format!("{PUBLIC}signing: {{keys: [{{file: no.pem}}]}}\n"),
            "switchboard.yaml:2:19: signing.keys[0].file: no.pem: this is no private key: PEM is understood, with \
             PKCS#8, SEC1 or PKCS#1, not encrypted",
        ),
        (
            format!("{PUBLIC}signing: {{keys: [{{file: one.pem, use: publish}}]}}\n"),
            "switchboard.yaml:2:11: signing.keys: no key is used for signing\n  hint: leave out `use: publish` of one of \
             them",
        ),
        (
            format!(
                "{PUBLIC}signing: {{keys: [{{file: one.pem}}, {{file: one.pem, use: publish}}]}}\n"
            ),
            "switchboard.yaml:2:35: signing.keys[1]: this key is listed twice",
        ),
        (
            format!(
                "{PUBLIC}signing: {{keys: [{{file: one.pem, kid: k}}, {{file: two.pem, kid: k}}]}}\n"
            ),
            "switchboard.yaml:2:43: signing.keys[1]: this key is listed twice",
        ),
        (
            format!("{PUBLIC}signing: {{keys: [{{file: one.pem, kid: 'a b'}}]}}\n"),
            "switchboard.yaml:2:34: signing.keys[0].kid: must be 1 to 128 ASCII characters without spaces",
        ),
        (
            format!("{PUBLIC}signing: {{keys: [{{file: one.pem, use: both}}]}}\n"),
            "switchboard.yaml:2:39: signing.keys[0].use: unknown value `both`",
        ),
        (
            format!("secrets: {{key: {KEY}}}\n"),
            "switchboard.yaml:1:11: secrets.key: secrets must not be written in the file\n  hint: write `${NAME}`, or give \
             `key_file`",
        ),
        (
            "secrets: {key: '${SHORT}'}\n".to_owned(),
            "switchboard.yaml:1:11: secrets.key: is not a key: 32 bytes in base64 are required\n  hint: make one with \
             `head -c 32 /dev/urandom | base64`",
        ),
        (
            "secrets: {key: '${KEY}', key_file: one.pem}\n".to_owned(),
            "switchboard.yaml:1:26: secrets.key_file: `key` and `key_file` are mutually exclusive\n  hint: keep one of \
             them",
        ),
        (
            "secrets: {}\n".to_owned(),
            "switchboard.yaml:1:1: secrets: there is no key\n  hint: add `key: ${NAME}` or `key_file`",
        ),
    ] {
        let said = written(&yaml).problems(&[("KEY", KEY), ("SHORT", "AAEC")]);
        assert!(said.starts_with(wrong), "{yaml}: {said}");
        assert!(!said.contains(KEY), "{said}");
    }
}
