//! What people get wrong, and what they are told: place, cause, way out.

use super::{PARROT, Written};

/// Each configuration with all that is said about it. `PARROT` is added where no agents configured.
const BAD: [(&str, &str); 49] = [
    (
        "lisen: 127.0.0.1:7420\n",
        "switchboard.yaml:1:1: unknown key `lisen`\n  hint: did you mean `listen`?",
    ),
    (
        "limits:\n  body: 10MiB\n  size: 5\n",
        "switchboard.yaml:3:3: limits: unknown key `size`",
    ),
    (
        "listen: everywhere\n",
        "switchboard.yaml:1:9: listen: `everywhere` is not an address to listen on: write an IP address and a \
         port, such as 127.0.0.1:7420 or 0.0.0.0:7420",
    ),
    (
        "public_url: agents.example.com\n",
        "switchboard.yaml:1:13: public_url: `agents.example.com` is not an absolute http or https URL: write \
         one, such as https://agents.example.com",
    ),
    (
        "listen: 0.0.0.0:7420\n",
        "switchboard.yaml:1:1: listen: 0.0.0.0:7420 can be reached from other machines, without \
         authentication\n  hint: write `auth: none` if everyone who can reach it may call the agents, or listen \
         on 127.0.0.1",
    ),
    (
        "auth: nobody\n",
        "switchboard.yaml:1:7: auth: unknown value `nobody`\n  hint: use `none`",
    ),
    (
        "trust_forwarded: [10.0.0.0/99]\n",
        "switchboard.yaml:1:19: trust_forwarded[0]: \"10.0.0.0/99\": the prefix must be 0 to 32",
    ),
    (
        "trust_forwarded: 10.0.0.0/8\n",
        "switchboard.yaml:1:18: trust_forwarded: expected a list, found `10.0.0.0/8`",
    ),
    (
        "default_agent: parot\n",
        "switchboard.yaml:1:1: default_agent: no agent named `parot`\n  hint: did you mean `parrot`?",
    ),
    (
        "agents:\n  parrot:\n    script: []\n  boss:\n    script:\n      - call: {agent: parot, text: hi}\n",
        "switchboard.yaml:5:5: agents.boss.script: calls `parot`, but there is no such agent\n  hint: did you mean \
         `parrot`?",
    ),
    (
        "agents:\n  a:\n    script:\n",
        "switchboard.yaml:2:3: agents.a: this agent has no backend\n  hint: add `script`, `script_file`, `a2a`, `openai`, `openclaw`, `exec` or `langgraph`",
    ),
    (
        "store: {kind: sqllite}\n",
        "switchboard.yaml:1:15: store.kind: unknown value `sqllite`\n  hint: did you mean `sqlite`?",
    ),
    (
        "store: sqlite\n",
        "switchboard.yaml:1:8: store: expected a mapping, found `sqlite`",
    ),
    (
        "limits: {answers: 63MiB}\n",
        "switchboard.yaml:1:10: limits.answers: must be at least 64MiB, so that several large tasks can be read at once",
    ),
    (
        "limits: {connections: 0}\n",
        "switchboard.yaml:1:10: limits.connections: must be at least 1",
    ),
    (
        "limits: {connections: many}\n",
        "switchboard.yaml:1:23: limits.connections: expected a whole number, found `many`",
    ),
    (
        "limits: {requests: 0}\n",
        "switchboard.yaml:1:10: limits.requests: must be at least 1",
    ),
    (
        "limits: {tasks: 0}\n",
        "switchboard.yaml:1:17: limits.tasks: `0` is not a valid number: write 1 or more, or `unlimited`",
    ),
    (
        "limits: {connections_per_address: some}\n",
        "switchboard.yaml:1:35: limits.connections_per_address: `some` is not a valid number: write 1 or more, or \
         `unlimited`",
    ),
    (
        "limits: {rate: {requests: 0, per: 60s}}\n",
        "switchboard.yaml:1:17: limits.rate.requests: must be at least 1",
    ),
    (
        "limits: {rate: {requests: 5, per: 0s}}\n",
        "switchboard.yaml:1:30: limits.rate.per: must be longer than zero",
    ),
    (
        "agents:\n  a:\n    script: []\n    limits: {rate: none}\n",
        "switchboard.yaml:4:20: agents.a.limits.rate: unknown value `none`\n  hint: use `unlimited`",
    ),
    (
        "agents:\n  a:\n    script: []\n    limits: {streams: 5}\n",
        "switchboard.yaml:4:14: agents.a.limits: unknown key `streams`\n  hint: use one of `rate`, `tasks`",
    ),
    (
        "cors: {origins: [app.example]}\n",
        "switchboard.yaml:1:18: cors.origins[0]: `app.example` is not an origin of web pages: write scheme, host and \
         port as browsers do, such as https://app.example",
    ),
    (
        "cors: {origins: ['https://app.example/page']}\n",
        "switchboard.yaml:1:18: cors.origins[0]: `https://app.example/page` must be only scheme, host and port: write scheme, \
         host and port as browsers do, such as https://app.example",
    ),
    (
        "auth: {methods: {keys: {api_key: {in: cookie}}}}\ncors: {origins: ['*']}\n",
        "switchboard.yaml:2:8: cors.origins: every web page could read responses of `keys`\n  hint: name the origins \
         instead of `*`",
    ),
    (
        "cors: {origins: ['*'], credentials: true}\n",
        "switchboard.yaml:1:24: cors.credentials: every web page could act for its visitor\n  hint: name the \
         origins instead of `*`, or leave credentials out",
    ),
    (
        "limits: {body_timeout: 0s}\n",
        "switchboard.yaml:1:10: limits.body_timeout: must be longer than zero",
    ),
    (
        "retention: {completed: forever}\n",
        "switchboard.yaml:1:24: retention.completed: `forever` is not a duration: write a number and a unit, \
         such as 500ms, 30s, 10m, 24h or 7d, or `unlimited`",
    ),
    (
        "push: {allow: ['http://localhost']}\n",
        "switchboard.yaml:1:16: push.allow[0]: `http://localhost` is a URL: write the host alone, such as localhost \
         or localhost:9000",
    ),
    (
        "log: {level: verbose}\n",
        "switchboard.yaml:1:7: `verbose` is not a log level\n  hint: write error, warn, info, debug or trace, or \
         directives such as info,switchboard=debug",
    ),
    (
        "listen: 7420\nlisten: 7421\n",
        "switchboard.yaml:2:1: the key `listen` is given twice",
    ),
    (
        "agents: {}\n",
        "switchboard.yaml:1:1: agents: no agents configured\n  hint: add one under `agents:`, or try `switchboard \
         up`, which brings its own",
    ),
    (
        "agents:\n  Echo:\n    script: []\n",
        "switchboard.yaml:2:3: agents.Echo: `Echo` cannot be the name of an agent\n  hint: use lower-case \
         letters, digits, `-`, `_` and `.`, a letter or digit first, 63 at most",
    ),
    (
        "agents:\n  tasks:\n    script: []\n",
        "switchboard.yaml:2:3: agents.tasks: `tasks` cannot be the name of an agent: addresses of Switchboard \
         begin with it\n  hint: choose another name",
    ),
    (
        "agents:\n  a:\n    title: A\n",
        "switchboard.yaml:2:3: agents.a: this agent has no backend\n  hint: add `script`, `script_file`, `a2a`, `openai`, `openclaw`, `exec` or `langgraph`",
    ),
    (
        "agents:\n  a:\n    script: []\n    script_file: a.yaml\n",
        "switchboard.yaml:4:5: agents.a.script_file: `script` and `script_file` are mutually exclusive\n  hint: \
         keep one of them",
    ),
    (
        "agents:\n  a:\n    script_file: a.yaml\n",
        "switchboard.yaml:3:5: agents.a.script_file: a.yaml cannot be read: no such file or directory (os error \
         2)\n  hint: the path is relative to the configuration file",
    ),
    (
        "agents:\n  a:\n    script:\n      - compleet: hello\n",
        "switchboard.yaml:4:9: agents.a.script[0]: unknown key `compleet`\n  hint: did you mean `complete`?",
    ),
    (
        "agents:\n  a:\n    script:\n      - say: {txt: hello}\n",
        "switchboard.yaml:4:15: agents.a.script[0].say: unknown key `txt`\n  hint: did you mean `text`?",
    ),
    (
        "agents:\n  a:\n    script: []\n    file_bytes: base46\n",
        "switchboard.yaml:4:17: agents.a.file_bytes: unknown value `base46`\n  hint: did you mean `base64`?",
    ),
    (
        "agents:\n  a:\n    script: []\n    streaming: yes please\n    card: 2.0\n",
        "switchboard.yaml:4:16: agents.a.streaming: expected `true` or `false`, found `yes please`\n\
         switchboard.yaml:5:11: agents.a.card: unknown value `2.0`\n  hint: did you mean `1.0`?",
    ),
    (
        "agents:\n  a:\n    script: []\n    skills:\n      - {id: x, description: one}\n      - {id: x, \
         description: two}\n      - {description: three}\n",
        "switchboard.yaml:6:10: agents.a.skills[1].id: there are two skills with the id `x`\n\
         switchboard.yaml:7:9: agents.a.skills[2]: the key `id` is missing",
    ),
    (
        "agents:\n  a:\n    script: []\n    skills: [{id: x, description: one}]\n    extended_card:\n      \
         skills: [{id: x, description: two}]\n",
        "switchboard.yaml:6:17: agents.a.extended_card.skills[0].id: the public card has a skill with the id `x` \
         too",
    ),
    (
        "agents:\n  a:\n    script: []\n    extensions: [{uri: mood}, {uri: 'urn:x'}, {uri: 'urn:x'}]\n    \
         input_modes: []\n",
        "switchboard.yaml:4:19: agents.a.extensions[0].uri: `mood` is not a URI\n  hint: write an absolute one, \
         such as https://example.com/ext/v1 or urn:x:y\n\
         switchboard.yaml:4:48: agents.a.extensions[2].uri: `urn:x` is given twice\n\
         switchboard.yaml:5:5: agents.a.input_modes: must name at least one media type, and no empty one\n  \
         hint: leave the key out for the default",
    ),
    (
        "agents:\n  a:\n    timeouts: {task: 0s}\n    script: []\n",
        "switchboard.yaml:3:16: agents.a.timeouts.task: must be longer than zero",
    ),
    (
        "listen: [\n",
        "switchboard.yaml:1:9: not valid YAML: unclosed bracket '['",
    ),
    (
        "listen: !secret x\n",
        "switchboard.yaml:1:17: the tag `!secret` means nothing here\n  hint: leave the tag out",
    ),
    (
        "listen: 7420\n---\nlisten: 7421\n",
        "switchboard.yaml:2:1: only one document can stand in a file",
    ),
];

#[test]
fn each_mistake_has_a_place_a_cause_and_a_way_out() {
    for (yaml, expected) in BAD {
        let rest = if yaml.contains("agents:") { "" } else { PARROT };
        let written = Written::new(&format!("{yaml}{rest}"));
        assert_eq!(written.problems(&[]), expected, "{yaml}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let yaml = "\
lisen: 1
store:
  kind: sqllite
agents:
  echo:
    on_disconect: keep
    timeouts:
      task: soon
      input: 300
    script:
      - complete: ${NOPE}
      - compleet: x
  v1:
    script: []
";
    let told = Written::new(yaml).problems(&[]);
    let places: Vec<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("switchboard.yaml:"))
        .filter_map(|line| line.split(": ").next())
        .collect();
    assert_eq!(
        places,
        ["1:1", "3:9", "6:5", "8:13", "9:14", "11:19", "12:9", "13:3"],
        "{told}"
    );
}

#[test]
fn a_part_that_could_not_be_read_causes_no_second_problem() {
    // Without its only step the script is not a script, without its script the agent not an agent.
    let yaml = "default_agent: a\nagents:\n  a:\n    script: {steps: []}\n";
    assert_eq!(
        Written::new(yaml).problems(&[]),
        "switchboard.yaml:4:13: agents.a.script: expected a list of steps, found a mapping"
    );
}

#[test]
fn mistakes_in_a_script_file_are_placed_there() {
    let written = Written::new("agents: {a: {script_file: a.yaml}}\n");
    written.file("a.yaml", "profile:\n  titel: A\nscript:\n  - wait: long\n");
    assert_eq!(
        written.problems(&[]),
        "a.yaml:2:3: profile: unknown key `titel`\n  hint: did you mean `title`?\n\
         a.yaml:4:11: script[0].wait: `long` is not a duration such as 300ms, 2s or 1m"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let written = Written::new("");
    std::fs::remove_file(written.dir.path().join("switchboard.yaml")).unwrap();
    assert_eq!(
        written.problems(&[]),
        "switchboard.yaml: cannot be read: no such file or directory (os error 2)"
    );
}

#[test]
fn aliases_cannot_blow_up_the_memory() {
    use std::fmt::Write as _;

    let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let item = format!("*a{}", n - 1);
        writeln!(yaml, "a{n}: &a{n} [{}]", [item.as_str(); 10].join(", ")).unwrap();
    }
    let told = Written::new(&yaml).problems(&[]);
    assert!(told.ends_with("aliases make this file too large"), "{told}");
}

#[test]
fn nesting_cannot_blow_up_the_stack() {
    let yaml = format!("a: {}{}\n", "[".repeat(200), "]".repeat(200));
    let told = Written::new(&yaml).problems(&[]);
    assert_eq!(told, "switchboard.yaml:1:68: nested deeper than 64 levels");
}
