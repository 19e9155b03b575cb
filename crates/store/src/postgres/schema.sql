-- The store in PostgreSQL. Version 1: the number stands in `facts`.
-- A released version of this file is never edited; a new one comes with a step that only adds to the old, so that
-- programs of both versions work side by side.

CREATE SCHEMA ctx;

-- `schema`: the version of this schema. `serves-from`: the oldest version whose programs can use it.
-- `epoch`: the identity of this history, in the cursors of the feed; made anew after a restore from a backup.
CREATE TABLE ctx.facts (
    name  text PRIMARY KEY,
    value bigint NOT NULL
);

-- One row per conversation; it is locked while records are appended to it. The counts spare a reader the log. Half of
-- each page is left free, and nothing that changes is indexed, so an update stays on its page.
CREATE TABLE ctx.conversations (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner    integer NOT NULL,
    name     text COLLATE "C" NOT NULL,
    version  bigint NOT NULL DEFAULT 0,     -- the number of its last record
    records  bigint NOT NULL DEFAULT 0,
    first_at bigint NOT NULL DEFAULT 0,
    last_at  bigint NOT NULL DEFAULT 0,
    kinds    text[] NOT NULL DEFAULT '{}',  -- the kinds of its records
    UNIQUE (owner, name)
) WITH (fillfactor = 50);

CREATE SEQUENCE ctx.record_numbers;

-- The log. Numbers are drawn while the conversation is locked, so they ascend within it.
CREATE TABLE ctx.records (
    conversation bigint NOT NULL,
    seq          bigint NOT NULL DEFAULT nextval('ctx.record_numbers'),
    txid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
    owner        integer NOT NULL,
    at           bigint NOT NULL,           -- unix milliseconds
    kind         text NOT NULL,
    version      integer NOT NULL,
    uses         bytea NOT NULL,            -- hashes of blobs, 32 bytes each
    checksum     bigint NOT NULL,           -- 8 bytes of blake3 over what it says
    codec        smallint NOT NULL,         -- as in the other stores
    size         integer NOT NULL,          -- of the unpacked body
    body         bytea NOT NULL,
    PRIMARY KEY (conversation, seq)
);
ALTER TABLE ctx.records ALTER body SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX record_by_number ON ctx.records (owner, seq);
-- The order of the feed.
CREATE INDEX record_by_transaction ON ctx.records (txid, seq);

CREATE TABLE ctx.blobs (
    owner integer NOT NULL,
    hash  bytea NOT NULL,
    codec smallint NOT NULL,
    size  integer NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (owner, hash)
);
ALTER TABLE ctx.blobs ALTER body SET STORAGE EXTERNAL;

CREATE TABLE ctx.notes (
    conversation bigint NOT NULL,
    name         text NOT NULL,
    checksum     bigint NOT NULL,
    body         bytea NOT NULL,
    PRIMARY KEY (conversation, name)
) WITH (fillfactor = 50);
CREATE INDEX note_by_name ON ctx.notes (name);

INSERT INTO ctx.facts (name, value) VALUES
    ('schema', 1), ('serves-from', 1), ('epoch', 1 + floor(random() * 9007199254740991)::bigint);
