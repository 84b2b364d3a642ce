//! People find a page by the words they type: each question is in the title or the first section heading of exactly one
//! page. The index and the menu of the site have every page, by its title.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::pages::{self, Page};

/// What users search for, and the page that answers it.
const QUESTIONS: [(&str, &str); 46] = [
    ("rate limit per API key", "rate-limits"),
    ("JWT authentication", "authentication"),
    ("API keys", "authentication"),
    ("mTLS", "tls"),
    ("OAuth client credentials to an upstream", "upstream-auth"),
    ("forward the caller's token", "upstream-auth"),
    ("CORS", "cors"),
    ("behind nginx or Caddy", "reverse-proxy"),
    ("Docker", "deployment"),
    ("systemd", "deployment"),
    ("Kubernetes probes", "kubernetes"),
    ("Prometheus metrics", "observability"),
    ("OpenTelemetry tracing", "observability"),
    ("log format JSON", "logging"),
    ("access log", "logging"),
    ("why did my task fail", "observability"),
    ("list all tasks", "tasks"),
    ("retry policy", "retries"),
    ("timeouts", "retries"),
    ("idempotency key", "idempotency"),
    ("webhook signature", "webhooks"),
    ("webhook retries", "webhooks"),
    ("dead letter", "webhooks"),
    ("resume a stream", "streaming"),
    ("Last-Event-ID", "streaming"),
    ("cancel a task", "tasks"),
    ("human in the loop", "human-in-the-loop"),
    ("input-required", "human-in-the-loop"),
    ("auth-required", "human-in-the-loop"),
    ("delegate to another agent", "routing"),
    ("loop protection", "routing"),
    ("budget tokens", "routing"),
    ("Ollama", "llm"),
    ("vLLM", "llm"),
    ("LangGraph", "langgraph"),
    ("OpenClaw", "openclaw"),
    ("google-adk", "remote-agents"),
    ("agent card URL behind a proxy", "reverse-proxy"),
    ("signed agent card", "signatures"),
    ("hot reload", "hot-reload"),
    ("backup and restore", "backup"),
    ("disk usage and retention", "storage"),
    ("A2A 0.3 versus 1.0", "versions"),
    ("gRPC", "grpc"),
    ("conformance test my agent", "conformance"),
    ("errors and codes", "errors"),
];

/// Questions that are found on a second page, too, and why.
const EXCEPTIONS: [(&str, &str); 1] = [
    // "Rate limit per API key" is a question of its own, and contains this one.
    ("API keys", "rate-limits"),
];

/// Words that nobody looks for.
const SMALL_WORDS: [&str; 7] = ["a", "an", "and", "or", "the", "to", "per"];

/// The pages for users, by name. Decision records, which are for contributors, may share words with them.
fn user_pages() -> Vec<(String, Page)> {
    let folder = crate::root().join("docs");
    let in_docs = |path: &PathBuf| path.parent() == Some(&folder);
    let named = pages::all(&crate::root()).into_iter().filter(in_docs);
    let named = named.map(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        (name.into_owned(), Page::read(&path))
    });
    named
        .filter(|(name, _)| name != "README" && name != "SUMMARY")
        .collect()
}

/// The words of a text, in lower case and without the ending of the plural.
fn words(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric() && !"-.'’".contains(c));
    words
        .map(|word| word.trim_matches(|c| "-.'’".contains(c)))
        .map(|word| word.strip_suffix('s').unwrap_or(word))
        .filter(|word| !word.is_empty() && !SMALL_WORDS.contains(word))
        .map(str::to_owned)
        .collect()
}

fn holds(heading: &str, question: &str) -> bool {
    words(question).is_subset(&words(heading))
}

#[test]
fn every_question_is_in_the_title_or_first_heading_of_exactly_the_right_page() {
    let mut found = BTreeSet::new();
    for (name, page) in user_pages() {
        let first = page.headings(2).into_iter().take(1);
        for heading in page.headings(1).into_iter().chain(first) {
            let questions = QUESTIONS.iter().map(|(question, _)| *question);
            let held = questions.filter(|question| holds(&heading, question));
            found.extend(held.map(|question| (question, name.clone())));
        }
    }
    let right = QUESTIONS.iter().chain(&EXCEPTIONS);
    let right: BTreeSet<_> = right.map(|(q, page)| (*q, (*page).to_owned())).collect();
    let missing: Vec<_> = right.difference(&found).collect();
    let surplus: Vec<_> = found.difference(&right).collect();
    assert!(
        missing.is_empty(),
        "not in title or first heading: {missing:?}"
    );
    assert!(surplus.is_empty(), "also on a wrong page: {surplus:?}");
}

#[test]
fn words_are_compared_without_case_plural_and_small_words() {
    for (heading, question, found) in [
        ("Rate limits per API key", "rate limit per api keys", true),
        (
            "Streaming: resume a stream with Last-Event-ID",
            "last-event-id",
            true,
        ),
        ("Webhooks: signature, retries", "webhook signature", true),
        ("A2A versions: 0.3 versus 1.0", "A2A 0.3 versus 1.0", true),
        ("API keys", "rate limit per API key", false),
        ("Tokenizer", "token", false),
    ] {
        assert_eq!(holds(heading, question), found, "{question} in {heading}");
    }
}

/// One title each, which is what the menu of the site calls the page; the index has every page, too.
#[test]
fn the_menu_and_the_index_have_every_page() {
    let docs = crate::root().join("docs");
    let menu = Page::read(&docs.join("SUMMARY.md"));
    let index = Page::read(&docs.join("README.md"));
    for (name, page) in user_pages() {
        let titles = page.headings(1);
        assert_eq!(titles.len(), 1, "docs/{name}.md has the titles {titles:?}");
        let entry = format!("- [{}]({name}.md)", titles[0]);
        assert!(
            menu.text().contains(&entry),
            "docs/SUMMARY.md needs {entry}"
        );
        let linked = index.links().contains(&format!("{name}.md"));
        assert!(linked, "docs/README.md does not link to {name}.md");
    }
    let groups = [
        "Start",
        "Connect agents",
        "Call agents",
        "Secure",
        "Operate",
        "Reference",
    ];
    assert_eq!(index.headings(2), groups);
    assert_eq!(menu.headings(1)[1..=groups.len()], groups);
}
