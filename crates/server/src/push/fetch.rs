//! Fetches what a caller names by its URL, as carefully as webhooks are called: who asks us to read something must not
//! read by us what lies inside.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use tokio::time::timeout;

use super::deliver::{Clients, Settings};
use crate::egress::Guard;

/// How long it may take in all.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fetches files, from where its guard lets it.
#[derive(Debug)]
pub struct Fetcher {
    guard: Arc<Guard>,
    clients: Clients,
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// All of it.
    pub bytes: Bytes,
    /// What it is, if that was said.
    pub media_type: Option<String>,
}

impl Fetcher {
    /// Fetches from where `guard` lets webhooks point to: only public addresses over https, if it has no exceptions.
    #[must_use]
    pub fn new(guard: Guard) -> Self {
        let guard = Arc::new(guard);
        let settings = Settings {
            timeout: PATIENCE,
            ..Settings::default()
        };
        Self {
            clients: Clients::new(&guard, &settings),
            guard,
        }
    }

    /// Judges a URL from its text; nothing is resolved or called.
    ///
    /// # Errors
    ///
    /// Says why it may not be called.
    pub fn check(&self, url: &str) -> Result<(), String> {
        self.target(url).map(drop)
    }

    /// Fetches what is there, if it is no larger than `most` bytes. Nobody is followed elsewhere.
    ///
    /// # Errors
    ///
    /// Says why there is nothing.
    pub async fn fetch(&self, url: &str, most: usize) -> Result<Fetched, String> {
        let url = self.target(url)?;
        let read = timeout(PATIENCE, self.read(url, most)).await;
        read.unwrap_or_else(|_| Err("it takes too long".to_owned()))
    }

    fn target(&self, url: &str) -> Result<Url, String> {
        self.guard
            .target(url)
            .map_err(|why| format!("its URL {why}"))
    }

    async fn read(&self, url: Url, most: usize) -> Result<Fetched, String> {
        let too_large = || format!("it is larger than {most} bytes");
        let away = |error: reqwest::Error| {
            // A name that leads inside is one that cannot be reached: who asks learns nothing of what is there.
            tracing::info!(error = %error.without_url(), "could not fetch a file");
            "it cannot be reached".to_owned()
        };
        let client = self.clients.of(url.port_or_known_default());
        let client = client.map_err(away)?;
        let mut response = client.get(url).send().await.map_err(away)?;
        let status = response.status();
        if status.is_redirection() {
            return Err("it redirects, which is not followed: give the target URL".to_owned());
        }
        if !status.is_success() {
            return Err(format!("its server answers with {}", status.as_u16()));
        }
        let known = response.content_length();
        if known.is_some_and(|known| usize::try_from(known).map_or(true, |known| known > most)) {
            return Err(too_large());
        }
        let media_type = response
            .headers()
            .get(CONTENT_TYPE)
            .map(HeaderValue::to_str);
        let media_type = media_type.and_then(Result::ok).map(str::to_owned);
        let mut bytes = Vec::new();
        while let Some(more) = response.chunk().await.map_err(away)? {
            if bytes.len() + more.len() > most {
                return Err(too_large());
            }
            bytes.extend_from_slice(&more);
        }
        Ok(Fetched {
            bytes: bytes.into(),
            media_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::egress::Allow;
    use crate::shutdown::Tasks;

    /// A server that gives each who asks this, until the test is over: its URL.
    async fn server(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/a.png", listener.local_addr().unwrap());
        Tasks::default().spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0; 2048];
                drop(stream.read(&mut asked).await);
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        url
    }

    #[tokio::test]
    async fn a_file_is_fetched_within_limits() {
        let fetcher = Fetcher::new(Guard::new(vec![Allow::parse("127.0.0.1").unwrap()]));
        let found = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n\r\npixels";
        let fetched = fetcher.fetch(&server(found).await, 6).await.unwrap();
        assert_eq!(
            (&*fetched.bytes, fetched.media_type.as_deref()),
            (&b"pixels"[..], Some("image/png"))
        );
        let sized = "HTTP/1.1 200 OK\r\ncontent-length: 6000\r\n\r\n";
        let moved = "HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n";
        let gone = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        for (answer, why) in [
            (found, "it is larger than 5 bytes"),
            (sized, "it is larger than 5 bytes"),
            (
                moved,
                "it redirects, which is not followed: give the target URL",
            ),
            (gone, "its server answers with 404"),
        ] {
            let refused = fetcher.fetch(&server(answer).await, 5).await;
            assert_eq!(refused.unwrap_err(), why);
        }
    }

    #[tokio::test]
    async fn nothing_is_fetched_from_inside() {
        let fetcher = Fetcher::new(Guard::new(Vec::new()));
        let here = server("HTTP/1.1 200 OK\r\n\r\n").await;
        let why = fetcher.check(&here).unwrap_err();
        assert!(
            why.starts_with("its URL must not point to a loopback address; "),
            "{why}"
        );
        assert_eq!(fetcher.fetch(&here, 9).await.unwrap_err(), why);
        for url in [
            "http://example.com/a",
            "file:///etc/passwd",
            "https://localhost/",
        ] {
            assert!(fetcher.check(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_followed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let inside = crate::egress::Lookup::new(|_| async { Ok(vec![[127, 0, 0, 1].into()]) });
        let fetcher = Fetcher::new(Guard::with_lookup(Vec::new(), inside));
        let url = format!("https://files.example:{port}/a");
        tokio::select! {
            fetched = fetcher.fetch(&url, 9) => {
                assert_eq!(fetched.unwrap_err(), "it cannot be reached");
            }
            _ = listener.accept() => panic!("someone came from outside"),
        }
    }
}
