//! What a client writes into the log.

use std::io;
use std::sync::{Arc, Mutex};

use switchboard_client::{Client, Credential, Credentials, Retry, text};
use switchboard_types::model::Secret;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Asked, Odd, json};

/// What was logged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Keeps all that this thread logs, as long as the guard lives.
    pub(crate) fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn requests_answers_and_errors_are_logged_and_secrets_are_not() {
    let lines = Lines::default();
    let _guard = lines.listen();
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            return asked.card("0.3");
        }
        json(
            200,
            r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"no rhyme"}}"#,
        )
    })
    .await;
    let credentials = Credentials::any(Credential::Bearer(Secret::new("s3cr3t-value")));
    let builder = Client::builder()
        .credentials(credentials)
        .retry(Retry::never());
    let agent = builder.connect(odd.base.as_str()).await.unwrap();
    drop(agent.send(text("a prompt")).await);
    drop(odd);
    drop(agent.send(text("a prompt")).await);
    let log = lines.text();
    assert!(
        log.contains("DEBUG") && log.contains("A2A Request: {\n  \"jsonrpc\": \"2.0\""),
        "{log}"
    );
    assert!(log.contains("A2A Response: {\n"), "{log}");
    assert!(log.contains("A2A error -32603: no rhyme"), "{log}");
    assert!(
        log.contains("HTTP error invoking agent: cannot reach"),
        "{log}"
    );
    assert!(!log.contains("s3cr3t-value"), "{log}");
}
