//! What no look from outside can tell, with the reason. They are counted, so that the count is honest.

use crate::check::Level::{Must, Should};
use crate::check::{Check, Level, Run};

const TWO_CALLERS: &str = "needs two callers with different rights";
const INSIDE: &str = "a matter of the server's inside";
const OPERATOR: &str = "a matter of how the server is run";
const AUTH: &str = "no message makes any agent ask for credentials";

const fn row(
    id: &'static str,
    level: Level,
    clause: &'static str,
    title: &'static str,
    why: &'static str,
) -> Check {
    Check {
        id,
        level,
        clause,
        title,
        hint: "",
        run: Run::Unseen(why),
    }
}

pub(super) static CHECKS: [Check; 30] = [
    row(
        "S-010",
        Must,
        "§3.1.4, §13.1",
        "only tasks visible to the caller are listed",
        TWO_CALLERS,
    ),
    row(
        "S-031",
        Must,
        "§3.3.2",
        "a missing permission is an authorization error",
        TWO_CALLERS,
    ),
    row(
        "S-032",
        Must,
        "§3.3.2",
        "resources the caller may not see are not revealed",
        TWO_CALLERS,
    ),
    row(
        "S-035",
        Should,
        "§3.3.2",
        "temporary failures are told from permanent ones",
        "the agent would have to fail",
    ),
    row(
        "S-046",
        Should,
        "§3.4.1",
        "the same contextId is the same session",
        "what an agent remembers is its own",
    ),
    row(
        "S-051",
        Should,
        "§3.4.3",
        "referenceTaskIds and shared context are used",
        "what an agent makes of them is its own",
    ),
    row(
        "S-054",
        Should,
        "§3.7",
        "results are artifacts, not messages",
        "whether a text is a result is the agent's to say",
    ),
    row(
        "S-062",
        Must,
        "§3.6.3",
        "tooling helps with negotiation",
        "asks of SDKs, not of servers",
    ),
    row(
        "S-069",
        Must,
        "§5.2",
        "all bindings are declared in the card",
        "one that is not declared cannot be found",
    ),
    row(
        "S-084",
        Should,
        "§13.2",
        "webhook configurations are stored securely",
        INSIDE,
    ),
    row(
        "S-094",
        Must,
        "extensions guide §authentication",
        "extension methods are authenticated too",
        "which methods an extension adds is its own",
    ),
    row(
        "S-097",
        Must,
        "§13.1",
        "every operation is authorized",
        TWO_CALLERS,
    ),
    row(
        "S-098",
        Must,
        "§13.1",
        "checks come before queries that could leak existence",
        TWO_CALLERS,
    ),
    row(
        "S-099",
        Must,
        "§13.1",
        "access to a task is verified by each operation on it",
        TWO_CALLERS,
    ),
    row(
        "S-100",
        Should,
        "§13.1",
        "the authorization model is documented",
        "a matter of documents",
    ),
    row(
        "S-101",
        Should,
        "§13.4",
        "size and complexity are limited",
        "would need to flood the agent",
    ),
    row(
        "S-102",
        Must,
        "§13.4",
        "credentials are treated as secrets",
        INSIDE,
    ),
    row(
        "S-103",
        Should,
        "§13.4",
        "security events are logged, secrets are not",
        INSIDE,
    ),
    row(
        "S-104",
        Should,
        "§13.4",
        "operations are rate-limited",
        "would need to flood the agent",
    ),
    row(
        "S-105",
        Must,
        "§13.4",
        "data protection law is kept",
        OPERATOR,
    ),
    row(
        "S-107",
        Must,
        "§7.6.1",
        "in-task authorization uses a task in AUTH_REQUIRED",
        AUTH,
    ),
    row(
        "S-108",
        Must,
        "§7.6.1",
        "credentials are received out of band",
        AUTH,
    ),
    row(
        "S-109",
        Should,
        "§7.6.1",
        "streams stay open in AUTH_REQUIRED",
        AUTH,
    ),
    row(
        "S-110",
        Should,
        "§7.6.3",
        "credentials travel over a secure channel",
        AUTH,
    ),
    row(
        "S-111",
        Should,
        "§3.2.2",
        "output is shaped by acceptedOutputModes",
        "which shapes an agent has is its own",
    ),
    row(
        "S-114",
        Should,
        "§8.3.2",
        "requests are routed by tenant",
        "what a tenant is, the operator decides",
    ),
    row(
        "S-119",
        Must,
        "HEAD §7.6.4",
        "AUTH_REQUIRED is not taken as authorization",
        AUTH,
    ),
    row(
        "S-120",
        Must,
        "HEAD §7.6.4",
        "the scope of an authorization is defined",
        AUTH,
    ),
    row(
        "S-121",
        Must,
        "HEAD §7.6.4",
        "an authorization is not assumed to cover later messages",
        AUTH,
    ),
    row(
        "S-122",
        Must,
        "§1.4",
        "types are derived from the normative proto",
        INSIDE,
    ),
];
