//! The example of the front page runs.

use std::process::Stdio;

use crate::support::House;

#[tokio::test]
async fn the_example_asks_and_prints_the_answer() {
    let house = House::open().await;
    let example = test_bin::example("ask");
    let output = tokio::process::Command::new(example)
        .args([
            house.agent("research"),
            "rivers in 3 chunks every 1ms".to_owned(),
        ])
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let (out, told) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{told}");
    assert!(out.contains("Finding 3 of 3"), "{out}");
    assert!(
        told.contains("working") && told.contains("completed"),
        "{told}"
    );
    house.close().await;
}

mod test_bin {
    use std::path::PathBuf;

    /// Examples are built beside the tests.
    pub(super) fn example(name: &str) -> PathBuf {
        let mut dir = std::env::current_exe().expect("a path");
        dir.pop();
        if dir.ends_with("deps") {
            dir.pop();
        }
        dir.join("examples").join(name)
    }
}
