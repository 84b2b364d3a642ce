//! What is published must say what the code does: the schema and the example.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{PARROT, Written};
use crate::config::{Backend, Env, Flags, Source, load, schema};

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(path)
}

fn parsed() -> Value {
    serde_json::from_str(&schema::text().unwrap()).unwrap()
}

fn validates(yaml: &str) -> Result<(), String> {
    let value: Value = crate::config::yaml::to_json(yaml);
    let schema = jsonschema::validator_for(&parsed()).unwrap();
    schema.validate(&value).map_err(|error| error.to_string())
}

#[test]
fn the_published_schema_is_the_one_of_this_code() {
    let published =
        std::fs::read_to_string(docs("reference/config.schema.json")).unwrap_or_default();
    assert!(
        published == schema::text().unwrap(),
        "run: cargo run -p switchboard -- schema > docs/reference/config.schema.json"
    );
}

#[test]
fn the_example_is_right_for_code_and_schema() {
    let path = docs("examples/switchboard.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let env = Env::from_pairs([("HOME", "/home/user")]);
    load(&Source::File(path), &env, &Flags::default()).unwrap();
    assert_eq!(validates(&text), Ok(()));
}

#[test]
fn the_example_shows_every_key() {
    let text = std::fs::read_to_string(docs("examples/switchboard.yaml")).unwrap();
    let schema = parsed();
    let mut missing = Vec::new();
    for (owner, keys) in std::iter::once(("", &schema["properties"])).chain(
        [
            "Agent",
            "Store",
            "Limits",
            "AgentLimits",
            "Rate",
            "Queue",
            "Cors",
            "Retention",
            "Push",
            "Shutdown",
            "Log",
            "Timeouts",
            "Extension",
            "OpenAi",
            "ModelRetry",
            "Exec",
        ]
        .map(|name| (name, &schema["$defs"][name]["properties"])),
    ) {
        for key in keys.as_object().unwrap().keys() {
            if !text.contains(&format!("{key}:")) {
                missing.push(format!("{owner}.{key}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_key_is_described() {
    fn walk(value: &Value, at: &str, bare: &mut Vec<String>) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            for (key, property) in properties {
                if property.get("description").is_none() {
                    bare.push(format!("{at}.{key}"));
                }
            }
        }
        if let Some(object) = value.as_object() {
            for (key, inner) in object {
                walk(inner, key, bare);
            }
        }
    }
    let mut bare = Vec::new();
    walk(&parsed(), "", &mut bare);
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn the_schema_refuses_what_the_code_refuses() {
    for yaml in [
        "lisen: 1",
        "limits: {body: 10}",
        "limits: {body: ten}",
        "limits: {streams: 0}",
        "limits: {connections: many}",
        "limits: {tasks: 0}",
        "limits: {tasks: many}",
        "limits: {rate: {per: 60s}}",
        "limits: {rate: unlimited}",
        "limits: {queue: {size: 5}}",
        "cors: {origins: [app.example]}",
        "cors: {origins: ['https://app.example/x']}",
        "agents: {a: {script: [], limits: {rate: none}}}",
        "public_url: example.com",
        "auth: nobody",
        "store: {kind: sqllite}",
        "trust_forwarded: 10.0.0.0/8",
        "retention: {completed: forever}",
        "agents: {Echo: {script: []}}",
        "agents: {a: {script: [{compleet: x}]}}",
        "agents: {a: {script: [], card: 2.0}}",
        "agents: {a: {script: [], streaming: maybe}}",
        "agents: {a: {script: [], skills: [{description: x}]}}",
        "agents: {a: {script: [], on_disconect: keep}}",
        "agents: {a: {openai: {url: 'http://a/v1'}}}",
        "agents: {a: {openai: {url: 'http://a/v1', model: m, key: plain}}}",
        "agents: {a: {exec: {command: cat}}}",
        "agents: {a: {exec: {command: []}}}",
    ] {
        assert!(validates(yaml).is_err(), "{yaml}");
    }
    for yaml in [
        "listen: 7420",
        "limits: {streams: '${N}', body: '${B:-1MiB}'}",
        "agents: {a: {script: [], streaming: '${S}', card: 1.0, version: 1.0}}",
        "limits: ~",
        "limits: {tasks: 5, connections_per_address: unlimited, rate: {requests: 5}, queue: {length: 0, wait: 1s}}",
        "cors: {origins: ['*', 'https://app.example', 'http://[::1]:3000']}",
        "agents: {a: {script: [], limits: {rate: unlimited, tasks: '${N}'}}}",
        "agents: {a: {openai: {url: 'http://a/v1', model: m, key: '${K}', parameters: {top_p: 1}}}}",
        "agents: {a: {exec: {command: [sleep, 1], environment: {A: b}, timeout: unlimited}}}",
        PARROT,
    ] {
        assert_eq!(validates(yaml), Ok(()), "{yaml}");
    }
}

/// The same of what stands behind agents.
#[test]
fn the_defaults_of_backends_are_those_of_the_code() {
    let schema = parsed();
    let model = |more: &str| format!("openai: {{url: 'http://a/v1', model: m, {more}}}");
    let retry = |more: &str| model(&format!("retry: {{{more}}}"));
    let command = |more: &str| format!("exec: {{command: [cat], {more}}}");
    let shown = |backend: &str| {
        let written = Written::new(&format!("agents: {{a: {{{backend}}}}}\n"));
        let config = written
            .load()
            .unwrap_or_else(|problems| panic!("{backend}: {problems}"));
        let place = written.dir.path().display().to_string();
        let backend = match &config.agents[0].backend {
            // It does not show itself.
            Backend::OpenAi(settings, _) => {
                let settings = (**settings).clone();
                let (tokens, tasks) = (settings.history_tokens, settings.history_tasks);
                let sizes = (settings.max_answer_bytes, settings.ask_usage);
                let times = (settings.idle_timeout, settings.coalesce);
                format!("{tokens} {tasks} {sizes:?} {times:?} {:?}", settings.retry)
            }
            other => format!("{other:?}"),
        };
        backend.replace(&place, "")
    };
    let mut seen = 0;
    type Write<'a> = &'a dyn Fn(&str) -> String;
    let kinds: [(&str, Write<'_>); 3] = [
        ("OpenAi", &model),
        ("ModelRetry", &retry),
        ("Exec", &command),
    ];
    for (name, yaml) in kinds {
        let plain = shown(&yaml(""));
        let properties = schema["$defs"][name]["properties"].as_object().unwrap();
        for (key, property) in properties {
            let Some(default) = property.get("default") else {
                continue;
            };
            seen += 1;
            let said = shown(&yaml(&format!("{key}: {default}")));
            assert_eq!(said, plain, "{name}.{key}");
        }
    }
    assert_eq!(seen, 17);
}

/// Sets each key to the default its description promises: nothing may change.
#[test]
fn the_defaults_in_the_schema_are_those_of_the_code() {
    let schema = parsed();
    let shown = |yaml: &str| {
        let written = Written::new(yaml);
        format!(
            "{:?}",
            written
                .load()
                .unwrap_or_else(|problems| panic!("{yaml}: {problems}"))
        )
    };
    let agent = |more: &str| format!("agents: {{a: {{script: [], {more}}}}}\n");
    let plain = shown(&agent(""));
    let mut seen = 0;
    let sections = [
        "store",
        "limits",
        "cors",
        "retention",
        "push",
        "shutdown",
        "log",
    ];
    let owners = std::iter::once((String::new(), &schema["properties"]))
        .chain(sections.iter().map(|section| {
            let mut name = (*section).to_owned();
            name[..1].make_ascii_uppercase();
            ((*section).to_owned(), &schema["$defs"][name]["properties"])
        }))
        .chain([
            ("agent".to_owned(), &schema["$defs"]["Agent"]["properties"]),
            (
                "timeouts".to_owned(),
                &schema["$defs"]["Timeouts"]["properties"],
            ),
        ]);
    for (owner, properties) in owners {
        for (key, property) in properties.as_object().unwrap() {
            let Some(default) = property.get("default") else {
                continue;
            };
            seen += 1;
            let yaml = match owner.as_str() {
                "" => format!("{key}: {default}\n{}", agent("")),
                "agent" => agent(&format!("{key}: {default}")),
                "timeouts" => agent(&format!("timeouts: {{{key}: {default}}}")),
                section => format!("{section}: {{{key}: {default}}}\n{}", agent("")),
            };
            assert_eq!(shown(&yaml), plain, "{owner}.{key}");
        }
    }
    assert!(seen >= 30, "only {seen} defaults are promised");
}
