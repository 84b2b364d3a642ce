//! A model behind an OpenAI-compatible chat endpoint, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::{SecretText, Size, Time};

/// A model behind an OpenAI-compatible chat endpoint: OpenAI, Ollama, vLLM, LM Studio and their like.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenAi {
    /// What `/chat/completions` is put behind, such as `https://api.openai.com/v1` or `http://127.0.0.1:11434/v1`.
    pub(crate) url: String,
    /// The model's name.
    pub(crate) model: String,
    /// The key, sent as a bearer token. Not to be written out here: `${NAME}`. Who needs other headers uses `identity`.
    pub(crate) key: Option<SecretText>,
    /// A file with the key. The path is relative to this file.
    pub(crate) key_file: Option<String>,
    /// A file with certificates to trust beside the system's. The path is relative to this file.
    pub(crate) ca_file: Option<String>,
    /// What the model is told before all else.
    pub(crate) system: Option<String>,
    /// A file with what the model is told before all else. The path is relative to this file.
    pub(crate) system_file: Option<String>,
    /// How freely the model chooses its words.
    pub(crate) temperature: Option<f64>,
    /// The most tokens of an answer.
    pub(crate) max_tokens: Option<u64>,
    /// What else the request says, such as `top_p`, `seed` or `response_format`.
    pub(crate) parameters: Option<serde_json::Map<String, serde_json::Value>>,
    /// How much of what was said before in the conversation the model is told, in tokens of four characters; the newest
    /// is kept. 0: nothing.
    #[schemars(extend("default" = 8000))]
    pub(crate) history_tokens: Option<usize>,
    /// How many earlier tasks of the conversation are looked at for it.
    #[schemars(extend("default" = 50))]
    pub(crate) history_tasks: Option<usize>,
    /// Asks for the usage (`stream_options`), which old servers may refuse.
    #[schemars(extend("default" = true))]
    pub(crate) usage: Option<bool>,
    /// How a request is sent again that was not answered.
    pub(crate) retry: Option<ModelRetry>,
    /// How long the endpoint may say nothing: a model may have to be loaded.
    #[schemars(extend("default" = "300s"))]
    pub(crate) idle_timeout: Option<Time>,
    /// The longest answer.
    #[schemars(extend("default" = "4MiB"))]
    pub(crate) max_answer: Option<Size>,
    /// How long text is gathered before it becomes an event. The first does not wait.
    #[schemars(extend("default" = "50ms"))]
    pub(crate) coalesce: Option<Time>,
}

/// How a request is sent again that was answered with 408, 429 or 5xx, or not at all.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelRetry {
    /// How often it is sent in all.
    #[schemars(extend("default" = 4))]
    pub(crate) attempts: Option<u32>,
    /// The first pause; each is twice as long as the one before.
    #[schemars(extend("default" = "500ms"))]
    pub(crate) first: Option<Time>,
    /// The longest pause. Who asks for a longer one (`Retry-After`) is not waited for.
    #[schemars(extend("default" = "30s"))]
    pub(crate) longest: Option<Time>,
}
