//! Commands behind agents: what is right, and what is wrong.

use std::time::Duration;

use switchboard_agents::exec::{Protocol, Settings};

use super::{Flags, Written, good};
use crate::config::{Backend, Config, UNLIMITED};

const ENV: [(&str, &str); 2] = [("KEY", "s3cr3t"), ("PATH", "/usr/bin:/bin")];

/// One agent with these keys of the command, and these of its own.
fn agent(keys: &str, more: &str) -> String {
    format!("agents: {{worker: {{exec: {{{keys}}}, {more}}}}}\n")
}

fn command(config: &Config) -> &Settings {
    match &config.agents[0].backend {
        Backend::Exec(settings) => settings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_is_enough() {
    let written = Written::new(&agent("command: [cat, -u, 1]", ""));
    let config = written.load_with(&ENV, &Flags::default()).unwrap();
    let settings = command(&config);
    assert_eq!(settings.command, ["cat", "-u", "1"]);
    assert_eq!(settings.protocol, Protocol::Text);
    assert_eq!(settings.directory.as_deref(), Some(written.dir.path()));
    assert!(settings.inherit.is_empty() && settings.environment.is_empty());
    assert!(config.doubts.is_empty(), "{:?}", config.doubts);
    assert_eq!(
        config.agents[0].tasks,
        Some(16),
        "not any number of processes"
    );
    let modes = &config.agents[0].profile.card.default_input_modes;
    assert!(!modes.contains(&"*/*".to_owned()), "text takes no files");
}

#[test]
fn everything_can_be_said() {
    let written = Written::new(&agent(
        "command: [./run.sh], directory: work, inherit: [HOME], environment: {TOKEN: '${KEY}', LANG: C}, \
         protocol: json, timeout: unlimited, grace: 1s, max_output: 1KiB, max_line: 100B, coalesce: 0s",
        "limits: {tasks: unlimited}",
    ));
    written.file("run.sh", "");
    std::fs::create_dir(written.dir.path().join("work")).unwrap();
    let config = written.load_with(&ENV, &Flags::default()).unwrap();
    let settings = command(&config);
    // Relative to the file, wherever it runs.
    let program = written.dir.path().join("run.sh");
    assert_eq!(settings.command, [program.display().to_string()]);
    assert_eq!(settings.directory, Some(written.dir.path().join("work")));
    assert_eq!(settings.inherit, ["HOME"]);
    assert_eq!(settings.environment[0].1.reveal(), "s3cr3t");
    assert_eq!(settings.protocol, Protocol::Json);
    assert_eq!(settings.timeout, UNLIMITED);
    assert_eq!(settings.grace, Duration::from_secs(1));
    assert_eq!(
        (settings.max_output_bytes, settings.max_line_bytes),
        (1024, 100)
    );
    assert_eq!(config.agents[0].tasks, None);
    assert_eq!(config.agents[0].profile.card.default_input_modes, ["*/*"]);
    assert!(!format!("{config:?}").contains("s3cr3t"));
}

#[test]
fn a_program_that_is_not_there_is_a_doubt_since_it_may_come() {
    for (keys, wanted) in [
        (
            "command: [no-such-program]",
            "install it, or write its whole path",
        ),
        ("command: [./no.sh]", "/no.sh`"),
        (
            "command: ['cat -u']",
            "no shell reads it: write the program and each argument by itself",
        ),
    ] {
        let written = Written::new(&agent(keys, ""));
        let config = written.load_with(&ENV, &Flags::default()).unwrap();
        let doubt = config.doubts[0].to_string();
        assert!(
            doubt.contains("agents.worker.exec.command[0]: program not found"),
            "{doubt}"
        );
        assert!(doubt.contains(wanted), "{doubt}");
    }
    // Without a path there is nowhere to look.
    assert!(
        good(&agent("command: [no-such-program]", ""))
            .doubts
            .is_empty()
    );
}

#[test]
fn what_is_wrong_is_named_where_it_stands_with_what_to_do() {
    let cat = "command: [cat]";
    let keys = |keys: &str| agent(&format!("{cat}, {keys}"), "");
    let cases = [
        (
            agent("command: cat -u", ""),
            "exec.command: expected a list of a program and its arguments, such as [python3, agent.py], found `cat -u`",
        ),
        (
            agent("command: []", ""),
            "exec.command: the command is empty\n  hint: write the program first",
        ),
        (
            agent("command: ['']", ""),
            "exec.command: the command is empty",
        ),
        (
            agent("directory: .", ""),
            "agents.worker.exec: the key `command` is missing",
        ),
        (
            keys("directory: nowhere"),
            "exec.directory: nowhere is not a directory\n  hint: make it, or name another",
        ),
        (
            keys("inherit: ['A=B']"),
            "exec.inherit: \"A=B\" is not a valid variable name\n  hint: write the name alone",
        ),
        (
            keys("environment: {'': x}"),
            "exec.environment: \"\" is not a valid variable name",
        ),
        (
            keys("environment: [A]"),
            "exec.environment: expected a mapping from names",
        ),
        (
            keys("protocol: jsonl"),
            "exec.protocol: unknown value `jsonl`\n  hint: did you mean `json`?",
        ),
        (
            keys("timeout: 0s"),
            "exec.timeout: must be longer than zero",
        ),
        (
            keys("max_output: 0B"),
            "exec.max_output: must be more than zero",
        ),
        (keys("max_line: 5"), "exec.max_line: `5` has no unit"),
        (keys("shell: true"), "exec: unknown key `shell`"),
        (
            agent(cat, "identity: {forward: [x-a]}"),
            "agents.worker.identity: this agent has no upstream",
        ),
    ];
    for (yaml, wanted) in cases {
        let written = Written::new(&yaml);
        let found = written.problems(&ENV);
        assert!(found.contains(wanted), "{yaml}\n{found}");
        assert!(found.starts_with("switchboard.yaml:1:"), "{found}");
    }
}
