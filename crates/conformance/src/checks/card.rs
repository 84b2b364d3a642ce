//! The card: is it there, is it whole, is it true.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use switchboard_types::model::Binding;
use url::{Host, Url};

use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Run, Verdict, fail, hold, unseen, weak};
use crate::discover::{Discovered, speaks};

pub(super) static CHECKS: [Check; 6] = [
    Check {
        id: "S-085",
        level: Must,
        clause: "§8.1, §14.3",
        title: "a complete agent card is published",
        hint: "serve the card at /.well-known/agent-card.json, with every required member set and no required list empty",
        run: Run::Card(published),
    },
    Check {
        id: "S-086",
        level: Must,
        clause: "§8.3.1",
        title: "every interface in the card has an absolute URL, a binding and a version",
        hint: "each entry of supportedInterfaces needs url, protocolBinding and protocolVersion; the preferred comes first",
        run: Run::Card(interfaces),
    },
    Check {
        id: "S-087",
        level: Must,
        clause: "§8.4.1",
        title: "signatures cover the canonical card",
        hint: "sign the card by RFC 8785, without its signatures",
        run: Run::Card(canonical),
    },
    Check {
        id: "S-088",
        level: Must,
        clause: "§8.4.2",
        title: "the protected header of a signature has alg and kid",
        hint: "put alg and kid into the protected header, and typ JOSE",
        run: Run::Card(signatures),
    },
    Check {
        id: "S-089",
        level: Should,
        clause: "§8.6.1",
        title: "the card can be cached",
        hint: "send Cache-Control with max-age, and an ETag",
        run: Run::Card(cacheable),
    },
    Check {
        id: "S-090",
        level: Should,
        clause: "§14.3",
        title: "the card is served over HTTPS and names no secrets",
        hint: "use https outside this machine; keep keys and passwords out of URLs",
        run: Run::Card(discreet),
    },
];

fn published(found: &Discovered) -> Found {
    let card = &found.raw;
    let wrong = |why: String| Err(fail(why, &found.exchange));
    for name in ["name", "description", "version"] {
        if !card[name].is_string() {
            return wrong(format!("{name} is missing"));
        }
    }
    if !card["capabilities"].is_object() {
        return wrong("capabilities is missing".to_owned());
    }
    for name in [
        "supportedInterfaces",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ] {
        match card[name].as_array() {
            None => return wrong(format!("{name} is missing")),
            Some(list) if list.is_empty() => return wrong(format!("{name} is empty")),
            Some(_) => {}
        }
    }
    for (at, skill) in card["skills"].as_array().into_iter().flatten().enumerate() {
        for name in ["id", "name", "description"] {
            if !skill[name].is_string() {
                return wrong(format!("skills[{at}].{name} is missing"));
            }
        }
        if skill["tags"].as_array().is_none_or(Vec::is_empty) {
            return wrong(format!("skills[{at}].tags is missing or empty"));
        }
    }
    as_json(found)?;
    match &found.url {
        None => Err(unseen(
            "the card was read from a file; whether it is published cannot be told",
        )),
        Some(url) if url.path().ends_with("/.well-known/agent-card.json") => Ok(()),
        Some(_) => Err(unseen(
            "the card is whole, but was not found at the well-known place",
        )),
    }
}

/// The card says that it is JSON: browsers and some clients look at that before they read it.
pub(super) fn as_json(found: &Discovered) -> Found {
    if found.url.is_none() {
        return Ok(());
    }
    let kind = found.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    Err(weak(
        format!("the Content-Type of the card is {kind:?}"),
        &found.exchange,
    )
    .hinting("serve the card as application/json"))
}

fn interfaces(found: &Discovered) -> Found {
    for (at, raw) in found.raw["supportedInterfaces"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        for name in ["url", "protocolBinding", "protocolVersion"] {
            let there = raw[name].as_str().is_some_and(|text| !text.is_empty());
            hold(
                there,
                format!("supportedInterfaces[{at}].{name} is missing"),
                &found.exchange,
            )?;
        }
    }
    let mut weaker = None;
    for interface in &found.card.interfaces {
        match whole_address(found, &interface.url, interface.binding == Binding::Grpc) {
            Err(Verdict::Fail(fault)) if fault.only.is_some() => {
                weaker.get_or_insert(Verdict::Fail(fault));
            }
            other => other?,
        }
    }
    for raw in found.raw["supportedInterfaces"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let version = raw["protocolVersion"].as_str().unwrap_or_default();
        if speaks(version).is_some() && version.matches('.').count() > 1 {
            let why = format!("protocolVersion {version:?} has a patch number");
            weaker.get_or_insert(
                weak(why, &found.exchange).hinting("write major and minor only, as \"1.0\""),
            );
        }
    }
    weaker.map_or(Ok(()), Err)
}

/// An address of the card is a whole URL. Of gRPC the text after 1.0.1 wants host:port, but clients of the released
/// texts refuse a card that has it.
pub(super) fn whole_address(found: &Discovered, address: &str, grpc: bool) -> Found {
    let url = Url::parse(address).is_ok_and(|url| url.has_host());
    if address.contains("://") && url {
        return Ok(());
    }
    let why = format!("{address:?} is no absolute URL");
    if grpc && is_authority(address) {
        return Err(weak(format!("{why}, but host:port"), &found.exchange)
            .hinting("write the address of gRPC with its scheme, as https://host:port"));
    }
    Err(fail(why, &found.exchange)
        .hinting("write the whole URL of every interface, with its scheme and host"))
}

/// Whether an address is a host and a port.
fn is_authority(address: &str) -> bool {
    let port = address
        .rsplit_once(':')
        .map(|(host, port)| (host, port.parse::<u16>()));
    port.is_some_and(|(host, port)| !host.is_empty() && port.is_ok())
        && Url::parse(&format!("http://{address}")).is_ok_and(|url| url.path() == "/")
}

fn signed(found: &Discovered) -> Result<&Vec<Value>, Verdict> {
    let signatures = found.raw["signatures"]
        .as_array()
        .filter(|list| !list.is_empty());
    signatures.ok_or(Verdict::NotOffered("the card is not signed"))
}

fn canonical(found: &Discovered) -> Found {
    signed(found)?;
    Err(unseen("needs the key of the signer"))
}

fn signatures(found: &Discovered) -> Found {
    for (at, signature) in signed(found)?.iter().enumerate() {
        let protected = signature["protected"].as_str().unwrap_or_default();
        let bytes = URL_SAFE_NO_PAD
            .decode(protected.trim_end_matches('='))
            .unwrap_or_default();
        let header: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        for name in ["alg", "kid"] {
            let there = header[name].as_str().is_some_and(|text| !text.is_empty());
            hold(
                there,
                format!("signatures[{at}] has no {name} in its protected header"),
                &found.exchange,
            )?;
        }
        hold(
            header["alg"] != "none",
            format!("signatures[{at}] has alg none"),
            &found.exchange,
        )?;
        if header["typ"] != "JOSE" {
            return Err(weak(
                format!("signatures[{at}] has no typ JOSE"),
                &found.exchange,
            ));
        }
    }
    Ok(())
}

fn cacheable(found: &Discovered) -> Found {
    if found.url.is_none() {
        return Err(unseen("the card was read from a file"));
    }
    let header = |name: &str| {
        found
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let lasts = header("cache-control").is_some_and(|value| value.contains("max-age"));
    hold(
        lasts,
        "there is no Cache-Control with max-age",
        &found.exchange,
    )?;
    hold(
        header("etag").is_some(),
        "there is no ETag",
        &found.exchange,
    )
}

fn discreet(found: &Discovered) -> Found {
    let mut urls: Vec<&str> = found.card.interfaces.iter().map(|i| &*i.url).collect();
    urls.extend(found.url.as_ref().map(Url::as_str));
    for url in urls.into_iter().filter_map(|url| Url::parse(url).ok()) {
        hold(
            url.password().is_none(),
            "a URL in the card holds a password",
            &found.exchange,
        )?;
        if url.scheme() == "http" && !local(&url) {
            return Err(fail(format!("{url} is not encrypted"), &found.exchange));
        }
    }
    Ok(())
}

/// Whether an address is on this machine, where nothing need be encrypted.
pub(super) fn local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
