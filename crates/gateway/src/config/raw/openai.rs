//! An LLM backend, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::{SecretText, Size, Time};

/// A model with an OpenAI-compatible chat endpoint: OpenAI, Ollama, vLLM, LM Studio and others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenAi {
    /// Base URL, to which `/chat/completions` is appended, such as `https://api.openai.com/v1` or
    /// `http://127.0.0.1:11434/v1`.
    pub(crate) url: String,
    /// Name of the model.
    pub(crate) model: String,
    /// API key, sent as a bearer token. Use `${NAME}`; a literal secret is rejected. For other headers use `identity`.
    pub(crate) key: Option<SecretText>,
    /// File that contains the API key. The path is relative to this file.
    pub(crate) key_file: Option<String>,
    /// CA certificates (PEM) to trust in addition to the system's. The path is relative to this file.
    pub(crate) ca_file: Option<String>,
    /// System prompt.
    pub(crate) system: Option<String>,
    /// File that contains the system prompt. The path is relative to this file.
    pub(crate) system_file: Option<String>,
    /// Sampling temperature. Default: not sent.
    pub(crate) temperature: Option<f64>,
    /// Maximum number of tokens of an answer. Default: not sent.
    pub(crate) max_tokens: Option<u64>,
    /// Additional fields of the request, such as `top_p`, `seed` or `response_format`.
    pub(crate) parameters: Option<serde_json::Map<String, serde_json::Value>>,
    /// Maximum size of the earlier messages of the context that the model receives, in tokens estimated at four
    /// characters each. The newest messages are kept. 0 sends none.
    #[schemars(extend("default" = 8000))]
    pub(crate) history_tokens: Option<usize>,
    /// Maximum number of earlier tasks of the context that are read for the history.
    #[schemars(extend("default" = 50))]
    pub(crate) history_tasks: Option<usize>,
    /// Requests token usage (`stream_options`). Old servers may reject it.
    #[schemars(extend("default" = true))]
    pub(crate) usage: Option<bool>,
    /// Retries of failed requests.
    pub(crate) retry: Option<ModelRetry>,
    /// Maximum time without data from the endpoint. Loading a model may take long.
    #[schemars(extend("default" = "300s"))]
    pub(crate) idle_timeout: Option<Time>,
    /// Maximum size of an answer.
    #[schemars(extend("default" = "4MiB"))]
    pub(crate) max_answer: Option<Size>,
    /// How long text is buffered before it becomes one event. The first piece is not delayed.
    #[schemars(extend("default" = "50ms"))]
    pub(crate) coalesce: Option<Time>,
}

/// Retries of requests that are answered with 408, 429 or 5xx. An endpoint that cannot be reached is retried for
/// `timeouts.upstream`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelRetry {
    /// Maximum number of requests in total.
    #[schemars(extend("default" = 4))]
    pub(crate) attempts: Option<u32>,
    /// Initial backoff; it doubles with each attempt.
    #[schemars(extend("default" = "500ms"))]
    pub(crate) first: Option<Time>,
    /// Maximum backoff. If `Retry-After` asks for more, the task fails instead of waiting.
    #[schemars(extend("default" = "30s"))]
    pub(crate) longest: Option<Time>,
}
