//! The command line: what it teaches, and what `up` shows.

use std::sync::Arc;

use clap::{CommandFactory, Parser};

use super::args::Cli;
use super::up::welcome;
use super::{serve, wrap};
use crate::app::{Listening, ToTrust};
use crate::config::{Config, Env, Flags, Problems, Source, load};

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn help_names_every_command_and_every_command_has_examples() {
    let mut command = Cli::command();
    let help = command.render_long_help().to_string();
    for sub in command.get_subcommands() {
        if sub.get_name() == "help" {
            continue;
        }
        assert!(help.contains(sub.get_name()), "{}", sub.get_name());
        assert!(sub.get_about().is_some(), "{}", sub.get_name());
        let taught = sub.get_after_help().is_some_and(|text| {
            text.to_string()
                .contains(&format!("switchboard {}", sub.get_name()))
        });
        assert!(taught, "{} has no example", sub.get_name());
    }
    assert!(help.contains("switchboard up"));
}

#[test]
fn completions_are_made_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let cli = Cli::try_parse_from(["switchboard", "completion", shell]).unwrap();
        let super::Command::Completion { shell: parsed } = cli.command else {
            panic!("{:?}", cli.command)
        };
        assert_eq!(parsed.to_string(), shell);
        let mut script = Vec::new();
        clap_complete::generate(parsed, &mut Cli::command(), "switchboard", &mut script);
        let script = String::from_utf8(script).unwrap();
        for word in ["serve", "deliveries", "log-format"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(Cli::try_parse_from(["switchboard", "completion", "tcsh"]).is_err());
}

fn listening_at(address: &str, config: &Config) -> Listening {
    Listening {
        address: address.parse().unwrap(),
        encrypted: false,
        to_trust: None,
        admin: Some("127.0.0.1:7421".parse().unwrap()),
        agents: config.agents.iter().map(|a| Arc::clone(&a.name)).collect(),
    }
}

#[test]
fn up_shows_little_and_all_of_it_can_be_pasted() {
    let env = Env::from_pairs([("HOME", "/home/user")]);
    let config = load(&Source::BuiltIn, &env, &Flags::default()).unwrap();
    let text = welcome(&config, &listening_at("0.0.0.0:7420", &config), 4711);
    assert_eq!(
        text,
        r#"  agents    echo research approver flaky desk   at http://127.0.0.1:7420
  admin     http://127.0.0.1:7421
  tasks     /home/user/.local/share/switchboard

  try       switchboard send -a http://127.0.0.1:7420/a2a/echo "hello there"
            switchboard send -a http://127.0.0.1:7420/a2a/research --stream "rivers in 8 chunks every 500ms"
            curl -s http://127.0.0.1:7420/a2a/echo/.well-known/agent-card.json
  crash     kill -9 4711 while research works, start again, and follow the task to its end:
            switchboard task subscribe -a http://127.0.0.1:7420/a2a/research TASK_ID
"#
    );
    assert!(text.lines().count() <= 12);
}

#[test]
fn what_is_not_kept_is_not_promised() {
    let flags = Flags {
        memory: true,
        ..Flags::default()
    };
    let config = load(&Source::BuiltIn, &Env::default(), &flags).unwrap();
    let text = welcome(&config, &listening_at("127.0.0.1:7420", &config), 1);
    assert!(text.contains("lost when the process ends"), "{text}");
    assert!(!text.contains("kill -9"), "{text}");
}

#[test]
fn up_says_how_to_trust_its_certificate() {
    let env = Env::from_pairs([("HOME", "/home/user")]);
    let config = load(&Source::BuiltIn, &env, &Flags::default()).unwrap();
    let shown = |to_trust| {
        let listening = Listening {
            encrypted: true,
            to_trust: Some(to_trust),
            ..listening_at("127.0.0.1:7420", &config)
        };
        welcome(&config, &listening, 1)
    };
    let text = shown(ToTrust::File("/data/dev-cert.pem".into()));
    assert!(
        text.contains("at https://127.0.0.1:7420\n") && !text.contains("http://127.0.0.1:7420"),
        "{text}"
    );
    assert_eq!(text.matches("curl --cacert /data/dev-cert.pem ").count(), 1);
    assert_eq!(text.matches(" --ca /data/dev-cert.pem -a ").count(), 3);
    let text = shown(ToTrust::Fingerprint("sha256:0a".to_owned()));
    assert!(
        text.contains("tls       self-signed, sha256:0a\n"),
        "{text}"
    );
    assert_eq!(text.matches("curl -k ").count(), 1);
    assert_eq!(text.matches(" --insecure -a ").count(), 3);
}

/// What `wrap` makes of these flags.
fn wrapped(flags: &[&str], env: &[(&str, &str)]) -> Result<Config, Problems> {
    let args = ["switchboard", "wrap"].iter().chain(flags);
    let super::Command::Wrap(args) = Cli::try_parse_from(args).unwrap().command else {
        panic!("{flags:?}")
    };
    let env = Env::from_pairs(env.iter().copied().chain([("HOME", "/home/user")]));
    load(&Source::Given(args.given()), &env, &Flags::default())
}

#[test]
fn what_is_wrapped_is_what_a_file_would_say() {
    let env = [("KEY", "s3cr3t")];
    let cases: [(&[&str], &str); 6] = [
        (
            &[
                "--openai",
                "http://a.example/v1",
                "--model",
                "m",
                "--key-env",
                "KEY",
                "--system",
                "Use ${KEY}.",
            ],
            "openai: {url: 'http://a.example/v1', model: m, key: '${KEY}', system: 'Use $${KEY}.'}",
        ),
        (
            &[
                "--a2a",
                "a.example#poet",
                "--description",
                "Writes",
                "--header",
                "x-key=KEY",
            ],
            "description: Writes, a2a: {url: 'a.example#poet'}, identity: {headers: {x-key: '${KEY}'}}",
        ),
        (
            &["--langgraph", "http://a.example", "--assistant", "poet"],
            "langgraph: {url: 'http://a.example', assistant: poet}",
        ),
        (
            &["--langgraph", "http://a.example", "--header", "x-key=KEY"],
            "langgraph: {url: 'http://a.example', discover: true}, identity: {headers: {x-key: '${KEY}'}}",
        ),
        (
            &["--exec", "--", "tr", "a,b", "--json"],
            "exec: {command: [tr, 'a,b', '--json']}",
        ),
        (
            &[
                "--exec",
                "--json",
                "--inherit",
                "A",
                "--inherit",
                "B",
                "--directory",
                "/",
                "--",
                "cat",
            ],
            "exec: {command: [cat], protocol: json, inherit: [A, B], directory: /}",
        ),
    ];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("switchboard.yaml");
    for (flags, keys) in cases {
        let yaml = format!(
            "data: /home/user/.local/share/switchboard/wrapped/agent\nagents: {{agent: {{{keys}}}}}\n"
        );
        std::fs::write(&file, yaml).unwrap();
        let pairs = Env::from_pairs(env.iter().copied().chain([("HOME", "/home/user")]));
        let written = load(&Source::File(file.clone()), &pairs, &Flags::default()).unwrap();
        let here = format!("Some({:?})", dir.path());
        let written = format!("{written:?}").replace(&here, "None");
        assert_eq!(format!("{:?}", wrapped(flags, &env).unwrap()), written);
    }
}

#[test]
fn what_is_wrong_with_a_wrapped_agent_is_told_by_the_flag() {
    let cases: [(&[&str], &str); 5] = [
        (
            &["--openai", "x", "--model", "m"],
            "--openai: agents.agent.openai.url: is not a URL",
        ),
        (
            &["--openai", "http://a", "--model", "m", "--key-env", "NOPE"],
            "--key-env: agents.agent.openai.key: the environment variable `NOPE` is not set\n  hint: name a variable that is set",
        ),
        (
            &[
                "--openai",
                "http://a",
                "--model",
                "m",
                "--key-file",
                "/nope",
            ],
            "--key-file: agents.agent.openai.key_file: /nope cannot be read: no such file or directory (os error 2)",
        ),
        (
            &["--name", "Foo", "--exec", "--", "cat"],
            "--exec: agents.Foo: `Foo` cannot be the name of an agent",
        ),
        (
            &["--exec", "--directory", "/nowhere", "--", "cat"],
            "--directory: agents.agent.exec.directory: /nowhere is not a directory\n  hint: make it, or name another",
        ),
    ];
    for (flags, wanted) in cases {
        let found = wrapped(flags, &[]).unwrap_err().to_string();
        assert!(found.starts_with(wanted), "{found}");
        assert!(!found.contains("configuration file"), "{found}");
    }
    let refused: [&[&str]; 10] = [
        &[],
        &["--exec"],
        &["--", "cat"],
        &["--openai", "http://a"],
        &["--openai", "http://a", "--model", "m", "--a2a", "b.example"],
        &["--exec", "--model", "m", "--", "cat"],
        &["--a2a", "b.example", "--json"],
        &["--a2a", "b.example", "--assistant", "poet"],
        &["--langgraph", "http://a", "--model", "m"],
        &["--a2a", "b.example", "--header", "x-key"],
    ];
    for flags in refused {
        let args = ["switchboard", "wrap"].iter().chain(flags);
        assert!(Cli::try_parse_from(args).is_err(), "{flags:?}");
    }
}

#[test]
fn wrap_shows_where_the_agent_is_and_how_to_try_it() {
    let config = wrapped(
        &["--name", "shout", "--exec", "--", "tr", "a-z", "A-Z"],
        &[],
    )
    .unwrap();
    let text = wrap::welcome(&config, &listening_at("0.0.0.0:7420", &config));
    assert_eq!(
        text,
        r#"  agents    shout   at http://127.0.0.1:7420
  admin     http://127.0.0.1:7421
  tasks     /home/user/.local/share/switchboard/wrapped/shout

  try       switchboard send -a http://127.0.0.1:7420/a2a/shout "hello there"
            switchboard send -a http://127.0.0.1:7420/a2a/shout --stream "hello there"
            curl -s http://127.0.0.1:7420/a2a/shout/.well-known/agent-card.json
"#
    );
    let listening = Listening {
        encrypted: true,
        to_trust: Some(ToTrust::File("/data/dev-cert.pem".into())),
        ..listening_at("127.0.0.1:7420", &config)
    };
    let text = wrap::welcome(&config, &listening);
    let wanted = "switchboard send --ca /data/dev-cert.pem -a https://127.0.0.1:7420/a2a/shout";
    assert!(text.contains(wanted), "{text}");
    let config = wrapped(&["--langgraph", "http://a.example"], &[]).unwrap();
    let mut listening = listening_at("127.0.0.1:7420", &config);
    listening.agents.clear();
    let text = wrap::welcome(&config, &listening);
    let wanted = "agents    agent-*   at http://127.0.0.1:7420\n";
    assert!(text.contains(wanted), "{text}");
    let wanted = "switchboard send -a http://127.0.0.1:7420 \"hello";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn serve_lists_agents_with_their_addresses_up_to_a_limit() {
    let env = Env::from_pairs([("HOME", "/home/user")]);
    let config = load(&Source::BuiltIn, &env, &Flags::default()).unwrap();
    let mut listening = listening_at("127.0.0.1:7420", &config);
    let text = serve::welcome(&config, &listening);
    let wanted =
        "  agents    echo      http://127.0.0.1:7420/a2a/echo\n            research  http:";
    assert!(text.starts_with(wanted), "{text}");
    assert!(
        text.contains("  admin     http://127.0.0.1:7421\n"),
        "{text}"
    );
    listening.agents = (0..100).map(|n| format!("a{n}").into()).collect();
    let text = serve::welcome(&config, &listening);
    let wanted = "            and 80 more: http://127.0.0.1:7420/agents\n";
    assert!(text.contains(wanted), "{text}");
}
