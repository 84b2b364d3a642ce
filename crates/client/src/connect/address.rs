//! Where an interface really is: cards name internal hosts, wildcard addresses, relative URLs. Pure.

use switchboard_types::model::{Binding, Interface};
use url::{Host, Url};

use crate::error::{Error, Kind};

/// Whose host counts, where card and user name different ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Address {
    /// The card's.
    #[default]
    Card,
    /// The one the user gave: for agents behind a proxy they know nothing of.
    Given,
}

/// The URL of an interface. `given` is where the user found the agent, if it is known.
pub(crate) fn resolve(
    interface: &Interface,
    given: Option<&Url>,
    whose: Address,
) -> Result<Url, Error> {
    let said = interface.url.trim();
    let plain = given.is_none_or(|given| given.scheme() == "http");
    let parsed = match interface.binding {
        Binding::Grpc => Url::parse(&grpc_url(said, plain)),
        _ => Url::options().base_url(given).parse(said),
    };
    let mut url = parsed.map_err(|error| {
        Error::new(
            Kind::CardInvalid,
            format!("the card names {said:?}: {error}"),
        )
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        let message = format!("the card names {said:?}, which is no address over HTTP");
        return Err(Error::new(Kind::CardInvalid, message));
    }
    let anywhere = match url.host() {
        Some(Host::Ipv4(address)) => address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_unspecified(),
        _ => false,
    };
    match given {
        Some(given) if whose == Address::Given && interface.binding != Binding::Grpc => {
            let mut moved = given.clone();
            moved.set_path(url.path());
            moved.set_query(url.query());
            moved.set_fragment(None);
            url = moved;
        }
        // gRPC has a port of its own.
        Some(given) if anywhere || whose == Address::Given => {
            url.set_host(given.host_str())
                .map_err(|error| Error::new(Kind::CardInvalid, error.to_string()))?;
        }
        None if anywhere => {
            url.set_host(Some("127.0.0.1"))
                .map_err(|error| Error::new(Kind::CardInvalid, error.to_string()))?;
        }
        _ => {}
    }
    Ok(url)
}

/// `host:port` and the schemes that gRPC libraries know, as http or https.
fn grpc_url(said: &str, plain: bool) -> String {
    let rest = said
        .strip_prefix("dns:")
        .map(|rest| rest.trim_start_matches('/'));
    if let Some(rest) = said.strip_prefix("grpc://") {
        return format!("http://{rest}");
    }
    if let Some(rest) = said.strip_prefix("grpcs://") {
        return format!("https://{rest}");
    }
    if rest.is_none() && said.contains("://") {
        return said.to_owned();
    }
    let rest = rest.unwrap_or(said);
    let scheme = if plain && !rest.ends_with(":443") {
        "http"
    } else {
        "https"
    };
    format!("{scheme}://{rest}")
}

/// Whether the card sends us to another host than the user named: worth a hint when it cannot be reached.
pub(crate) fn differs(url: &Url, given: Option<&Url>) -> bool {
    given.is_some_and(|given| given.host() != url.host())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Binding, what the card says, what the user gave, whose counts; what comes of it.
    const TABLE: &str = "
        JSONRPC http://other/a2a http://me:1/ card http://other/a2a
        JSONRPC http://other:9/a2a?x=1 https://me:1/p given https://me:1/a2a?x=1
        JSONRPC http://0.0.0.0:9/a2a http://me:1/ card http://me:9/a2a
        JSONRPC http://[::]:9/a2a http://me:1/ card http://me:9/a2a
        JSONRPC http://0.0.0.0:9/a2a - card http://127.0.0.1:9/a2a
        JSONRPC /a2a/poet http://me:1/x card http://me:1/a2a/poet
        GRPC other:50051 http://me:1/ card http://other:50051/
        GRPC other:50051 https://me/ card https://other:50051/
        GRPC other:443 http://me/ card https://other/
        GRPC grpc://other:5 https://me/ card http://other:5/
        GRPC grpcs://other:5 http://me/ card https://other:5/
        GRPC dns:///other:5 http://me/ card http://other:5/
        GRPC http://other:5 http://me/ card http://other:5/
        GRPC 0.0.0.0:5 http://me:1/ card http://me:5/
        GRPC other:5 http://me:1/ given http://me:5/
    ";

    #[test]
    fn addresses_are_made_whole() {
        for row in TABLE.trim().lines() {
            let columns: Vec<&str> = row.split_whitespace().collect();
            let [binding, said, given, whose, expected] = columns[..] else {
                panic!("{row}");
            };
            let interface = Interface {
                url: said.to_owned(),
                binding: Binding::from_name(binding),
                version: "1.0".to_owned(),
                tenant: None,
            };
            let given = Url::parse(given).ok();
            let whose = match whose {
                "given" => Address::Given,
                _ => Address::Card,
            };
            let url = resolve(&interface, given.as_ref(), whose).unwrap();
            assert_eq!(url.as_str(), expected, "{row}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for said in ["/relative", "", "mailto:x@y", "ftp://h/p", "http://"] {
            let interface = Interface {
                url: said.to_owned(),
                binding: Binding::HttpJson,
                version: "1.0".to_owned(),
                tenant: None,
            };
            let error = resolve(&interface, None, Address::Card).unwrap_err();
            assert_eq!(error.kind(), Kind::CardInvalid, "{said}");
        }
    }
}
