//! The page at `/` for people: the agents that the caller may know of, their cards, and commands to copy. It needs no
//! script and loads nothing. The console is to replace it. `read` calls it for requests that accept HTML.

use std::fmt::Write;

use hyper::Response;
use hyper::header::{
    ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;

use super::Service;
use super::catalog::{self, Entry};
use crate::http::Body;
use crate::net::Peer;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Nothing is loaded and nothing is run, whatever a card says; the styles of the page itself are the exception.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}\
h2{margin:2rem 0 0}h3{margin:1.5rem 0 0}p{margin:.25rem 0}\
pre{padding:.6rem .8rem;border:1px solid #8886;border-radius:.4rem;overflow-x:auto;user-select:all}";

/// Whether a request is a browser's: it names HTML among what it accepts. Programs that take anything do not.
pub(super) fn is_wanted(head: &Parts) -> bool {
    let is_html = |range: &str| {
        let mut parameters = range.split(';').map(str::trim);
        parameters
            .next()
            .is_some_and(|media| media.eq_ignore_ascii_case("text/html"))
            && parameters.all(|parameter| weight(parameter) != Some(0.0))
    };
    let accepted = head.headers.get_all(ACCEPT).into_iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(is_html))
}

/// The weight that a parameter of a media range is, if it is one (RFC 9110 §12.4.2).
fn weight(parameter: &str) -> Option<f32> {
    let (name, value) = parameter.split_once('=')?;
    match name.trim().eq_ignore_ascii_case("q") {
        true => value.trim().parse().ok(),
        false => None,
    }
}

/// What is served at `/` depends on `Accept`, the page as well as the card.
pub(super) fn vary_by_accept(response: &mut Response<Body>) {
    response
        .headers_mut()
        .append(VARY, HeaderValue::from_static("Accept"));
}

/// The page.
pub(super) async fn answer(service: &Service, head: &Parts, peer: &Peer) -> Response<Body> {
    let default = service.directory.find(None);
    let default = default.as_ref().map(|listing| &*listing.name);
    let has_agents = !service.directory.list().is_empty();
    let render =
        |base: &str, entries: &[Entry]| page(base, entries, default, has_agents).into_bytes();
    let mut response = catalog::answer(service, head, peer, render).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HTML);
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    vary_by_accept(&mut response);
    response
}

/// Writing to a String cannot fail, so the results are dropped.
fn page(base: &str, entries: &[Entry], default: Option<&str>, has_agents: bool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut html = String::with_capacity(2048 + 512 * entries.len());
    _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Switchboard</title><style>{STYLE}</style></head><body>\n\
         <h1>Switchboard</h1>\n<p>Durable A2A gateway, version {version}, at {base}</p>\n<h2>Agents</h2>\n",
        base = escaped(base),
    );
    if entries.is_empty() {
        html.push_str(match has_agents {
            true => {
                "<p>No agents are visible to you: those of this server are listed only for callers with credentials \
                 that may use them.</p>\n"
            }
            false => "<p>This server has no agents.</p>\n",
        });
    }
    for entry in entries {
        agent(&mut html, entry);
    }
    let first = entries.iter().find(|entry| Some(&*entry.name) == default);
    if let Some(entry) = first.or(entries.first()) {
        with_curl(&mut html, entry);
    }
    html.push_str(
        "<h2>For programs</h2>\n<p><a href=\"agents\">agents</a> (JSON), \
         <a href=\".well-known/ai-catalog.json\">AI catalog</a>, <a href=\"readyz\">readiness</a></p>\n\
         </body></html>\n",
    );
    html
}

fn agent(html: &mut String, entry: &Entry) {
    let schemes: Vec<&str> = entry.card.security_schemes.keys().map(|k| &**k).collect();
    let needs = match schemes.is_empty() {
        true => String::new(),
        false => format!(", authentication: {}", escaped(&schemes.join(", "))),
    };
    let send = format!("switchboard send -a {} 'hello there'", quoted(&entry.url));
    _ = write!(
        html,
        "<h3>{name}</h3>\n<p>{description}</p>\n<p><a href=\"{card}\">agent card</a>{needs}</p>\n\
         <pre>{send}</pre>\n",
        name = escaped(&entry.name),
        description = escaped(&entry.card.description),
        card = escaped(&entry.card_url()),
        send = escaped(&send),
    );
}

fn with_curl(html: &mut String, entry: &Entry) {
    let message =
        r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hello there"}]}}"#;
    let call = |method: &str, flag: &str| {
        let url = quoted(&format!("{}/{method}", entry.url));
        format!("curl {flag} {url} -H 'A2A-Version: 1.0' --json '{message}'")
    };
    _ = write!(
        html,
        "<h2>With curl</h2>\n<p>Send a message, and stream the events of one:</p>\n\
         <pre>{send}</pre>\n<pre>{stream}</pre>\n",
        send = escaped(&call("message:send", "-s")),
        stream = escaped(&call("message:stream", "-sN")),
    );
}

/// Text as HTML, in content and in quoted attributes.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

/// A URL as a word of a shell. It begins with what the caller says our host is, so it may be anything.
fn quoted(url: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match url.chars().all(plain) {
        true => url.to_owned(),
        false => format!("'{}'", url.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn only_a_request_that_accepts_html_gets_the_page() {
        for (accept, wanted) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("application/json, Text/HTML; q=0.3", true),
            ("*/*", false),
            ("application/json", false),
            ("text/html;q=0", false),
            ("text/html; q=0.000, */*", false),
            ("text/html;q=0.0", false),
            ("text/html;Q=0.00", false),
            ("text/html;q=0.001", true),
            ("text/html;level=1;q=1", true),
            ("text/plain", false),
        ] {
            let request = Request::builder().header(ACCEPT, accept);
            let (head, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(is_wanted(&head), wanted, "{accept}");
        }
        let (head, ()) = Request::new(()).into_parts();
        assert!(!is_wanted(&head));
    }

    #[test]
    fn a_page_without_agents_says_why_it_has_none() {
        let page = |has_agents| super::page("http://h", &[], None, has_agents);
        assert!(page(false).contains("This server has no agents."));
        assert!(page(true).contains("No agents are visible to you"));
    }

    #[test]
    fn escapes_html_and_quotes_urls_for_the_shell() {
        assert_eq!(
            escaped("<b>\"&'</b>"),
            "&lt;b&gt;&quot;&amp;&#39;&lt;/b&gt;"
        );
        assert_eq!(quoted("http://[::1]:7/a2a/x"), "'http://[::1]:7/a2a/x'");
        assert_eq!(quoted("http://a.example:7/a"), "http://a.example:7/a");
        assert_eq!(quoted("http://a';id;'/"), r"'http://a'\'';id;'\''/'");
    }
}
