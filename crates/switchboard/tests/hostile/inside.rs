//! Webhooks that point to where only the server can reach.

use serde_json::json;

use crate::wire::{Way, exchange, healthy};

/// Spellings of this machine, of networks that are nobody else's business, and of what clouds tell their machines.
const INSIDE: [&str; 29] = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://sub.localhost/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://[fd00:ec2::254]/",
    "http://user@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1%2f.example.com/",
    "file:///etc/passwd",
];

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_taken() {
    let server = crate::server("").await;
    for url in INSIDE {
        for way in Way::ALL {
            let mut params = way.good();
            let hook = json!({"url": url});
            params["configuration"] = match way.is_1_0() {
                true => json!({"taskPushNotificationConfig": hook}),
                false if matches!(way, Way::Rest03) => json!({"pushNotification": hook}),
                false => json!({"pushNotificationConfig": hook}),
            };
            let answer = exchange(&server, &way.send(&params.to_string())).await;
            let error = answer.error();
            assert_ne!(error.code, 0, "{way:?} {url}: {}", answer.text);
            assert!(
                error.reason == "INVALID_PARAMS",
                "{way:?} {url}: {}",
                answer.text
            );
        }
    }
    healthy(&server).await;
}
