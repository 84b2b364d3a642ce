//! Free JSON of a request nests only as deep as a rule can read it, however it got to its place in the model.

use switchboard_types::Dialect;
use switchboard_types::operation::{Method, Operation};
use switchboard_types::wire;

/// A request with an `inputRequest` of this many nested arrays.
fn send(levels: usize) -> String {
    let deep = "[".repeat(levels) + &"]".repeat(levels);
    format!(
        r#"{{"message":{{"kind":"message","messageId":"m","role":"user","metadata":{{"restricted":true}},
        "inputRequest":{deep},"parts":[{{"kind":"text","text":"x"}}]}}}}"#
    )
}

#[test]
fn an_input_request_counts_with_the_metadata_that_it_is_put_into() {
    let decode = |levels| {
        let text = send(levels);
        let params = serde_json::from_str(&text).unwrap();
        wire::decode_params(Dialect::V0Json, Method::Send, Some(params))
    };
    let Operation::Send(send) = decode(126).unwrap().operation else {
        panic!("not a message");
    };
    let metadata = send.message.metadata.unwrap();
    assert_eq!(metadata.get("restricted"), Some(true));
    let tree: Option<serde_json::Value> = metadata.as_json().read();
    assert!(tree.is_some_and(|tree| tree["inputRequest"].is_array()));
    let error = decode(127).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid params: message.inputRequest is nested deeper than 127 levels"
    );
}
