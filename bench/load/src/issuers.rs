//! Two issuers of tokens, whose keys are had over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use switchboard_keys::{Algorithm, SigningKey, jwks};

/// The issuers, who answer as long as the process lasts.
pub struct Issuers {
    /// Where their keys are: below this, under their names.
    pub url: String,
    north: SigningKey,
    south: SigningKey,
}

impl Issuers {
    /// In a thread of its own: keys are asked for while the load waits for something else.
    pub fn start() -> anyhow::Result<Self> {
        let [north, south] = [
            SigningKey::generate(Algorithm::Es256)?,
            SigningKey::generate(Algorithm::Es256)?,
        ];
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let lists = [("north", jwks(&[&north])), ("south", jwks(&[&south]))];
        thread::Builder::new()
            .name("issuers".to_owned())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // Whoever goes away before the answer asks again.
                    drop(answer(stream, &lists));
                }
            })?;
        Ok(Self { url, north, south })
    }

    /// A token for an hour, which may make keys, of the first issuer or of the second one.
    pub fn token(&self, second: bool) -> anyhow::Result<String> {
        let (name, key) = match second {
            false => ("north", &self.north),
            true => ("south", &self.south),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let claims = json!({
            "iss": format!("https://{name}.example"), "aud": "bench", "sub": "load", "scope": "keys:create",
            "iat": now, "exp": now + 3600,
        });
        Ok(key.sign_compact("JWT", claims.to_string().as_bytes()))
    }
}

/// Answers one request with the keys that its path names.
fn answer(mut stream: TcpStream, lists: &[(&str, Vec<u8>)]) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            length => head.extend_from_slice(&piece[..length]),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let found = lists.iter().find(|(name, _)| path == format!("/{name}"));
    let (status, keys) = match found {
        Some((_, keys)) => ("200 OK", &keys[..]),
        None => ("404 Not Found", &b""[..]),
    };
    let length = keys.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(keys)
}
