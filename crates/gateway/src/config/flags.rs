//! What the command line says of the configuration.

use std::path::PathBuf;

use super::LogFormat;
use super::value::Listen;

/// What the command line says; it wins over everything else.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--listen`
    pub listen: Option<Listen>,
    /// `--data`
    pub data: Option<PathBuf>,
    /// `--memory`
    pub memory: bool,
    /// `--auth none`
    pub auth_none: bool,
    /// `--tls self-signed`
    pub self_signed: bool,
    /// `--log-level`
    pub log_level: Option<String>,
    /// `--log-format`
    pub log_format: Option<LogFormat>,
    /// `--access-log`
    pub access_log: bool,
}

impl Flags {
    /// Whether a flag says what the file would say under this key.
    pub(crate) fn win_over(&self, key: &str) -> bool {
        match key {
            "listen" => self.listen.is_some(),
            "data" => self.data.is_some() || self.memory,
            "store.kind" | "store.durability" => self.memory,
            "log.level" => self.log_level.is_some(),
            "log.format" => self.log_format.is_some(),
            "log.access" => self.access_log,
            _ => false,
        }
    }
}
