//! Agents that are right, in many ways: nothing is found. The whole checklist is put to each.

use futures_util::StreamExt;
use futures_util::stream::iter;

use super::agent::{Credentials, Traits};
use super::fault::Mutation;
use super::serve::serve;
use super::{CONCURRENCY, REST, REST_0_3, RPC, RPC_0_3};
use crate::{Ran, conformance};

/// What an agent offers, and flags that fit it.
type Variant = (&'static str, fn(&mut Traits), &'static [&'static str]);

const VARIANTS: [Variant; 13] = [
    ("everything", |_| {}, &[]),
    ("no streaming", |t| t.streaming = false, &[]),
    ("no push", |t| t.push = false, &[]),
    (
        "neither",
        |t| {
            t.streaming = false;
            t.push = false;
        },
        &[],
    ),
    ("messages only", |t| t.messages_only = true, &[]),
    (
        "optional credentials, not given",
        |t| t.credentials = Credentials::Optional,
        &[],
    ),
    (
        "optional credentials, given",
        |t| t.credentials = Credentials::Optional,
        &["--bearer", "right"],
    ),
    (
        "required credentials",
        |t| t.credentials = Credentials::Required,
        &["--bearer", "right"],
    ),
    (
        "an extended card",
        |t| t.extended_card = true,
        &["--bearer", "right"],
    ),
    (
        "an extension",
        |t| t.extension = Some(("urn:example:known", false)),
        &[],
    ),
    (
        "a required extension",
        |t| t.extension = Some(("urn:example:required", true)),
        &[],
    ),
    ("no cancels", |t| t.stubborn = true, &[]),
    (
        "no history, contexts of its own",
        |t| {
            t.forgetful = true;
            t.own_contexts = true;
        },
        &[],
    ),
];

async fn check(traits: Traits, more: &[&str]) -> Ran {
    let agent = serve(traits, Mutation::None).await;
    let mut args = vec!["-a", &agent.base, "-o", "json", "--timeout", "6s"];
    args.extend_from_slice(&["--long-message", "long", "--ask-message", "ask"]);
    args.extend_from_slice(more);
    conformance(&args).await
}

async fn nothing_is_found(interface: &'static str) {
    let runs = VARIANTS.iter().map(|(name, change, more)| async move {
        let mut traits = Traits::at(interface);
        change(&mut traits);
        let ran = check(traits, more).await;
        (*name, ran)
    });
    let all: Vec<(&str, Ran)> = iter(runs).buffer_unordered(CONCURRENCY).collect().await;
    for (name, ran) in all {
        assert_eq!(ran.with("fail"), [], "{name}");
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        assert!(ran.ids("pass").len() > 10, "{name}: {}", ran.out);
    }
}

#[tokio::test]
async fn nothing_is_found_where_json_rpc_is_right() {
    nothing_is_found(RPC).await;
}

#[tokio::test]
async fn nothing_is_found_where_http_json_is_right() {
    nothing_is_found(REST).await;
}

#[tokio::test]
async fn nothing_is_found_where_json_rpc_of_0_3_is_right() {
    nothing_is_found(RPC_0_3).await;
}

#[tokio::test]
async fn nothing_is_found_where_http_json_of_0_3_is_right() {
    nothing_is_found(REST_0_3).await;
}

/// Tasks are the same over both bindings.
#[tokio::test]
async fn nothing_is_found_where_two_bindings_are_right() {
    let mut traits = Traits::at(RPC);
    traits.interfaces.push(REST);
    let ran = check(traits, &["--only", "S-068"]).await;
    assert_eq!(ran.ids("pass"), ["S-068"], "{}", ran.out);
}

/// What the rules say of an agent that is right is not that they could not see.
#[tokio::test]
async fn nearly_every_rule_is_put_to_an_agent_that_offers_everything() {
    for (interface, others) in [
        (RPC, ["S-003", "S-095", "", ""]),
        (RPC_0_3, ["V03-012", "V03-037", "", ""]),
    ] {
        let mut traits = Traits::at(interface);
        traits.extended_card = true;
        traits.credentials = Credentials::Required;
        traits.extension = Some(("urn:example:required", true));
        let ran = check(traits, &["--bearer", "right"]).await;
        let unseen = ran.with("not seen");
        let unseen = unseen.iter().filter(|(_, place, _)| place == interface);
        for (id, _, why) in unseen {
            assert!(others.contains(&&**id), "{id}: {why}");
        }
    }
}
