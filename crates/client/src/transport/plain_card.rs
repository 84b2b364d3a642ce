//! The extended card of 0.2: no call, but a plain GET beside the address of the agent (A2A 0.2.6 §7.10).

use http::Method as Verb;
use switchboard_types::operation::{Method, Response};
use switchboard_types::wire::decode_response;
use switchboard_types::{Error as Answered, ErrorKind};
use url::Url;

use super::http::Outgoing;
use super::jsonrpc::Head;
use super::link::Link;
use crate::error::Error;
use crate::options::CallOptions;

const PATH: &str = "agent/authenticatedExtendedCard";

/// Where the card may be: `{url}/../` as the specification has it, and below the address, where some have it.
fn places(url: &Url) -> Vec<Url> {
    let base = url.path().trim_end_matches('/');
    let mut places: Vec<Url> = Vec::new();
    for path in [format!("{base}/../{PATH}"), format!("{base}/{PATH}")] {
        let mut place = url.clone();
        place.set_path(&path);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Reads the card, with the credentials of the agent.
pub(super) async fn get(link: &Link, options: &CallOptions) -> Result<Response, Error> {
    let deadline = link.deadline(options);
    for place in places(&link.url) {
        let out = Outgoing::new(Verb::GET, place);
        let opened = link.open(out, options, deadline).await?;
        let head = Head::of(&opened);
        let body = opened.read(link.shared.limits.card, deadline).await?;
        if head.status == 404 {
            continue;
        }
        if !head.is_good() {
            return Err(head.refusal(link.dialect, &body));
        }
        let text = String::from_utf8_lossy(&body);
        let response = decode_response(link.dialect, Method::ExtendedCard, &text);
        return response.map_err(|error| Error::unintelligible(error).with_status(head.status));
    }
    let message = "the agent has no extended card where 0.2 keeps it";
    let error = Answered::new(ErrorKind::ExtendedAgentCardNotConfigured, message);
    Err(Error::answered(error).with_status(404))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_is_beside_the_address_or_below_it() {
        for (url, expected) in [
            (
                "http://h/a2a/echo/",
                vec![
                    "http://h/a2a/agent/authenticatedExtendedCard",
                    "http://h/a2a/echo/agent/authenticatedExtendedCard",
                ],
            ),
            (
                "http://h/",
                vec!["http://h/agent/authenticatedExtendedCard"],
            ),
        ] {
            let found = places(&Url::parse(url).unwrap());
            let found: Vec<&str> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected);
        }
    }
}
