//! What callers show is kept nowhere.

use std::path::Path;

use switchboard_types::operation::Method;

use crate::credentials::{QUALITIES, SORTS};
use crate::ways::{id, operation, ways};
use crate::world::World;

/// All files below a directory that hold a text.
fn holders(dir: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holders(&path, text, found);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        if bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[tokio::test]
async fn s3_104_no_credential_is_kept_or_logged() {
    let mut world = World::open_with("log: { level: trace }\n").await;
    let mut secrets = vec!["open-sesame".to_owned()];
    for sort in SORTS {
        for quality in QUALITIES {
            let Some(shown) = world.show(sort, quality) else {
                continue;
            };
            for way in ways() {
                let send = operation(Method::Send, &id("anything"));
                way.ask(&world, "scoped", &shown, &send).await;
            }
            secrets.extend(shown.into_iter().map(|(_, value)| {
                let (_, secret) = value.split_once(' ').unwrap_or(("", &value));
                secret.to_owned()
            }));
        }
    }
    assert!(secrets.len() > 12);
    world.server.kill().await;
    let home = world.server.configuration();
    for secret in &secrets {
        let mut found = Vec::new();
        holders(home.parent().unwrap(), secret, &mut found);
        assert_eq!(found, [""; 0], "{secret}");
    }
}
