//! What gRPC cannot say.

use crate::wire::v0_3::Loss;

/// Every loss between the model and gRPC, beside those that 0.x has in every binding. Each row has a test.
pub const LOSSES: [Loss; 9] = [
    Loss {
        what: "whole numbers beyond 2^53 in free JSON",
        handling: "become the nearest double",
    },
    Loss {
        what: "numbers beyond all doubles in free JSON",
        handling: "sent as a string that holds their digits",
    },
    Loss {
        what: "order of keys in free JSON, spaces, escapes, 1.0 and 1, repeated keys",
        handling: "keys come back sorted, numbers and strings in one spelling, of repeated keys the last",
    },
    Loss {
        what: "free JSON that nests deeper than 30 levels",
        handling: "what is deeper is sent as a string that holds its text",
    },
    Loss {
        what: "moments finer than a microsecond",
        handling: "cut on the way in: the model has no room for them",
    },
    Loss {
        what: "0.3: a configuration that does not say `blocking`",
        handling: "reads as one that says false: the caller gets the task as soon as there is one",
    },
    Loss {
        what: "0.3: history_length of 0",
        handling: "reads as unset: the whole history is sent",
    },
    Loss {
        what: "0.3: CancelTask.metadata, tenant, ListTasks",
        handling: "0.3 has no field for them",
    },
    Loss {
        what: "0.3: capabilities that are said to be absent",
        handling: "0.3 has no presence there: false reads as not said",
    },
];
