-- Version 2: several daemons on one database. Programs of version 1 would not hear of each other's edits.

-- The edits of the last hour, for the daemons that have the conversation in memory.
CREATE TABLE ctx.edits (
    txid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at           timestamptz NOT NULL DEFAULT now(),
    owner        integer NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    replica      bigint NOT NULL            -- the daemon that made it; 0: another program
);
CREATE INDEX edit_by_transaction ON ctx.edits (txid);
CREATE INDEX edit_by_conversation ON ctx.edits (owner, conversation, txid);

-- The running daemons. A daemon counts as running while its beat is younger than its lease.
CREATE TABLE ctx.replicas (
    id   bigint PRIMARY KEY,
    name text NOT NULL,
    beat timestamptz NOT NULL,
    seen pg_snapshot NOT NULL               -- the edits that it has taken into account
) WITH (fillfactor = 50);

UPDATE ctx.facts SET value = 2 WHERE name IN ('schema', 'serves-from');
