//! Who depends on whom.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::{none, root};

/// The arrows: a crate, and which of ours it may depend on.
const ARROWS: [(&str, &[&str]); 10] = [
    ("switchboard-proto", &[]),
    ("switchboard-types", &["switchboard-proto"]),
    ("switchboard-keys", &[]),
    (
        "switchboard-client",
        &["switchboard-types", "switchboard-keys"],
    ),
    (
        "switchboard-server",
        &["switchboard-types", "switchboard-keys"],
    ),
    (
        "switchboard-conformance",
        &["switchboard-types", "switchboard-client"],
    ),
    (
        "switchboard-agents",
        &[
            "switchboard-types",
            "switchboard-server",
            "switchboard-client",
        ],
    ),
    (
        "switchboard-gateway",
        &[
            "switchboard-types",
            "switchboard-server",
            "switchboard-client",
            "switchboard-agents",
            "switchboard-conformance",
        ],
    ),
    ("switchboard", &["switchboard-gateway"]),
    // For tests: the others may use it, so it may use none of them.
    ("switchboard-testkit", &["switchboard-keys"]),
];

/// Features a crate may have.
const FEATURES: [&str; 7] = [
    "default", "grpc", "sqlite", "postgres", "testing", "console", "webhook",
];

/// Everything cargo knows about the workspace and what it is built from, on this platform.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let host = Command::new("rustc").arg("-vV").output().expect("rustc");
    let host = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
        ])
        .args(["--filter-platform", host.expect("a host")])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
});

/// All packages, ours and others'.
fn packages() -> impl Iterator<Item = &'static Value> {
    METADATA["packages"].as_array().into_iter().flatten()
}

fn ours() -> impl Iterator<Item = (&'static str, &'static Value)> {
    let named = packages().filter_map(|package| Some((package["name"].as_str()?, package)));
    named.filter(|(_, package)| package["source"].is_null())
}

/// What a package needs to be built; not what its tests need.
fn needs(package: &'static Value) -> impl Iterator<Item = &'static str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let normal = all.filter(|dependency| dependency["kind"] != "dev");
    normal.filter_map(|dependency| dependency["name"].as_str())
}

#[test]
fn crates_depend_along_the_arrows() {
    let mut found = Vec::new();
    for (name, package) in ours() {
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            found.push(format!(
                "{name} is a new crate: that needs a record in docs/adr"
            ));
            continue;
        };
        for other in needs(package).filter(|other| other.starts_with("switchboard-")) {
            if !allowed.contains(&other) {
                found.push(format!("{name} depends on {other}"));
            }
        }
    }
    none("arrows that are not in the drawing", &found);
}

#[test]
fn anyhow_is_for_the_gateway() {
    let users = ours().filter(|(name, _)| *name != "switchboard-gateway");
    let found = users.filter(|(_, package)| needs(package).any(|other| other == "anyhow"));
    let found: Vec<String> = found.map(|(name, _)| name.to_owned()).collect();
    none("crates with anyhow", &found);
}

#[test]
fn types_and_keys_have_no_runtime_and_no_network() {
    let pure = ["switchboard-types", "switchboard-keys"];
    let heavy = [
        "tokio",
        "hyper",
        "reqwest",
        "axum",
        "rusqlite",
        "tracing",
        "async-trait",
    ];
    let mut found = Vec::new();
    for (name, package) in ours().filter(|(name, _)| pure.contains(name)) {
        let others = needs(package).filter(|other| heavy.contains(other));
        found.extend(others.map(|other| format!("{name} depends on {other}")));
    }
    none("dependencies of what is pure", &found);
}

#[test]
fn features_are_few() {
    let mut found = Vec::new();
    for (name, package) in ours() {
        for feature in package["features"].as_object().into_iter().flatten() {
            if !FEATURES.contains(&feature.0.as_str()) {
                found.push(format!("{name}: {}", feature.0));
            }
        }
    }
    none("features that are not in the list", &found);
}

#[test]
fn every_crate_has_the_lints_of_the_workspace() {
    let mut found = Vec::new();
    for (name, package) in ours() {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let text = std::fs::read_to_string(manifest).expect("a manifest");
        if !text.contains("[lints]\nworkspace = true") {
            found.push(name.to_owned());
        }
    }
    none("crates without the lints of the workspace", &found);
}

#[test]
fn the_profile_of_packages_sets_every_level_again() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let packages = |profile: &str| {
        let start = format!("[profile.{profile}.package.");
        let names = manifest.lines().filter_map(move |line| {
            let name = line.strip_prefix(&start)?;
            Some(name.trim_end_matches(']').to_owned())
        });
        names.collect::<Vec<String>>()
    };
    let (mut inherited, dist) = (packages("release"), packages("dist"));
    assert!(!inherited.is_empty());
    inherited.retain(|name| !dist.contains(name));
    none("`dist` must set the level of these again", &inherited);
}
