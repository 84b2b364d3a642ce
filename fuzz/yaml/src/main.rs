//! Fuzz targets of what people write: configurations and scripts. `FUZZ_TARGET` picks one.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use switchboard_agents::script::{AgentFile, Script};
use switchboard_gateway::config::{Env, Flags, Source, load};

/// Every target: its name, which is that of its corpus, and what it does with an input.
const TARGETS: [(&str, fn(&[u8])); 2] = [("script", script), ("config", config)];

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|(known, _)| *known == name);
        found.expect("FUZZ_TARGET names a target").1
    });
    target(data);
});

/// A script, alone or in a file with a profile.
fn script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    drop(Script::parse(text));
    drop(AgentFile::parse(text));
}

/// A configuration: refused with problems that can be shown, or taken.
fn config(data: &[u8]) {
    static DIR: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = DIR.get_or_init(|| tempfile::tempdir().expect("a directory"));
    let file = dir.path().join("switchboard.yaml");
    std::fs::write(&file, data).expect("a file");
    let env = Env::from_pairs([("HOME", "/home/fuzz"), ("NAME", "value")]);
    let flags = Flags {
        memory: true,
        ..Flags::default()
    };
    if let Err(problems) = load(&Source::File(file), &env, &flags) {
        assert!(!problems.to_string().is_empty());
    }
}
