//! A socket to a gateway: opened by an HTTP upgrade, and shaken hands over.

use std::fmt;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use http::StatusCode;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Client, Upgraded};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use url::Url;

use super::device::{CLIENT, Device, MODE, ROLE, SCOPES};
use super::frame::{self, Frame};
use super::refused::Refused;
use crate::fetch::chain;
use crate::upstream::root_cause;

/// How long each step of a handshake may take.
const STEP: Duration = Duration::from_secs(10);
/// How long a frame may take to be written.
const WRITE: Duration = Duration::from_secs(30);
/// The longest frame that is read: a gateway's own limit, and a little more.
const FRAME: usize = 26 << 20;

/// A socket.
pub(super) struct Socket(WebSocketStream<Upgraded>);

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Socket").finish()
    }
}

/// What a gateway says when it lets somebody in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello {
    /// The gateway's version.
    pub(super) version: String,
    /// Which life of the gateway this is. Those of 2026.2 do not tell.
    pub(super) boot: Option<String>,
    /// How often it shows that it is there.
    pub(super) tick: Duration,
}

impl Hello {
    fn read(payload: &Value) -> Result<Self, Refused> {
        let scopes = payload["auth"]["scopes"].as_array();
        let scopes = scopes.into_iter().flatten();
        let given: Vec<&str> = scopes.filter_map(Value::as_str).collect();
        // Gateways of 2026.2 do not tell whom they know well what they gave.
        let told = payload["auth"]["scopes"].is_array();
        if told && !SCOPES.iter().all(|scope| given.contains(scope)) {
            return Err(Refused::Rights);
        }
        let server = &payload["server"];
        let tick = payload["policy"]["tickIntervalMs"].as_u64();
        Ok(Self {
            version: server["version"].as_str().unwrap_or_default().to_owned(),
            boot: server["bootId"].as_str().map(str::to_owned),
            tick: Duration::from_millis(tick.unwrap_or(30_000).clamp(1000, 120_000)),
        })
    }
}

impl Socket {
    /// Opens one and shakes hands.
    pub(super) async fn open(
        http: &Client,
        url: &Url,
        token: &str,
        device: &Device,
    ) -> Result<(Self, Hello), Refused> {
        let mut socket = Self::upgrade(http, url).await?;
        let (nonce, at) = loop {
            match timeout(STEP, socket.read()).await {
                Ok(Ok(Frame::Challenge { nonce, at })) => break (nonce, at),
                Ok(Ok(_)) => {}
                Ok(Err(lost)) => return Err(Refused::Away(lost)),
                Err(_) => return Err(Refused::Away("it sends no challenge".to_owned())),
            }
        };
        let params = json!({
            "minProtocol": 3,
            "maxProtocol": 4,
            "client": {
                "id": CLIENT,
                "mode": MODE,
                "version": env!("CARGO_PKG_VERSION"),
                "platform": std::env::consts::OS,
                "displayName": "Switchboard",
            },
            "role": ROLE,
            "scopes": SCOPES,
            "caps": ["tool-events"],
            "auth": { "token": token },
            "device": device.signed(token, &nonce, at),
        });
        let sent = socket.write(0, "connect", &params).await;
        sent.map_err(Refused::Away)?;
        let answer = loop {
            match timeout(STEP, socket.read()).await {
                Ok(Ok(Frame::Answer(0, answer))) => break answer,
                Ok(Ok(_)) => {}
                Ok(Err(lost)) => return Err(Refused::Away(lost)),
                Err(_) => return Err(Refused::Away("it does not answer".to_owned())),
            }
        };
        let payload = answer.good().map_err(|fault| Refused::handshake(&fault))?;
        let hello = Hello::read(&payload)?;
        Ok((socket, hello))
    }

    async fn upgrade(http: &Client, url: &Url) -> Result<Self, Refused> {
        let key = generate_key();
        // No `Origin`: with one a gateway takes us for a browser.
        let request = http
            .get(url.clone())
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        let sent = timeout(STEP, request.send()).await;
        let sent = sent.map_err(|_| Refused::Away("it does not answer".to_owned()))?;
        let response = sent.map_err(|error| Refused::Away(root_cause(&error.without_url())))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let status = response.status();
            let soon = [
                StatusCode::SERVICE_UNAVAILABLE,
                StatusCode::TOO_MANY_REQUESTS,
            ];
            return Err(if soon.contains(&status) {
                Refused::Starting(None)
            } else {
                Refused::Upgrade(status.as_u16())
            });
        }
        let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
        if accepted.map(http::HeaderValue::as_bytes)
            != Some(derive_accept_key(key.as_bytes()).as_bytes())
        {
            return Err(Refused::Other("it does not speak WebSocket".to_owned()));
        }
        let upgraded = response.upgrade().await;
        let upgraded = upgraded.map_err(|error| Refused::Away(root_cause(&error.without_url())))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(FRAME))
            .max_frame_size(Some(FRAME));
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(Self(socket))
    }

    /// The next frame; or why there is none any more.
    pub(super) async fn read(&mut self) -> Result<Frame, String> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(frame::read(&text)),
                // Pings are answered by themselves, and show that it is there.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(Frame::Other),
                Some(Ok(Message::Close(Some(close)))) => {
                    return Err(format!("it closed the socket ({})", close.code));
                }
                Some(Ok(Message::Close(None))) | None => {
                    return Err("it closed the socket".to_owned());
                }
                Some(Ok(Message::Binary(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(error.to_string()),
            }
        }
    }

    /// Writes a request.
    pub(super) async fn write(
        &mut self,
        id: u64,
        method: &str,
        params: &Value,
    ) -> Result<(), String> {
        let text = frame::request(id, method, params);
        match timeout(WRITE, self.0.send(Message::text(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it reads nothing".to_owned()),
        }
    }

    /// Says goodbye.
    pub(super) async fn close(mut self) {
        drop(timeout(Duration::from_secs(1), self.0.close(None)).await);
    }
}

/// Why a request failed, without where it went.
pub(super) fn why(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_without_the_right_to_run_agents_is_none() {
        let hello = |scopes: Value| {
            Hello::read(&json!({
                "type": "hello-ok", "protocol": 4, "server": {"version": "2026.9.6", "bootId": "e67f"},
                "auth": {"role": "operator", "scopes": scopes}, "policy": {"tickIntervalMs": 30000},
            }))
        };
        let good = hello(json!(["operator.read", "operator.write"])).unwrap();
        let expected = Hello {
            version: "2026.9.6".to_owned(),
            boot: Some("e67f".to_owned()),
            tick: Duration::from_secs(30),
        };
        assert_eq!(good, expected);
        assert_eq!(hello(json!([])), Err(Refused::Rights));
        assert_eq!(hello(json!(["operator.read"])), Err(Refused::Rights));
        let old =
            Hello::read(&json!({"type": "hello-ok", "protocol": 3, "server": {"version": "dev"}}));
        assert_eq!(old.unwrap().boot, None);
    }
}
