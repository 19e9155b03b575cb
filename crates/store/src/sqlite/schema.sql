-- The store's file. Version 2: the number stands in user_version below and in SCHEMA_VERSION.
-- A released version of this file is never edited; a new one comes with a step that leads from the old.
--
-- Every tree costs a page from the start and every commit rewrites the pages it touches, so there are
-- few tables, and what grows is only ever appended at the end of its tree (the one exception, the
-- index of hashes, is kept small).

PRAGMA application_id = 0x43747853;   -- "CtxS"
PRAGMA user_version = 2;

-- Conversation names are long and records are many: a record holds the small number.
CREATE TABLE conversations (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The log. `uses` comes before `body` so that a purge can read it without the bodies.
CREATE TABLE records (
    seq          INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    at           INTEGER NOT NULL,      -- unix milliseconds
    kind         TEXT NOT NULL,
    version      INTEGER NOT NULL,
    uses         BLOB NOT NULL,         -- blob ids as runs, see encode.rs
    checksum     INTEGER NOT NULL,      -- 8 bytes of blake3 over what it says
    codec        INTEGER NOT NULL,      -- 0 as it is, 1 zstd with the primer of encode.rs
    size         INTEGER,               -- of the unpacked body, when packed
    body         BLOB NOT NULL
) STRICT;

-- Each entry also holds seq, so one conversation is read in order of seq.
CREATE INDEX record_by_conversation ON records (conversation);

CREATE TABLE blobs (
    id     INTEGER PRIMARY KEY,
    hash   BLOB NOT NULL,               -- blake3 of the unpacked bytes
    first  INTEGER NOT NULL,            -- its pieces are first .. first + pieces
    pieces INTEGER NOT NULL,
    codec  INTEGER NOT NULL,
    size   INTEGER
) STRICT;

-- Eight bytes tell hashes apart nearly always; the query compares all 32.
CREATE INDEX blob_by_hash ON blobs (substr(hash, 1, 8));

-- Bodies of blobs, cut small so that they fill the pages: a row is never split between leaf pages, so
-- whole bodies of half a page and more would leave up to half of the file empty.
CREATE TABLE pieces (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE notes (
    name         TEXT NOT NULL,
    conversation INTEGER NOT NULL,
    checksum     INTEGER NOT NULL,
    body         BLOB NOT NULL,
    PRIMARY KEY (name, conversation)
) STRICT, WITHOUT ROWID;

-- `last-seq`: the highest number given before the last purge, so that none is given twice.
-- `epoch`: the identity of this history, in the cursors of the feed.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
