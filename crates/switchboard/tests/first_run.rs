//! The first minutes with the binary: what it prints, the page at `/`, errors of a start, and hints for common mistakes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::net::TcpListener;
use std::process::{Command, Output};

use reqwest::header::{ACCEPT, CONTENT_TYPE, VARY};
use switchboard_testkit::{Server, answer};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Runs a command to its end in an empty home directory.
fn run(dir: &tempfile::TempDir, args: &[&str]) -> Output {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(args).current_dir(dir.path()).env_clear();
    command.env("HOME", dir.path()).env("PATH", path);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The last line of a start that fails with exit code 1.
fn refused(dir: &tempfile::TempDir, args: &[&str]) -> String {
    let output = run(dir, args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_start_that_fails_says_why_in_one_sentence_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_eq!(
        refused(&dir, &["up", "--memory", "--listen", &address]),
        format!(
            "error: cannot listen on {address}: another process uses this address; \
             stop it, or choose another port with --listen"
        )
    );
    let up = ["up", "--listen", "0", "--data"];
    let data = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(data("file"), "").unwrap();
    let said = refused(&dir, &[&up[..], &[&data("file/below")]].concat());
    let start = format!("error: cannot use {}: ", data("file/below"));
    assert!(said.starts_with(&start), "{said}");
    assert!(
        said.ends_with("choose another data directory with --data"),
        "{said}"
    );
    std::fs::create_dir(data("newer")).unwrap();
    let newer = rusqlite::Connection::open(data("newer/switchboard.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let said = refused(&dir, &[&up[..], &[&data("newer")]].concat());
    let start = format!(
        "error: cannot open the store in {}: the database has format 99",
        data("newer")
    );
    assert!(said.starts_with(&start), "{said}");
    let end = "use the newer version that wrote it, or another data directory";
    assert!(said.ends_with(end), "{said}");
    std::fs::create_dir(data("foreign")).unwrap();
    std::fs::write(
        data("foreign/switchboard.db"),
        "not a database\n".repeat(99),
    )
    .unwrap();
    let said = refused(&dir, &[&up[..], &[&data("foreign")]].concat());
    assert!(said.contains("file is not a database; see `switchboard store check"));
}

#[tokio::test]
async fn a_browser_gets_a_page_with_agents_cards_and_commands() {
    let server = Server::up().await;
    let page = answer(server.http.get(server.url("/")).header(ACCEPT, BROWSER)).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.headers[CONTENT_TYPE], "text/html; charset=utf-8");
    let html = page.body.as_str().unwrap();
    for agent in ["echo", "research", "approver", "flaky", "desk"] {
        let card = server.url(&format!("/a2a/{agent}/.well-known/agent-card.json"));
        assert!(html.contains(&format!("<a href=\"{card}\">")), "{html}");
        let url = server.url(&format!("/a2a/{agent}"));
        let send = format!("<pre>switchboard send -a {url} &#39;hello there&#39;</pre>");
        assert!(html.contains(&send), "{html}");
    }
    assert!(html.contains("<pre>curl -s "), "{html}");
    assert!(!html.contains("<script"), "{html}");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let head = server.http.head(server.url("/")).header(ACCEPT, BROWSER);
    let head = answer(head).await;
    assert_eq!((head.status, &head.body), (200, &"".into()));
    assert_eq!(head.headers[CONTENT_TYPE], "text/html; charset=utf-8");
    let put = answer(server.http.put(server.url("/")).header(ACCEPT, BROWSER)).await;
    assert_eq!(put.status, 405);
    let why = put.body["error"]["message"].as_str().unwrap();
    assert!(why.starts_with("this path supports GET, HEAD, POST"));
    // Programs get the card of the default agent.
    let card = server.get("/").await;
    assert_eq!(card.body["name"], "Echo");
    let vary: Vec<_> = card.headers.get_all(VARY).iter().collect();
    assert!(vary.iter().any(|value| *value == "Accept"), "{vary:?}");
}

const HIDDEN: &str = r#"
auth: { methods: { keys: { api_key: {} } }, require: [none] }
agents:
  open: { auth: none, description: "<script>alert('&')</script>", script: [{ complete: hello }] }
  cellar: { visible: false, auth: [keys], script: [{ complete: hello }] }
"#;

#[tokio::test]
async fn the_page_and_errors_name_no_hidden_agent_and_escape_cards() {
    let server = Server::serve(HIDDEN).await;
    let page = answer(server.http.get(server.url("/")).header(ACCEPT, BROWSER)).await;
    let html = page.body.as_str().unwrap();
    assert!(!html.contains("cellar") && !html.contains("<script"));
    assert!(html.contains("&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"));
    for name in ["opne", "cellar"] {
        let missed = server.get(&format!("/a2a/{name}/tasks")).await;
        assert_eq!(missed.status, 404);
        let said = missed.body["error"]["message"].as_str().unwrap();
        let wanted = format!("no agent named {name:?}; the agents are open");
        assert!(said.contains(&wanted), "{said}");
        let card = format!("/a2a/{name}/.well-known/agent-card.json");
        let said = server.get(&card).await.body["message"].clone();
        assert!(said.as_str().unwrap().contains(&wanted), "{said}");
    }
    // `serve` prints each agent with its address.
    let address = server.url("/a2a/open");
    let said = server.said();
    assert!(
        said.contains(&format!("  agents    open    {address}\n")),
        "{said}"
    );
}

#[tokio::test]
async fn an_error_about_an_unknown_agent_lists_a_few_names_only() {
    let agents: String = (10..40)
        .map(|n| format!("  a{n}: {{script: []}}\n"))
        .collect();
    let server = Server::serve(&format!("agents:\n{agents}")).await;
    let missed = server.get("/a2a/nobody/tasks").await;
    let said = missed.body["error"]["message"].as_str().unwrap();
    assert!(said.contains("a18, a19 and more, see /agents"), "{said}");
    assert!(!said.contains("a20"), "{said}");
}

#[test]
fn wrap_refuses_a_program_that_does_not_exist_and_check_warns() {
    let dir = tempfile::tempdir().unwrap();
    let wrapped = run(&dir, &["wrap", "--memory", "--exec", "--", "nosuchprogram"]);
    assert_eq!(wrapped.status.code(), Some(2), "{wrapped:?}");
    let said = text(&wrapped.stderr);
    assert!(said.contains("program not found: `nosuchprogram`"));
    assert!(said.contains("hint: install it, or write its whole path"));
    std::fs::write(dir.path().join("plain.py"), "print(1)\n").unwrap();
    let wrapped = run(&dir, &["wrap", "--memory", "--exec", "--", "./plain.py"]);
    let said = text(&wrapped.stderr);
    assert!(said.contains("plain.py is not executable"), "{said}");
    let yaml = "agents: {a: {exec: {command: [nosuchprogram]}}}\n";
    std::fs::write(dir.path().join("switchboard.yaml"), yaml).unwrap();
    let checked = run(&dir, &["check"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let said = text(&checked.stderr);
    assert!(said.starts_with("warning: "), "{said}");
}

#[test]
fn keys_of_other_programs_are_hinted_at() {
    let dir = tempfile::tempdir().unwrap();
    for (yaml, hint) in [
        (
            "port: 80\nagents: {a: {script: []}}\n",
            "did you mean `listen`, such as",
        ),
        (
            "agents: {a: {openai: {base_url: 'http://x/v1', model: m}}}\n",
            "did you mean `url`?",
        ),
        (
            "agents: {a: {openai: {url: 'http://x/v1', model: m, api_key: k}}}\n",
            "did you mean `key`, such as `key: ${NAME}`?",
        ),
        (
            "agents: {a: {exec: {command: [cat], cwd: /tmp}}}\n",
            "did you mean `directory`?",
        ),
        (
            "agents: {a: {exec: {command: [cat], env: {A: b}}}}\n",
            "did you mean `environment`",
        ),
    ] {
        std::fs::write(dir.path().join("switchboard.yaml"), yaml).unwrap();
        let checked = run(&dir, &["check"]);
        assert_eq!(checked.status.code(), Some(2), "{yaml}");
        let said = text(&checked.stderr);
        assert!(said.contains(&format!("  hint: {hint}")), "{yaml}{said}");
    }
}

#[tokio::test]
async fn send_repeats_with_an_idempotency_key_and_takes_the_flags_of_the_reference_tool() {
    let server = Server::up().await;
    let dir = tempfile::tempdir().unwrap();
    let (echo, flaky) = (server.url("/a2a/echo"), server.url("/a2a/flaky"));
    let send = |args: &[&str]| run(&dir, &[&["send", "-a", &echo][..], args].concat());
    let task = |output: &Output| {
        let said = text(&output.stdout);
        let line = said.lines().find_map(|line| line.strip_prefix("Task: "));
        line.unwrap_or_else(|| panic!("{output:?}")).to_owned()
    };
    let first = send(&["--idempotency-key", "order-1", "hello"]);
    let again = send(&["--idempotency-key", "order-1", "hello"]);
    assert_eq!(task(&first), task(&again));
    let other = send(&["--idempotency-key", "order-1", "other"]);
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    let first = send(&["--svc-param", "Idempotency-Key=order-2", "hello"]);
    let again = send(&["--svc-param", "idempotency-key:order-2", "hello"]);
    assert_eq!(task(&first), task(&again));
    let parts = send(&["--text-part", "one", "--data-part", r#"{"n":1}"#]);
    let said = text(&parts.stdout);
    assert!(
        said.contains("one\n") && said.contains("{\"n\":1}\n"),
        "{said}"
    );
    let card = run(&dir, &["card", "get", &echo]);
    assert!(text(&card.stdout).starts_with("Agent: Echo\n"), "{card:?}");
    let listed = run(&dir, &["task", "list", "-a", &echo, "--limit", "1"]);
    assert!(text(&listed.stdout).contains("Tasks: 1 of "), "{listed:?}");
    let version = send(&["--a2a-version", "2.0", "hello"]);
    let said = text(&version.stderr);
    let wanted =
        "--a2a-version: A2A \"2.0\" is not supported (A2ACLI_ERR_USAGE)\n  hint: give 1.0, or 0.3";
    assert!(said.contains(wanted), "{said}");
    // A failed task says why, on both outputs.
    let failed = run(&dir, &["send", "-a", &flaky, "fail"]);
    assert_eq!(failed.status.code(), Some(0));
    assert!(text(&failed.stdout).starts_with("Reason:\nfailed, as asked\n\nTask: "));
    let said = text(&failed.stderr);
    assert!(
        said.contains("warning: the task ended: failed: failed, as asked"),
        "{said}"
    );
    let got = run(&dir, &["task", "get", "-a", &flaky, &task(&failed)]);
    assert!(text(&got.stdout).starts_with("Reason:\nfailed, as asked\n\nTask: "));
    let nobody = run(&dir, &["send", "-a", &server.url("/a2a/nobody"), "hello"]);
    let said = text(&nobody.stderr);
    assert_eq!(
        said.matches("the agents are approver, desk, echo").count(),
        1,
        "{said}"
    );
}

#[tokio::test]
async fn an_untrusted_certificate_is_answered_with_a_hint_to_name_its_ca() {
    let server = Server::start(&["up", "--tls", "self-signed"], "").await;
    let dir = tempfile::tempdir().unwrap();
    let agent = server.url("/a2a/echo");
    let sent = run(&dir, &["send", "-a", &agent, "hello"]);
    assert_eq!(sent.status.code(), Some(3), "{sent:?}");
    let said = text(&sent.stderr);
    assert!(
        said.contains("name the CA that signed it with --ca FILE"),
        "{said}"
    );
    let said = server.said();
    let trusted = said.lines().find_map(|line| line.split_once(" --ca "));
    let (_, trusted) = trusted.unwrap_or_else(|| panic!("{said}"));
    let file = trusted.split(' ').next().unwrap();
    let sent = run(&dir, &["send", "--ca", file, "-a", &agent, "hello"]);
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
}
