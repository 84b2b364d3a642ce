//! Settings: which of several sources counts, and what is said of those that are wrong.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use tempfile::TempDir;

use super::args::AgentFlags;
use super::places::Source;
use super::settings::Settings;
use super::text::Page;
use crate::cli::args::Output;
use crate::config::Env;

#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    agent: AgentFlags,
}

/// A home with a file of its own, and a directory with one.
fn places(user: &str, local: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let user_dir = dir.path().join("home/.config/a2a-cli");
    fs::create_dir_all(&user_dir).unwrap();
    fs::create_dir_all(dir.path().join("work")).unwrap();
    fs::write(user_dir.join(".env"), user).unwrap();
    fs::write(dir.path().join("work/.env"), local).unwrap();
    dir
}

fn find(dir: &Path, env: &[(&str, &str)], args: &[&str]) -> Result<Settings, String> {
    let home = dir.join("home").display().to_string();
    let env = Env::from_pairs(env.iter().copied().chain([("HOME", home.as_str())]));
    let flags = Flags::try_parse_from([&["x"], args].concat()).unwrap();
    Settings::find(&flags.agent, &env, &dir.join("work")).map_err(|failure| failure.to_string())
}

fn source(settings: &Settings, name: &str) -> Source {
    let row = settings.rows.iter().find(|row| row.name == name);
    row.unwrap().source.clone()
}

#[test]
fn the_nearest_source_counts() {
    let dir = places("A2ACLI_TIMEOUT=4s\n", "A2ACLI_TIMEOUT=3s\n");
    let dir = dir.path();
    let (user, local) = (
        Source::File(dir.join("home/.config/a2a-cli/.env")),
        Source::File(dir.join("work/.env")),
    );
    let env = [("A2ACLI_TIMEOUT", "2s")];
    for (env, args, seconds, expected) in [
        (&env[..], &["--timeout", "1s"][..], 1, Source::Flag),
        (&env, &[], 2, Source::Environment),
        (&[], &[], 3, local),
    ] {
        let settings = find(dir, env, args).unwrap();
        assert_eq!(settings.timeout, Some(Duration::from_secs(seconds)));
        assert_eq!(source(&settings, "timeout"), expected);
    }
    fs::remove_file(dir.join("work/.env")).unwrap();
    let settings = find(dir, &[], &[]).unwrap();
    assert_eq!(settings.timeout, Some(Duration::from_secs(4)));
    assert_eq!(source(&settings, "timeout"), user);
    fs::remove_dir_all(dir.join("home")).unwrap();
    let settings = find(dir, &[], &[]).unwrap();
    assert_eq!(settings.timeout, Some(Duration::from_secs(300)));
    assert_eq!(source(&settings, "timeout"), Source::Default);
}

#[test]
fn a_named_file_stands_in_for_the_local_one() {
    let dir = places("", "A2ACLI_OUTPUT=json\n");
    let named = dir.path().join("other.env");
    fs::write(&named, "A2ACLI_POLL_INTERVAL=7\n").unwrap();
    let settings = find(dir.path(), &[], &["--config", named.to_str().unwrap()]).unwrap();
    assert_eq!(settings.output, Output::Text);
    assert_eq!(settings.poll_interval, Duration::from_secs(7));
    let missing = find(dir.path(), &[], &["--config", "/no/such/file"]).unwrap_err();
    assert!(missing.contains("/no/such/file is not there"), "{missing}");
}

#[test]
fn zero_is_no_timeout_and_numbers_are_seconds() {
    let dir = places("", "");
    let settings = find(
        dir.path(),
        &[],
        &["--timeout", "0", "--poll-interval", "500ms"],
    )
    .unwrap();
    assert_eq!(settings.timeout, None);
    assert_eq!(settings.poll_interval, Duration::from_millis(500));
}

#[test]
fn secrets_are_hidden_and_their_files_watched() {
    let dir = places(
        "A2ACLI_BEARER=hush-hush\nA2ACLI_SVC_PARAM=X-Key:also-secret\n",
        "",
    );
    let settings = find(dir.path(), &[], &["--basic", "me:hidden"]).unwrap();
    assert_eq!(settings.bearer.as_ref().unwrap().reveal(), "hush-hush");
    let shown = format!("{settings:?}");
    for secret in ["hush-hush", "hidden", "also-secret"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let rows = format!("{:?}", settings.rows);
    assert!(!rows.contains("also-secret"), "{rows}");
    let file = dir.path().join("home/.config/a2a-cli/.env");
    assert!(
        settings.warnings.iter().any(|w| w.contains("chmod 600")),
        "{:?}",
        settings.warnings
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let settings = find(dir.path(), &[], &[]).unwrap();
        assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let dir = places("", "");
    for (env, args, expected) in [
        (
            &[][..],
            &["--timeout", "soon"][..],
            "--timeout: `soon` is not a duration",
        ),
        (
            &[],
            &["--a2a-version", "7"],
            "--a2a-version: A2A \"7\" is not supported",
        ),
        (
            &[],
            &["--transport", "soap"],
            "--transport: `soap` is none of",
        ),
        (&[], &["--svc-param", "x"], "--svc-param: write NAME:VALUE"),
        (&[], &["--basic", "me"], "--basic: write USER:PASSWORD"),
        (
            &[("A2ACLI_INSECURE", "maybe")],
            &[],
            "--insecure: `maybe` is neither",
        ),
        (
            &[("A2ACLI_OUTPUT", "xml")],
            &[],
            "--output: `xml` is neither",
        ),
    ] {
        let error = find(dir.path(), env, args).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn insecure_is_warned_of() {
    let dir = places("", "");
    let settings = find(dir.path(), &[("A2ACLI_INSECURE", "true")], &[]).unwrap();
    assert!(settings.insecure);
    assert!(settings.warnings[0].contains("certificates are not verified"));
}

#[test]
fn text_has_no_control_characters_whatever_the_agent_says() {
    let mut page = Page::new(false);
    page.field("Agent", "red \u{1b}[31m\nState: fake");
    page.block(
        "Text",
        "line\r\nnext\u{7}\n\ttab\u{9b}2J\n\nState: fake\n\n",
    );
    assert_eq!(
        page.into_text(),
        "Agent: red \\u001b[31m State: fake\nText:\nline\nnext\\u0007\n\ttab\\u009b2J\n \nState: fake\n\n"
    );
}

#[test]
fn a_password_in_a_reference_is_not_shown() {
    let dir = places("", "");
    let settings = find(
        dir.path(),
        &[],
        &["-a", "https://me:pass@agent.example/a@b"],
    )
    .unwrap();
    assert_eq!(settings.shown_agent(), "https://***@agent.example/a@b");
    let rows = format!("{:?}", settings.rows);
    assert!(!rows.contains("pass"), "{rows}");
}
