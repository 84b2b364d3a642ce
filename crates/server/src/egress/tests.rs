//! Hostile URLs, hostile headers, hostile name servers.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::{any, prop_assert_eq, proptest};
use switchboard_types::model::{Authentication, PushConfig, Secret};

use super::{Allow, Blocked, Guard, Lookup};

fn config(url: &str) -> PushConfig {
    PushConfig {
        id: None,
        task_id: None,
        url: url.to_owned(),
        token: None,
        authentication: None,
    }
}

fn guard(allow: &[&str]) -> Guard {
    Guard::new(
        allow
            .iter()
            .map(|text| Allow::parse(text).unwrap())
            .collect(),
    )
}

fn refused(guard: &Guard, config: &PushConfig) -> Option<(&'static str, String)> {
    guard.check(config).err().map(|r| (r.field, r.reason))
}

#[test]
fn public_https_is_welcome() {
    for url in [
        "https://example.com/hook",
        "HTTPS://EXAMPLE.COM/hook?a=b&c=%20",
        "https://example.com:8443/",
        "https://example.com:443",
        "https://example.com.:8443/",
        "https://1.1.1.1/hook",
        "https://[2606:4700:4700::1111]/hook",
        "https://bücher.example/",
        "https://a.b.c.localhost.example.com/",
        "https://internal.example.com/",
    ] {
        assert_eq!(refused(&guard(&[]), &config(url)), None, "{url}");
    }
}

#[test]
fn hostile_urls_are_refused() {
    for url in [
        // No URL, or not one for us.
        "",
        "example.com/hook",
        "//example.com/hook",
        "/hook",
        "https:example.com",
        "https:/example.com",
        "https://",
        "https:///hook",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "unix:///var/run/docker.sock",
        // Read in two ways.
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://example.com@127.0.0.1/",
        "https://example.com\\@127.0.0.1/",
        "https://example.com/#fragment",
        "https://example.com#@127.0.0.1/",
        "https://example.com/\r\nHost: evil",
        "https://exam\tple.com/",
        "https://example.com/\u{0}",
        "https://example.com/\u{85}",
        " https://example.com/",
        "https://example.com/a b",
        // No TLS.
        "http://example.com/",
        "http://1.1.1.1/",
        // Ports that speak something else.
        "https://example.com:0/",
        "https://example.com:22/",
        "https://example.com:25/",
        "https://example.com:80/",
        "https://example.com:65536/",
        // Loopback in every spelling.
        "https://127.0.0.1/",
        "https://127.1/",
        "https://127.0.0.1./",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://%31%32%37.0.0.1/",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://0/",
        "https://0.0.0.0/",
        "https://[::1]/",
        "https://[::]/",
        "https://[0:0:0:0:0:0:0:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::127.0.0.1]/",
        "https://[64:ff9b::127.0.0.1]/",
        "https://[64:ff9b:1::127.0.0.1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:0:7f00:1::]/",
        "https://localhost/",
        "https://LOCALHOST:8443/",
        "https://localhost./",
        "https://a.localhost/",
        // Private, link-local, metadata, and the rest of the special ranges.
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.0.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://2852039166/",
        "https://[::ffff:169.254.169.254]/",
        "https://[fe80::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fd00:ec2::254]/",
        "https://[fc00::1]/",
        "https://[fdff::1]/",
        "https://[ff02::1]/",
        "https://[2001:db8::1]/",
        "https://192.0.2.1/",
        "https://198.18.0.1/",
        "https://224.0.0.1/",
        "https://240.0.0.1/",
        "https://255.255.255.255/",
        "https://168.63.129.16/",
        // Names that mean an inner host.
        "https://metadata.google.internal/",
        "https://metadata.google.internal./",
        "https://printer.local/",
        "https://router.home.arpa/",
        "https://intranet/",
        "https://kubernetes/",
    ] {
        let field = refused(&guard(&[]), &config(url)).map(|(field, _)| field);
        assert_eq!(field, Some("url"), "{url:?}");
    }
    let long = format!("https://example.com/{}", "a".repeat(2048));
    assert!(refused(&guard(&[]), &config(&long)).is_some());
}

proptest! {
    #[test]
    fn every_spelling_of_an_address_is_judged_alike(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        let public = super::not_public(address.into()).is_none();
        let [a, b, c, d] = address.octets();
        for host in [
            address.to_string(),
            format!("{bits}"),
            format!("{bits:#x}"),
            format!("0{bits:o}"),
            format!("{a:#x}.0{b:o}.{c}.{d}"),
            format!("{a}.{}", bits & 0xff_ffff),
            format!("[::ffff:{address}]"),
            format!("[64:ff9b::{address}]"),
        ] {
            let config = config(&format!("https://{host}/"));
            prop_assert_eq!(refused(&guard(&[]), &config).is_none(), public, "{}", host);
        }
    }
}

#[test]
fn reasons_do_not_quote_secrets() {
    let with_password = config("https://user:hunter2@example.com/");
    let (_, reason) = refused(&guard(&[]), &with_password).unwrap();
    assert!(!reason.contains("hunter2"), "{reason}");
    let token = PushConfig {
        token: Some(Secret::new("hunter2\r\nX-Evil: 1")),
        ..config("https://example.com/")
    };
    let (_, reason) = refused(&guard(&[]), &token).unwrap();
    assert!(!reason.contains("hunter2"), "{reason}");
}

#[test]
fn listed_targets_may_be_private_and_plain() {
    for (allow, url) in [
        ("localhost", "http://localhost:9000/hook"),
        ("127.0.0.1", "http://127.0.0.1:9000/hook"),
        ("127.0.0.1", "http://localhost:9000/hook"),
        ("127.0.0.0/8", "http://127.1/hook"),
        ("::1", "http://[::1]/hook"),
        ("::1", "https://localhost/hook"),
        ("10.0.0.0/8", "http://10.1.2.3/hook"),
        ("10.0.0.0/8", "http://[::ffff:10.1.2.3]/hook"),
        ("*.corp.internal", "http://hooks.corp.internal/hook"),
        ("kubernetes", "http://kubernetes:81/hook"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/hook"),
        ("example.com:80", "http://example.com/hook"),
        ("169.254.169.254", "http://169.254.169.254/"),
    ] {
        assert_eq!(
            refused(&guard(&[allow]), &config(url)),
            None,
            "{allow} {url}"
        );
    }
}

#[test]
fn an_exception_excepts_nothing_else() {
    for (allow, url) in [
        ("127.0.0.1", "http://127.0.0.2/"),
        ("127.0.0.1:9000", "http://127.0.0.1:9001/"),
        ("127.0.0.1:9000", "http://localhost:9001/"),
        ("10.0.0.0/8", "http://localhost/"),
        ("10.0.0.0/8", "http://hooks.example/"),
        ("hooks.example", "http://other.example/"),
        ("hooks.example", "http://a.hooks.example/"),
        ("*.example", "http://example.com/"),
        ("localhost", "http://127.0.0.1/"),
        ("localhost", "http://user@localhost/"),
        ("localhost", "ftp://localhost/"),
    ] {
        assert!(
            refused(&guard(&[allow]), &config(url)).is_some(),
            "{allow} {url}"
        );
    }
}

#[test]
fn secrets_must_fit_into_headers() {
    let with = |token: Option<&str>, scheme: &str, credentials: Option<&str>| PushConfig {
        token: token.map(Secret::new),
        authentication: Some(Authentication {
            scheme: scheme.to_owned(),
            credentials: credentials.map(Secret::new),
        }),
        ..config("https://example.com/")
    };
    let field = |config: &PushConfig| refused(&guard(&[]), config).map(|(field, _)| field);
    let max_token = "t".repeat(4096);
    let max_credentials = "c".repeat(8192);
    for fine in [
        with(None, "Bearer", None),
        with(Some("token"), "Bearer", Some("a.b-c_d~+/=")),
        with(Some("жетон"), "Basic", Some("dXNlcjpwYXNz")),
        with(Some(&max_token), "X-Custom!", Some(&max_credentials)),
    ] {
        assert_eq!(field(&fine), None, "{fine:?}");
    }
    for bad in [
        "a\r\nb",
        "a\nb",
        "a\0b",
        "a\u{7f}b",
        &format!("{max_token}t"),
    ] {
        assert_eq!(field(&with(Some(bad), "Bearer", None)), Some("token"));
    }
    for bad in [
        "",
        "Bearer x",
        "Bearer:",
        "Bea\r\nrer",
        "Bäarer",
        &"s".repeat(65),
    ] {
        assert_eq!(
            field(&with(None, bad, None)),
            Some("authentication.scheme"),
            "{bad:?}"
        );
    }
    for bad in ["x\r\nX-Evil: 1", "x\u{1}", &format!("{max_credentials}c")] {
        assert_eq!(
            field(&with(None, "Bearer", Some(bad))),
            Some("authentication.credentials")
        );
    }
}

fn answering(allow: &[&str], answers: &'static [&'static [&'static str]]) -> Guard {
    let asked = AtomicUsize::new(0);
    let lookup = Lookup::new(move |_name| {
        let nth = asked.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        let answer: Vec<IpAddr> = answers[nth].iter().map(|ip| ip.parse().unwrap()).collect();
        std::future::ready(Ok(answer))
    });
    let allow = allow.iter().map(|text| Allow::parse(text).unwrap());
    Guard::with_lookup(allow.collect(), lookup)
}

async fn resolved(guard: &Guard, name: &str, port: Option<u16>) -> Result<Vec<String>, Blocked> {
    let addresses = guard.resolve(name, port).await?;
    Ok(addresses.iter().map(|a| a.ip().to_string()).collect())
}

#[tokio::test]
async fn a_rebinding_name_gains_nothing() {
    let guard = answering(
        &[],
        &[&["93.184.216.34"], &["127.0.0.1"], &["169.254.169.254"]],
    );
    let first = resolved(&guard, "rebind.example", None).await;
    assert_eq!(first.unwrap(), ["93.184.216.34"]);
    let second = resolved(&guard, "rebind.example", None).await;
    assert_eq!(second, Err(Blocked::Address("loopback")));
    let third = resolved(&guard, "rebind.example", None).await;
    assert_eq!(third, Err(Blocked::Address("link-local")));
}

#[tokio::test]
async fn of_mixed_answers_only_the_public_ones_remain() {
    let guard = answering(
        &[],
        &[&[
            "10.0.0.1",
            "93.184.216.34",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b::808:808",
            "2606:4700::1",
        ]],
    );
    let left = resolved(&guard, "mixed.example", None).await.unwrap();
    assert_eq!(left, ["93.184.216.34", "64:ff9b::808:808", "2606:4700::1"]);
}

#[tokio::test]
async fn mapped_forms_of_inner_addresses_are_refused() {
    for answer in [
        &["::ffff:10.0.0.1"],
        &["::10.0.0.1"],
        &["64:ff9b::a00:1"],
        &["2002:a00:1::"],
        &["2001:0:a00:1::"],
    ] {
        let address: IpAddr = answer[0].parse().unwrap();
        let guard = Guard::with_lookup(
            Vec::new(),
            Lookup::new(move |_| std::future::ready(Ok(vec![address]))),
        );
        let outcome = resolved(&guard, "mapped.example", None).await;
        assert!(matches!(outcome, Err(Blocked::Address(_))), "{answer:?}");
    }
}

#[tokio::test]
async fn a_listed_name_may_be_inside_but_not_just_anywhere() {
    let inside = answering(&["hooks.corp"], &[&["10.0.0.1", "127.0.0.1", "fd00::1"]]);
    assert_eq!(
        resolved(&inside, "hooks.corp", None).await.unwrap().len(),
        3
    );
    assert!(resolved(&inside, "other.corp", None).await.is_err());
    let metadata = answering(&["hooks.corp"], &[&["169.254.169.254"]]);
    assert_eq!(
        resolved(&metadata, "hooks.corp", None).await,
        Err(Blocked::Address("link-local"))
    );
}

#[tokio::test]
async fn a_listed_network_holds_for_every_name_on_its_port() {
    let guard = answering(&["10.0.0.0/8:9000"], &[&["10.0.0.1", "192.168.0.1"]]);
    let left = resolved(&guard, "any.example", Some(9000)).await.unwrap();
    assert_eq!(left, ["10.0.0.1"]);
    assert!(resolved(&guard, "any.example", Some(9001)).await.is_err());
    assert!(resolved(&guard, "any.example", None).await.is_err());
    assert_eq!(guard.ports(), [9000]);
}

#[tokio::test]
async fn a_name_without_addresses_is_said_so() {
    let none = answering(&[], &[&[]]);
    assert_eq!(
        resolved(&none, "no.example", None).await,
        Err(Blocked::Nameless)
    );
    let broken = Guard::with_lookup(
        Vec::new(),
        Lookup::new(|_| std::future::ready(Err(io::Error::other("no server")))),
    );
    assert_eq!(
        resolved(&broken, "no.example", None).await,
        Err(Blocked::Nameless)
    );
}
