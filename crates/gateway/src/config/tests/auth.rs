//! Who may call: what is right, what is wrong, and that no secret shows.

use std::time::Duration;

use switchboard_server::auth::method::{Algorithm, Declared};
use switchboard_types::model::OAuthFlow;

use super::{PARROT, Written};
use crate::config::{Config, Flags, Jwt, Keys, MethodKind};

const SECRET: &str = "a secret that nobody ever guesses";
const ENV: [(&str, &str); 3] = [
    ("JWT_SECRET", SECRET),
    ("SHORT", "too short"),
    ("EMPTY", ""),
];

fn load(yaml: &str) -> Config {
    let rest = if yaml.contains("agents:") { "" } else { PARROT };
    let written = Written::new(&format!("{yaml}{rest}"));
    written.load_with(&ENV, &Flags::default()).unwrap()
}

fn jwt(config: &Config) -> &Jwt {
    match &config.methods[0].kind {
        MethodKind::Jwt(jwt) => jwt,
        other => panic!("{other:?}"),
    }
}

fn ways(config: &Config) -> Vec<Vec<Vec<&str>>> {
    let agents = config.agents.iter();
    agents
        .map(|agent| {
            let ways = agent.access.iter();
            ways.map(|way| way.iter().map(AsRef::as_ref).collect())
                .collect()
        })
        .collect()
}

#[test]
fn a_secret_comes_from_the_environment_or_a_file() {
    for secret in ["secret: ${JWT_SECRET}", "secret: '${JWT_SECRET}'"] {
        let yaml = format!(
            "auth:\n  methods:\n    bearer:\n      jwt:\n        {secret}\n        audience: [a]\n"
        );
        let config = load(&yaml);
        let jwt = jwt(&config);
        assert!(matches!(jwt.keys, Keys::Secret(_)));
        assert_eq!(jwt.algorithms, [Algorithm::Hs256]);
        assert_eq!(jwt.claims.audiences, ["a"]);
        assert_eq!(jwt.claims.skew, Duration::from_secs(60));
        assert_eq!(jwt.claims.subject_claim, "sub");
        assert_eq!(jwt.declared, Declared::Bearer);
        assert_eq!(ways(&config), [[["bearer"]]]);
    }
    let written = Written::new(&format!(
        "auth:\n  methods:\n    bearer: {{jwt: {{secret_file: s, audience: [a]}}}}\n    ops: {{basic: {{users: \
         {{alice: {{password_file: p, scopes: [admin], tenant: corp}}}}}}}}\n{PARROT}"
    ));
    written.file("s", &format!("{SECRET}\n"));
    written.file("p", "open sesame\r\n");
    let config = written.load().unwrap();
    let MethodKind::Basic(users) = &config.methods[1].kind else {
        panic!("{config:?}")
    };
    assert_eq!(users[0].password.reveal(), "open sesame");
    assert_eq!(users[0].scopes, ["admin"]);
    assert_eq!(ways(&config), [[["bearer"], ["ops"]]]);
}

#[test]
fn a_secret_may_come_from_a_variable_of_its_own() {
    let written = Written::new(&format!(
        "auth: {{methods: {{bearer: {{jwt: {{audience: [a]}}}}}}}}\n{PARROT}"
    ));
    let env = [("SWITCHBOARD_AUTH__METHODS__BEARER__JWT__SECRET", SECRET)];
    let config = written.load_with(&env, &Flags::default()).unwrap();
    assert!(matches!(jwt(&config).keys, Keys::Secret(_)));
}

#[test]
fn no_secret_shows_when_a_configuration_is_shown() {
    let config = load(
        "auth: {methods: {bearer: {jwt: {secret: '${JWT_SECRET}', audience: [a]}}, ops: {basic: {users: {alice: \
         {password: '${JWT_SECRET}'}}}}}}\n",
    );
    let shown = format!("{config:?}");
    assert!(shown.contains("alice"));
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn an_issuer_is_kept_to_the_letter_and_declared_on_cards() {
    let config = load(
        "auth: {methods: {corp: {jwt: {issuer: 'https://login.example/', audience: [a, b], tenant_claim: tid, \
         scope_claim: roles, clock_skew: 5s}}}}\n",
    );
    let jwt = jwt(&config);
    assert!(matches!(&jwt.keys, Keys::Issuer(issuer) if issuer == "https://login.example/"));
    assert_eq!(jwt.claims.issuer.as_deref(), Some("https://login.example/"));
    assert_eq!(jwt.claims.tenant_claim.as_deref(), Some("tid"));
    assert_eq!(jwt.claims.skew, Duration::from_secs(5));
    let at = "https://login.example/.well-known/openid-configuration";
    assert_eq!(jwt.declared, Declared::OpenIdConnect(at.to_owned()));
    assert!(!jwt.algorithms.iter().any(|alg| alg.is_symmetric()));
}

#[test]
fn cards_may_say_something_else_of_tokens() {
    let declared = |declare: &str| {
        let yaml = format!(
            "auth: {{methods: {{corp: {{jwt: {{issuer: 'http://localhost:9', audience: [a], declare: {declare}}}}}}}}}\n"
        );
        jwt(&load(&yaml)).declared.clone()
    };
    assert_eq!(declared("bearer"), Declared::Bearer);
    let flow =
        declared("{client_credentials: {token_url: 'https://t.example', scopes: {read: to read}}}");
    let Declared::OAuth2(OAuthFlow::ClientCredentials {
        token_url, scopes, ..
    }) = flow
    else {
        panic!("{flow:?}")
    };
    assert_eq!(
        (token_url.as_str(), scopes["read"].as_str()),
        ("https://t.example", "to read")
    );
}

#[test]
fn agents_may_ask_for_something_else() {
    let config = load(
        "auth:\n  methods:\n    corp: {jwt: {jwks_url: 'https://a.example/keys', audience: [a]}}\n    ops: {basic: \
         {users: {alice: {password: '${JWT_SECRET}'}}}}\n  require: [[corp, ops], none]\nagents:\n  a: {script: \
         []}\n  b: {script: [], auth: none}\n  c: {script: [], auth: [corp, none]}\n  d: {script: [], auth: ops}\n",
    );
    assert_eq!(
        ways(&config),
        [
            vec![vec!["corp", "ops"], vec![]],
            vec![vec![]],
            vec![vec!["corp"], vec![]],
            vec![vec!["ops"]],
        ]
    );
}

#[test]
fn auth_none_by_flag_or_variable_opens_what_the_file_closes() {
    let written = Written::new(&format!(
        "auth: {{methods: {{corp: {{jwt: {{issuer: 'https://a.example', audience: [a]}}}}}}}}\n{PARROT}"
    ));
    let closed = written.load().unwrap();
    assert_eq!(ways(&closed), [[["corp"]]]);
    let flags = Flags {
        auth_none: true,
        ..Flags::default()
    };
    let nobody: [[[&str; 0]; 1]; 1] = [[[]]];
    assert_eq!(ways(&written.load_with(&[], &flags).unwrap()), nobody);
    let env = [("SWITCHBOARD_AUTH", "none")];
    let open = written.load_with(&env, &Flags::default()).unwrap();
    assert_eq!(ways(&open), nobody);
}

#[test]
fn beyond_this_machine_methods_are_enough() {
    let config = load(
        "listen: 0.0.0.0:7420\nauth: {methods: {corp: {jwt: {issuer: 'https://a.example', audience: [a]}}}}\n",
    );
    assert_eq!(ways(&config), [[["corp"]]]);
    assert_eq!(config.failed_logins.requests, 20);
}

/// What stands under `auth.methods`, and what is said about it.
const BAD: [(&str, &str); 25] = [
    (
        "bearer: {jwt: {secret: hunter2hunter2hunter2hunter2hunter2, audience: [a]}}",
        "3:20: auth.methods.bearer.jwt.secret: secrets must not be written in the file\n  hint: write `${NAME}`, or give \
         `secret_file`",
    ),
    (
        "bearer: {jwt: {secret: '${NONE:-hunter2hunter2hunter2hunter2hunter2}', audience: [a]}}",
        "3:20: auth.methods.bearer.jwt.secret: secrets must not be written in the file\n  hint: write `${NAME}`, or give \
         `secret_file`",
    ),
    (
        "bearer: {jwt: {secret: 'x${JWT_SECRET}', audience: [a]}}",
        "3:20: auth.methods.bearer.jwt.secret: secrets must not be written in the file\n  hint: write `${NAME}`, or give \
         `secret_file`",
    ),
    (
        "ops: {basic: {users: {alice: {password: hunter2}}}}",
        "3:35: auth.methods.ops.basic.users.alice.password: secrets must not be written in the file\n  hint: write \
         `${NAME}`, or give `password_file`",
    ),
    (
        "ops: {basic: {users: {alice: {scopes: [a]}}}}",
        "3:27: auth.methods.ops.basic.users.alice: there is no password\n  hint: add `password: ${NAME}` or \
         `password_file`",
    ),
    (
        "ops: {basic: {users: {}}}",
        "3:19: auth.methods.ops.basic.users: no users configured",
    ),
    (
        "ops: {basic: {users: {'a:b': {password: '${JWT_SECRET}'}}}}",
        "3:27: auth.methods.ops.basic.users.a:b: `a:b` cannot be the name of a user\n  hint: a name has no colon in it",
    ),
    (
        "bearer: {jwt: {secret: '${SHORT}', audience: [a]}}",
        "3:20: auth.methods.bearer.jwt.secret: a shared secret must have 32 bytes or more",
    ),
    (
        "bearer: {jwt: {secret_file: nowhere, audience: [a]}}",
        "3:20: auth.methods.bearer.jwt.secret_file: nowhere cannot be read: no such file or directory (os error 2)\n  \
         hint: the path is relative to the configuration file",
    ),
    (
        "bearer: {jwt: {secret: '${JWT_SECRET}'}}",
        "3:14: auth.methods.bearer.jwt.audience: tokens for other services would be accepted\n  hint: name the audience: \
         the value of `aud`",
    ),
    (
        "bearer: {jwt: {audience: [a]}}",
        "3:14: auth.methods.bearer.jwt: no key to verify tokens\n  hint: add `issuer`, `jwks_url`, \
         `jwks_file`, `secret` or `secret_file`",
    ),
    (
        "bearer: {jwt: {secret: '${JWT_SECRET}', jwks_url: 'https://a.example/k', audience: [a]}}",
        "3:45: auth.methods.bearer.jwt.jwks_url: `secret` and `jwks_url` are mutually exclusive\n  hint: keep one of \
         them",
    ),
    (
        "bearer: {jwt: {secret: '${JWT_SECRET}', audience: [a], algorithms: [HS256, RS256]}}",
        "3:80: auth.methods.bearer.jwt.algorithms[1]: `RS256` needs keys, but there is a secret",
    ),
    (
        "corp: {jwt: {issuer: 'https://a.example', audience: [a], algorithms: [HS256]}}",
        "3:75: auth.methods.corp.jwt.algorithms[0]: `HS256` needs a secret, but there are keys",
    ),
    (
        "corp: {jwt: {issuer: 'https://a.example', audience: [a], algorithms: [none]}}",
        "3:75: auth.methods.corp.jwt.algorithms[0]: there is no algorithm `none`\n  hint: use one of `HS256`, `HS384`, \
         `HS512`, `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `EdDSA`",
    ),
    (
        "corp: {jwt: {issuer: 'http://a.example', audience: [a]}}",
        "3:18: auth.methods.corp.jwt.issuer: keys cannot be fetched from `http://a.example`\n  hint: write an https \
         address, such as https://login.example.com",
    ),
    (
        "corp: {jwt: {issuer: me, audience: [a]}}",
        "3:18: auth.methods.corp.jwt.issuer: keys cannot be fetched from `me`\n  hint: write an https address, such \
         as https://login.example.com",
    ),
    (
        "corp: {jwt: {issuer: 'https://a.example', audience: [a], clock_skew: 1h}}",
        "3:62: auth.methods.corp.jwt.clock_skew: must be 10m at most",
    ),
    (
        "bearer: {jwt: {secret: '${JWT_SECRET}', audience: [a], declare: openid_connect}}",
        "3:60: auth.methods.bearer.jwt.declare: requires `issuer`\n  hint: add `issuer`",
    ),
    (
        "none: {jwt: {issuer: 'https://a.example', audience: [a]}}",
        "3:5: auth.methods.none: `none` cannot be the name of a method\n  hint: use letters, digits, `-`, `_` and \
         `.`, 64 at most, and not `none`",
    ),
    (
        "corp: {jwt: {secret: '${JWT_SECRET}', issuer: 'basic:ops', audience: [a]}}",
        "3:43: auth.methods.corp.jwt.issuer: cannot be distinguished from callers without an issuer\n  hint: name it by its \
         address, such as https://login.example.com",
    ),
    (
        "keys: {api_key: {max_lifetime: 0s}}",
        "3:22: auth.methods.keys.api_key.max_lifetime: must be longer than zero",
    ),
    (
        "keys: {api_key: {max_keys: 0}}",
        "3:22: auth.methods.keys.api_key.max_keys: must be at least 1",
    ),
    (
        "corp: {jwtt: {issuer: 'https://a.example'}}",
        "3:12: auth.methods.corp: unknown key `jwtt`\n  hint: did you mean `jwt`?",
    ),
    (
        "corp: {jwt: {isuer: 'https://a.example', audience: [a]}}",
        "3:18: auth.methods.corp.jwt: unknown key `isuer`\n  hint: did you mean `issuer`?",
    ),
];

#[test]
fn each_mistake_has_a_place_a_cause_and_a_way_out() {
    for (method, expected) in BAD {
        let written = Written::new(&format!("auth:\n  methods:\n    {method}\n{PARROT}"));
        let told = written.problems(&ENV);
        assert_eq!(told, format!("switchboard.yaml:{expected}"), "{method}");
    }
}

#[test]
fn methods_that_are_not_there_are_not_asked_for() {
    for (yaml, expected) in [
        (
            "auth:\n  methods: {keys: {jwt: {issuer: 'https://a.example', audience: [a]}}}\n  require: [kyes]\n",
            "3:13: auth.require[0]: unknown method `kyes`\n  hint: did you mean `keys`?",
        ),
        (
            "auth:\n  methods: {keys: {jwt: {issuer: 'https://a.example', audience: [a]}}}\n  require: []\n",
            "3:3: auth.require: must name a method\n  hint: write `none` if everyone may call",
        ),
        (
            "auth: {}\n",
            "1:1: auth: no methods configured\n  hint: name one under `methods:`, or write `auth: none`",
        ),
        (
            "agents:\n  a:\n    script: []\n    auth: [keys]\n",
            "4:12: agents.a.auth[0]: unknown method `keys`",
        ),
        (
            "limits: {failed_logins: {requests: 0}}\n",
            "1:26: limits.failed_logins.requests: must be at least 1",
        ),
    ] {
        let rest = if yaml.contains("agents:") { "" } else { PARROT };
        let written = Written::new(&format!("{yaml}{rest}"));
        let told = written.problems(&ENV);
        assert_eq!(told, format!("switchboard.yaml:{expected}"), "{yaml}");
    }
}
