//! Protocol versions, and how a request picks one.

use crate::error::{Error, ErrorKind};
use crate::model::Binding;

/// A protocol version Switchboard speaks. 0.2 and 0.3 cannot be told apart on the wire, so 0.2 is
/// served as 0.3; they differ only in how cards are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolVersion {
    /// 0.2 and 0.3.
    V0_3,
    /// 1.0.
    V1_0,
}

/// What the field `file_with_bytes` of the 0.3 proto holds, over gRPC and in `ProtoJSON`.
///
/// The official SDKs disagree, and nothing in a message tells which one wrote it: see
/// docs/adr/0013-file-bytes-in-a2a-0-3.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FileBytes {
    /// The base64 text of the file, as the SDKs for Python, Java and Go write and read it. `ProtoJSON` encodes that
    /// text once more.
    #[default]
    Base64,
    /// The file itself, as the .proto file says and the SDK for JavaScript does.
    Raw,
}

/// Whether a request must name its version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VersionHeader {
    /// A method or a path that only 1.0 has is enough. The names of 0.x and 1.0 have nothing in common, so nothing is
    /// guessed; several clients of 1.0 omit the header.
    #[default]
    Optional,
    /// A request without `A2A-Version` is 0.3 (A2A 1.0 §3.6.2), where the names of 1.0 do not exist.
    Required,
}

/// A JSON dialect: how the model is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// 0.x JSON: `kind` discriminators (JSON-RPC 0.x; REST 0.3 by the letter of its text).
    V0Json,
    /// 0.x `ProtoJSON` (REST 0.3 as the official SDKs ship it).
    V0Proto(FileBytes),
    /// 1.0 `ProtoJSON`.
    V1,
}

impl ProtocolVersion {
    /// Every version, newest first: the order of a card's interfaces.
    pub const ALL: [Self; 2] = [Self::V1_0, Self::V0_3];

    /// Major and minor, as it stands in headers and cards.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// Whether requests can name a tenant.
    #[must_use]
    pub fn has_tenants(self) -> bool {
        self == Self::V1_0
    }

    /// Whether the extended card of an interface whose card names `version` is read by a plain GET, not by a call: so
    /// it is in 0.2 (A2A 0.2.6 §7.10).
    #[must_use]
    pub fn has_plain_card(version: &str) -> bool {
        version.split('.').take(2).eq(["0", "2"])
    }

    /// Reads `A2A-Version`: patch numbers are ignored, empty means 0.3 (A2A 1.0 §3.6.2).
    ///
    /// # Errors
    ///
    /// `VersionNotSupported` for anything else.
    pub fn requested(value: &str) -> Result<Self, Error> {
        let mut numbers = value.trim().as_bytes().split(|byte| *byte == b'.');
        match (numbers.next(), numbers.next()) {
            (Some(b""), None) | (Some(b"0"), Some(b"2" | b"3")) => Ok(Self::V0_3),
            (Some(b"1"), Some(b"0")) => Ok(Self::V1_0),
            _ => Err(Self::not_supported(value)),
        }
    }

    /// The error for a version that is not spoken here.
    #[must_use]
    pub fn not_supported(value: &str) -> Error {
        let supported = Self::ALL.map(Self::name).join(",");
        Error::new(
            ErrorKind::VersionNotSupported,
            format!("A2A version {value:?} is not supported here; supported: {supported}"),
        )
        .fact("supportedVersions", supported)
    }
}

/// What the webhooks of a version are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notified {
    /// Every event, as streams are (A2A 1.0 §4.3.3).
    Events,
    /// The whole task, whenever it is the client's turn or the task is over (A2A 0.3 §9.5).
    Task,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] = [
        Self::V1,
        Self::V0Json,
        Self::V0Proto(FileBytes::Base64),
        Self::V0Proto(FileBytes::Raw),
    ];

    /// Its place in [`Dialect::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::V1 => 0,
            Self::V0Json => 1,
            Self::V0Proto(FileBytes::Base64) => 2,
            Self::V0Proto(FileBytes::Raw) => 3,
        }
    }

    /// What is spoken over a binding in a version. Over gRPC it is what the messages stand for. Where files have two
    /// forms, this is the default one: see [`with_files`](Self::with_files).
    #[must_use]
    pub fn spoken(binding: &Binding, version: ProtocolVersion) -> Self {
        match (version, binding) {
            (ProtocolVersion::V1_0, _) => Self::V1,
            (ProtocolVersion::V0_3, Binding::HttpJson | Binding::Grpc) => {
                Self::V0Proto(FileBytes::default())
            }
            (ProtocolVersion::V0_3, Binding::JsonRpc | Binding::Other(_)) => Self::V0Json,
        }
    }

    /// The same dialect with this form of files, where it has two.
    #[must_use]
    pub fn with_files(self, files: FileBytes) -> Self {
        match self {
            Self::V0Proto(_) => Self::V0Proto(files),
            Self::V0Json | Self::V1 => self,
        }
    }

    /// The form of files, where a dialect has two.
    #[must_use]
    pub fn files(self) -> Option<FileBytes> {
        match self {
            Self::V0Proto(files) => Some(files),
            Self::V0Json | Self::V1 => None,
        }
    }

    /// What webhooks are told that were registered in it.
    #[must_use]
    pub fn notified(self) -> Notified {
        match self.version() {
            ProtocolVersion::V1_0 => Notified::Events,
            ProtocolVersion::V0_3 => Notified::Task,
        }
    }

    /// The dialect of what webhooks are told that were registered in it. Those of 0.x get JSON with
    /// `kind`, whatever binding registered them: the only form 0.3 §9.5 shows and the official SDKs send.
    #[must_use]
    pub fn of_webhooks(self) -> Self {
        match self.version() {
            ProtocolVersion::V1_0 => Self::V1,
            ProtocolVersion::V0_3 => Self::V0Json,
        }
    }

    /// The error for an extended card where the agent does not have one. 0.3 has an error for exactly that (A2A 0.3
    /// §8.2); 1.0 keeps it for a card that is declared and missing, and one that is not declared is an operation that
    /// is not supported (A2A 1.0 §3.1.11).
    #[must_use]
    pub fn no_extended_card(self) -> ErrorKind {
        match self.version() {
            ProtocolVersion::V1_0 => ErrorKind::UnsupportedOperation,
            ProtocolVersion::V0_3 => ErrorKind::ExtendedAgentCardNotConfigured,
        }
    }

    /// The version this dialect belongs to.
    #[must_use]
    pub fn version(self) -> ProtocolVersion {
        match self {
            Self::V0Json | Self::V0Proto(_) => ProtocolVersion::V0_3,
            Self::V1 => ProtocolVersion::V1_0,
        }
    }

    /// A short name for storage: push configs are rendered in the dialect they were made in. The two forms of files
    /// share one, because no webhook is rendered in either: see [`of_webhooks`](Self::of_webhooks).
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::V0Json => "0.3",
            Self::V0Proto(_) => "0.3-proto",
            Self::V1 => "1.0",
        }
    }

    /// The dialect of that short name.
    #[must_use]
    pub fn from_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.tag() == tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_0_2_has_a_plain_card() {
        for (version, plain) in [
            ("0.2", true),
            ("0.2.6", true),
            ("0.3", false),
            ("1.0", false),
            ("0.20", false),
            ("", false),
        ] {
            assert_eq!(ProtocolVersion::has_plain_card(version), plain, "{version}");
        }
    }

    #[test]
    fn every_dialect_is_in_its_place() {
        for (index, dialect) in Dialect::ALL.into_iter().enumerate() {
            assert_eq!(dialect.index(), index);
        }
    }

    #[test]
    fn webhooks_of_a_version_are_told_in_one_dialect() {
        for dialect in Dialect::ALL {
            let told = dialect.of_webhooks();
            assert_eq!(told.version(), dialect.version());
            assert_eq!(told.files(), None);
        }
    }

    #[test]
    fn absent_is_0_3_and_patch_numbers_do_not_matter() {
        for (text, version) in [
            ("", ProtocolVersion::V0_3),
            ("0.2", ProtocolVersion::V0_3),
            ("0.2.6", ProtocolVersion::V0_3),
            ("0.3", ProtocolVersion::V0_3),
            ("0.3.0", ProtocolVersion::V0_3),
            ("1.0", ProtocolVersion::V1_0),
            (" 1.0.1 ", ProtocolVersion::V1_0),
        ] {
            assert_eq!(ProtocolVersion::requested(text), Ok(version), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_versions_spoken() {
        for text in ["99.0", "1", "1.1", "0.1", "2.0", "latest", "1.0-beta"] {
            let error = ProtocolVersion::requested(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{text}");
            assert_eq!(
                error.facts(),
                [("supportedVersions".into(), "1.0,0.3".to_owned())]
            );
        }
    }
}
