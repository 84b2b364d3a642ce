PRAGMA user_version = 5;

CREATE TABLE scope (
    id    INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (agent, owner)
) STRICT;
INSERT INTO scope VALUES (1, 'echo', 'caller-a');
INSERT INTO scope VALUES (2, 'approver', 'caller-b');

CREATE TABLE task (
    key     INTEGER PRIMARY KEY, -- names the task in event and snapshot
    id      ANY NOT NULL UNIQUE,
    scope   INTEGER NOT NULL,
    context ANY,                -- NULL: the id with its last bit flipped
    state   INTEGER NOT NULL,   -- 1 submitted 2 working 3 input-required 4 auth-required
                                -- 5 completed 6 failed 7 canceled 8 rejected 9 unknown
    updated INTEGER NOT NULL,   -- microseconds since 1970
    seq     INTEGER NOT NULL,   -- the last event
    folded  INTEGER NOT NULL,   -- the event of the snapshot, 0 if there is none
    chunks  INTEGER NOT NULL,   -- rows in event
    bytes   INTEGER NOT NULL,   -- size of these rows
    opened  INTEGER NOT NULL,   -- the last event in opening, 0 if there is none
    format  INTEGER NOT NULL,   -- of opening, as in event
    opening BLOB                -- the events of the first commit, if they are small
) STRICT;
INSERT INTO task VALUES (1, x'0190a5c300007001800000000000abcd', 1, 'context-1', 2, 1761818401000000, 4, 0, 1, 151, 3, 1, CAST('<{"messageId":"question","contextId":"context-1","taskId":"0190a5c3-0000-7001-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what? — なに？ 🙂"}]}
{"task":{"id":"0190a5c3-0000-7001-8000-00000000abcd","contextId":"context-1","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"question","contextId":"context-1","taskId":"0190a5c3-0000-7001-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what?"}]}]}}
@1761818400000002{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"piece 1 of the answer"},{"data":{"n":9007199254740993}}]}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (2, 'not a uuid', 2, 'context-3', 3, 1761818402000000, 3, 0, 0, 0, 3, 1, CAST('<{"messageId":"question","contextId":"context-3","taskId":"not a uuid","role":"ROLE_USER","parts":[{"text":"what? — なに？ 🙂"}]}
{"task":{"id":"not a uuid","contextId":"context-3","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"question","contextId":"context-3","taskId":"not a uuid","role":"ROLE_USER","parts":[{"text":"what?"}]}]}}
@1761818400000002{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"piece 1 of the answer"},{"data":{"n":9007199254740993}}]}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (3, x'0190a5c300007002800000000000abcd', 1, x'0190a5c3000070008000000000000001', 5, 1761818403000000, 3, 0, 0, 0, 3, 1, CAST('<{"messageId":"question","contextId":"0190a5c3-0000-7000-8000-000000000001","taskId":"0190a5c3-0000-7002-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what? — なに？ 🙂"}]}
{"task":{"id":"0190a5c3-0000-7002-8000-00000000abcd","contextId":"0190a5c3-0000-7000-8000-000000000001","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"question","contextId":"0190a5c3-0000-7000-8000-000000000001","taskId":"0190a5c3-0000-7002-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what?"}]}]}}
@1761818400000002{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"piece 1 of the answer"},{"data":{"n":9007199254740993}}]}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2025-10-30T10:00:03.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (4, x'0190a5c300007004800000000000abcd', 1, 'context-4', 6, 1761818404000000, 3, 3, 0, 0, 0, 1, NULL);
INSERT INTO task VALUES (5, x'0190a5c300007005800000000000abcd', 1, 'context-5', 7, 1761818406000000, 5, 5, 1, 261, 3, 1, CAST('<{"messageId":"question","contextId":"context-5","taskId":"0190a5c3-0000-7005-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what? — なに？ 🙂"}]}
{"task":{"id":"0190a5c3-0000-7005-8000-00000000abcd","contextId":"context-5","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"question","contextId":"context-5","taskId":"0190a5c3-0000-7005-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what?"}]}]}}
@1761818400000002{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"piece 1 of the answer"},{"data":{"n":9007199254740993}}]}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:05.000Z"}}}
' AS BLOB));

CREATE INDEX task_list ON task (scope, state, updated, id);

CREATE INDEX task_context ON task (context) WHERE context IS NOT NULL;

CREATE INDEX task_live ON task (id) WHERE state <= 4;

CREATE INDEX task_heavy ON task (updated) WHERE state >= 5 AND (chunks > 4 OR bytes > 16384);

CREATE TABLE event (
    place  INTEGER PRIMARY KEY, -- task.key * 2^24 + the first event
    last   INTEGER NOT NULL,    -- the last event
    format INTEGER NOT NULL,    -- 1: a line of A2A 1.0 JSON per event, without the ids of its task; each
    data   BLOB NOT NULL        --    after `<` and the message that caused it, if one did
) STRICT;
INSERT INTO event VALUES (16777220, 4, 1, CAST('@1761818401000004{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"two\nlines"},{"data":{"n":9007199254740993}}]},"append":true}}
' AS BLOB));
INSERT INTO event VALUES (83886084, 5, 1, CAST('@1761818405000004{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"piece 3 of the answer"},{"data":{"n":9007199254740993}}]},"append":true}}
{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED","timestamp":"2025-10-30T10:00:06.000Z"}}}
' AS BLOB));

CREATE TABLE snapshot (
    key    INTEGER PRIMARY KEY, -- task.key
    seq    INTEGER NOT NULL,
    format INTEGER NOT NULL,    -- 1: A2A 1.0 JSON
    data   BLOB NOT NULL
) STRICT;
INSERT INTO snapshot VALUES (4, 3, 1, CAST('{"id":"0190a5c3-0000-7004-8000-00000000abcd","contextId":"context-4","status":{"state":"TASK_STATE_FAILED","timestamp":"2025-10-30T10:00:04.000Z"},"history":[{"messageId":"question","contextId":"context-4","taskId":"0190a5c3-0000-7004-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what?"}]}]}' AS BLOB));
INSERT INTO snapshot VALUES (5, 5, 1, CAST('{"id":"0190a5c3-0000-7005-8000-00000000abcd","contextId":"context-5","status":{"state":"TASK_STATE_CANCELED","timestamp":"2025-10-30T10:00:06.000Z"},"history":[{"messageId":"question","contextId":"context-5","taskId":"0190a5c3-0000-7005-8000-00000000abcd","role":"ROLE_USER","parts":[{"text":"what?"}]}]}' AS BLOB));

CREATE TABLE webhook (
    task          ANY NOT NULL,
    id            TEXT NOT NULL,
    made          INTEGER NOT NULL, -- counts the webhooks of a task
    settled       INTEGER NOT NULL, -- 1: the task is over and all of it is delivered
    format        INTEGER NOT NULL, -- 1: A2A 1.0 JSON
    config        BLOB NOT NULL,
    dialect       TEXT NOT NULL,
    delivered     INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    failing_since INTEGER,
    retry_at      INTEGER,
    last_error    TEXT,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
INSERT INTO webhook VALUES (x'0190a5c300007001800000000000abcd', 'hook', 1, 0, 1, CAST('{"id":"hook","taskId":"0190a5c3-0000-7001-8000-00000000abcd","url":"https://example.com/hook","token":"token","authentication":{"scheme":"Bearer","credentials":"credentials"}}' AS BLOB), '0.3', 1, 2, 1761818407000000, 1761818408000000, '503 service unavailable');

CREATE INDEX webhook_open ON webhook (task, id) WHERE settled = 0;

CREATE TABLE dead_letter (
    id       INTEGER PRIMARY KEY,
    task     ANY NOT NULL,
    webhook  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    url      TEXT NOT NULL,
    body     TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error    TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
INSERT INTO dead_letter VALUES (1, x'0190a5c300007001800000000000abcd', 'hook', 1, 'https://example.com/hook', '{}', 9, '410 gone', 1761818409000000);

CREATE INDEX dead_letter_task ON dead_letter (task);

CREATE TABLE answer (
    scope       INTEGER NOT NULL,
    key         TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    task        ANY,
    format      INTEGER NOT NULL, -- 1: A2A 1.0 JSON
    message     BLOB,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
INSERT INTO answer VALUES (1, 'message', -1, 1761818410000000, NULL, 1, CAST('{"messageId":"m","contextId":"context-1","taskId":"0190a5c3-0000-7001-8000-00000000abcd","role":"ROLE_AGENT","parts":[{"text":"hello"}]}' AS BLOB));
INSERT INTO answer VALUES (1, 'task', -1, 1761818410000000, x'0190a5c300007001800000000000abcd', 1, NULL);

CREATE INDEX answer_at ON answer (at);

CREATE INDEX answer_task ON answer (task) WHERE task IS NOT NULL;

CREATE TABLE tally (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;
INSERT INTO tally VALUES (1, 2, 1);
INSERT INTO tally VALUES (1, 5, 1);
INSERT INTO tally VALUES (1, 6, 1);
INSERT INTO tally VALUES (1, 7, 1);
INSERT INTO tally VALUES (2, 3, 1);

CREATE INDEX tally_state ON tally (state, scope) WHERE tasks > 0;

CREATE TABLE journal (
    database INTEGER NOT NULL, -- tells the journal of this database from others
    settled  INTEGER NOT NULL  -- the last commit of it that is in the tables
) STRICT;
INSERT INTO journal VALUES (5063995252815240892, 11);

CREATE TABLE turn (
    task       INTEGER NOT NULL, -- task.key
    number     INTEGER NOT NULL, -- 1, 2, 3 …
    message_at INTEGER,          -- the event with its message
    begins_at  INTEGER NOT NULL, -- the event that it begins with
    answers    INTEGER,          -- the event with the question that it answers
    decision   TEXT,             -- JSON
    trace      TEXT,             -- JSON
    queued     INTEGER NOT NULL, -- 1: it waits for capacity
    secret     TEXT,             -- the sealed message
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;
INSERT INTO turn VALUES (1, 2, NULL, 3, 2, '{"rule":"billing"}', '{"traceparent":"00-01-02-01"}', 1, 'sealed');

CREATE TABLE step (
    place INTEGER PRIMARY KEY, -- task.key * 2^24 + the number of the step
    task  INTEGER NOT NULL,    -- task.key
    turn  INTEGER NOT NULL,
    at    INTEGER NOT NULL,    -- microseconds since 1970
    name  TEXT NOT NULL,
    value TEXT NOT NULL        -- JSON
) STRICT;
INSERT INTO step VALUES (16777217, 1, 2, 1761818411000000, 'upstream', '{"task":"theirs","turn":2}');
INSERT INTO step VALUES (16777218, 1, 2, 1761818411000000, 'internal:delegation', '"to another"');
INSERT INTO step VALUES (16777219, 1, 2, 1761818411000000, 'upstream', 'null');

CREATE INDEX step_name ON step (task, name);

CREATE TABLE pending_release (
    task     ANY NOT NULL PRIMARY KEY,
    question TEXT                      -- JSON
) STRICT, WITHOUT ROWID;
INSERT INTO pending_release VALUES (x'0190a5c300007004800000000000abcd', NULL);
INSERT INTO pending_release VALUES (x'0190a5c300007005800000000000abcd', '{"statusUpdate":{}}');
