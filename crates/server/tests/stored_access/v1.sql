PRAGMA user_version = 1;

CREATE TABLE api_key (
    id        TEXT PRIMARY KEY,
    hash      BLOB NOT NULL UNIQUE, -- SHA-256 of the key
    label     TEXT NOT NULL,
    agents    TEXT,                 -- a JSON list; NULL: all
    scopes    TEXT NOT NULL,        -- a JSON list
    tenant    TEXT,
    subject   TEXT NOT NULL,
    made      INTEGER NOT NULL,     -- microseconds since 1970, as all times here
    made_by   TEXT NOT NULL,
    expires   INTEGER,
    last_used INTEGER,
    revoked   INTEGER
) STRICT, WITHOUT ROWID;

-- Counts the changes, so that a server sees what a command has done beside it.
CREATE TABLE key_change (number INTEGER NOT NULL) STRICT;
INSERT INTO key_change VALUES (0);
CREATE TRIGGER key_made AFTER INSERT ON api_key
    BEGIN UPDATE key_change SET number = number + 1; END;
CREATE TRIGGER key_revoked AFTER UPDATE OF revoked ON api_key
    BEGIN UPDATE key_change SET number = number + 1; END;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    what    TEXT NOT NULL,
    who     TEXT NOT NULL,
    agent   TEXT,
    object  TEXT,
    address TEXT,
    count   INTEGER NOT NULL,
    detail  TEXT NOT NULL           -- a JSON object
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

-- sbk_a-key-that-an-earlier-version-has-made-once-0
INSERT INTO api_key VALUES ('k1', x'ffccaa9dad46c62d4af6ceb9ccdb49520650c9187031869b18506f49fbc5f359', 'old', '["bot"]', '[]', NULL, 'ann', 1761818400000000, 'shell', NULL, NULL, NULL);
INSERT INTO audit VALUES (1, 1761818400000000, 'key-created', 'shell', NULL, 'k1', NULL, 1, '{}');
