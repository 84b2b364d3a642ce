PRAGMA user_version = 4;

CREATE TABLE scope (
    id    INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (agent, owner)
) STRICT;
INSERT INTO scope VALUES (1, 'echo', 'caller-a');

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
INSERT INTO task VALUES (1, 'mid-turn', 1, 'c-1', 2, 1761818407000000, 11, 0, 6, 1059, 4, 1, CAST('{"task":{"id":"mid-turn","contextId":"c-1","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"book a flight"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"looking"}]},"append":true}}
{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"a2","role":"ROLE_AGENT","parts":[{"text":"where to?"}]},"timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (2, 'waiting', 1, 'c-2', 3, 1761818404000000, 5, 0, 1, 344, 3, 1, CAST('{"task":{"id":"waiting","contextId":"c-2","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"approve?"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"a2","role":"ROLE_AGENT","parts":[{"text":"log in"}]},"timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (3, 'queued', 1, 'c-3', 1, 1761818400000000, 1, 0, 0, 0, 1, 1, CAST('{"task":{"id":"queued","contextId":"c-3","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"later"}]}]}}
' AS BLOB));
INSERT INTO task VALUES (4, 'queued-answer', 1, 'c-4', 2, 1761818403000000, 4, 0, 1, 163, 3, 1, CAST('{"task":{"id":"queued-answer","contextId":"c-4","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"a2","role":"ROLE_AGENT","parts":[{"text":"how?"}]},"timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (5, 'unanswered', 1, 'c-5', 2, 1761818409000000, 4, 0, 1, 98, 3, 1, CAST('{"task":{"id":"unanswered","contextId":"c-5","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"a2","role":"ROLE_AGENT","parts":[{"text":"how?"}]},"timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (6, 'plain', 1, 'c-6', 2, 1761818401000000, 2, 0, 0, 0, 2, 1, CAST('{"task":{"id":"plain","contextId":"c-6","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (7, 'canceled-asking', 1, 'c-7', 7, 1761818402000000, 3, 0, 0, 0, 3, 1, CAST('{"task":{"id":"canceled-asking","contextId":"c-7","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED","timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (8, 'canceled', 1, 'c-8', 7, 1761818402000000, 3, 0, 0, 0, 3, 1, CAST('{"task":{"id":"canceled","contextId":"c-8","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED","timestamp":"2025-10-30T10:00:02.000Z"}}}
' AS BLOB));
INSERT INTO task VALUES (9, 'completed', 1, 'c-9', 5, 1761818402000000, 4, 0, 0, 0, 4, 1, CAST('{"task":{"id":"completed","contextId":"c-9","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2025-10-30T10:00:00.000Z"},"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"go"}]}]}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:01.000Z"}}}
{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"done"}]},"append":true}}
{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2025-10-30T10:00:02.000Z"}}}
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
INSERT INTO event VALUES (16777221, 5, 1, CAST('<{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"to Rome"}]}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:03.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (16777222, 7, 1, CAST('{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"more"}]},"append":true}}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"messageId":"a4","role":"ROLE_AGENT","parts":[{"text":"still looking"}]},"timestamp":"2025-10-30T10:00:04.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (16777224, 8, 1, CAST('{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"a5","role":"ROLE_AGENT","parts":[{"text":"when?"}]},"timestamp":"2025-10-30T10:00:05.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (16777225, 9, 1, CAST('<{"messageId":"m3","role":"ROLE_USER","parts":[{"text":"tomorrow"}]}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:06.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (16777226, 10, 1, CAST('{"artifactUpdate":{"artifact":{"artifactId":"answer","parts":[{"text":"found"}]},"append":true}}
' AS BLOB));
INSERT INTO event VALUES (16777227, 11, 1, CAST('<{"messageId":"m4","role":"ROLE_USER","parts":[{"text":"and a hotel"}]}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:07.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (33554436, 5, 1, CAST('<{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"done"}]}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:03.000Z"}}}
{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"a4","role":"ROLE_AGENT","parts":[{"text":"sure?"}]},"timestamp":"2025-10-30T10:00:04.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (67108868, 4, 1, CAST('<{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"fast"}]}
{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:03.000Z"}}}
' AS BLOB));
INSERT INTO event VALUES (83886084, 4, 1, CAST('{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-30T10:00:09.000Z"}}}
' AS BLOB));

CREATE TABLE snapshot (
    key    INTEGER PRIMARY KEY, -- task.key
    seq    INTEGER NOT NULL,
    format INTEGER NOT NULL,    -- 1: A2A 1.0 JSON
    data   BLOB NOT NULL
) STRICT;

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

CREATE INDEX answer_at ON answer (at);

CREATE INDEX answer_task ON answer (task) WHERE task IS NOT NULL;

CREATE TABLE tally (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;
INSERT INTO tally VALUES (1, 1, 1);
INSERT INTO tally VALUES (1, 2, 4);
INSERT INTO tally VALUES (1, 3, 1);
INSERT INTO tally VALUES (1, 5, 1);
INSERT INTO tally VALUES (1, 7, 2);

CREATE INDEX tally_state ON tally (state, scope) WHERE tasks > 0;

CREATE TABLE journal (
    database INTEGER NOT NULL, -- tells the journal of this database from others
    settled  INTEGER NOT NULL  -- the last commit of it that is in the tables
) STRICT;
INSERT INTO journal VALUES (4242, 0);

CREATE TABLE note (
    task  ANY NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL, -- JSON
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
INSERT INTO note VALUES ('mid-turn', 'internal:000641ff5a6b3c40-001', '{"name":"decision","at":"2025-10-30T10:00:01.000Z","value":{"rule":"travel"}}');
INSERT INTO note VALUES ('mid-turn', 'internal:000641ff5a6b3c40-002', '{"name":"delegation","at":"2025-10-30T10:00:02.000Z","value":{"agent":"booker","taskId":"b-1"}}');
INSERT INTO note VALUES ('mid-turn', 'switchboard/decision', '{"rule":"travel","to":"booker"}');
INSERT INTO note VALUES ('mid-turn', 'switchboard/trace', '{"traceparent":"00-11111111111111111111111111111111-2222222222222222-01"}');
INSERT INTO note VALUES ('mid-turn', 'upstream', '{"task":"theirs"}');
INSERT INTO note VALUES ('waiting', 'upstream', '{"task":"theirs","state":"asked"}');
INSERT INTO note VALUES ('queued-answer', 'switchboard/in-line', 'true');
INSERT INTO note VALUES ('canceled-asking', 'switchboard/untold', '{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"a2","role":"ROLE_AGENT","parts":[{"text":"why?"}]},"timestamp":"2025-10-30T10:00:02.000Z"}}}');
INSERT INTO note VALUES ('canceled-asking', 'upstream', '{"task":"theirs"}');
INSERT INTO note VALUES ('canceled', 'switchboard/trace', '{"traceparent":"00-33333333333333333333333333333333-4444444444444444-01"}');
INSERT INTO note VALUES ('canceled', 'switchboard/untold', 'true');
INSERT INTO note VALUES ('completed', 'switchboard/decision', '{"rule":"travel"}');

CREATE INDEX note_untold ON note (task) WHERE name = 'switchboard/untold';
