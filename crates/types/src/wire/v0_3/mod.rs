//! A2A 0.2 and 0.3, in both their spellings: JSON with `kind` ([`Dialect::V0Json`]) and the
//! `ProtoJSON` of package `a2a.v1` that the official SDKs speak over REST ([`Dialect::V0Proto`]).
//!
//! - `object`: messages, parts and stream items, read; one lenient reader for both spellings.
//! - `request`: the parameters of the operations, read; `push`: those that register a webhook.
//! - `params`: the same, written.
//! - `encode`: everything that leaves, one function per object and spelling where they differ.
//! - `free`: members put into and taken out of free JSON; `file`: the two forms of `fileWithBytes`.
//! - [`error`]: numbers, statuses and bodies of errors.
//!
//! What 0.x cannot say, or the model cannot keep, is listed in [`LOSSES`] and nowhere else.
//!
//! [`Dialect::V0Json`]: crate::Dialect::V0Json
//! [`Dialect::V0Proto`]: crate::Dialect::V0Proto

pub(crate) mod encode;
pub mod error;
pub(crate) mod event;
pub(crate) mod file;
pub(crate) mod free;
pub(crate) mod object;
pub(crate) mod params;
pub(crate) mod push;
pub(crate) mod request;

/// Something that does not survive the way between the model and 0.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// What is lost, as a path in the model.
    pub what: &'static str,
    /// What happens to it.
    pub handling: &'static str,
}

/// Every loss between the model and 0.x. Each row has a test.
pub const LOSSES: [Loss; 11] = [
    Loss {
        what: "Part.media_type of text and data parts",
        handling: "dropped on the way out: 0.x has no member for it",
    },
    Loss {
        what: "Part.filename of text and data parts",
        handling: "dropped on the way out: 0.x has no member for it",
    },
    Loss {
        what: "Part.content of data that is no object",
        handling: "sent as {\"value\": it} with part metadata data_part_compat, undone on the way in; \
                   empty metadata comes back as none. In ProtoJSON there is no mark, and it stays wrapped",
    },
    Loss {
        what: "Part.filename in ProtoJSON",
        handling: "dropped on the way out: the proto of 0.3 has no member for it",
    },
    Loss {
        what: "Part.metadata in ProtoJSON",
        handling: "dropped on the way out: the proto of 0.3 has no member for it",
    },
    Loss {
        what: "Authentication.scheme of several schemes",
        handling: "the first is kept on the way in, the others are dropped",
    },
    Loss {
        what: "PushConfigPage.next_page_token",
        handling: "dropped in the kind dialect, whose result is an array: serve all on one page",
    },
    Loss {
        what: "TaskParams.metadata of get and resubscribe",
        handling: "dropped on the way in: only cancel keeps it",
    },
    Loss {
        what: "CancelTask.metadata over REST",
        handling: "dropped on the way out: the proto of 0.3 has no member for it",
    },
    Loss {
        what: "Message.reference_task_ids in ProtoJSON",
        handling: "dropped on the way out: the proto of 0.3 has no member for it",
    },
    Loss {
        what: "TaskState::Unknown in ProtoJSON",
        handling: "sent as TASK_STATE_UNSPECIFIED, read back as unknown",
    },
];
