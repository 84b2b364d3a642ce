//! Requests that are sent as they are.

use http::{HeaderMap, Method};
use switchboard_client::{Client, Raw};

use crate::support::House;

#[tokio::test]
async fn what_no_client_would_write_can_be_sent() {
    let house = House::open().await;
    let agent = Client::connect(house.base.as_str()).await.unwrap();
    let raw = Raw {
        method: Method::POST,
        url: agent.address().clone(),
        headers: HeaderMap::new(),
        body: "{oops".into(),
    };
    let answer = agent.exchange(raw).await.unwrap();
    let body = String::from_utf8_lossy(answer.body()).into_owned();
    assert!(body.contains("-32700"), "{body}");
    house.close().await;
}
