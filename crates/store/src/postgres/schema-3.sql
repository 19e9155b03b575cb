-- Version 3: row-level security. A store reads as a role that sees the rows of one owner only (wall.rs), so a query
-- that forgets its owner finds nothing of others. All other roles are unaffected, so programs of version 2 go on working.

ALTER TABLE ctx.conversations ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctx.records ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctx.blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE ctx.notes ENABLE ROW LEVEL SECURITY;

-- Policies name no role, so that a dump can be restored before the role exists. The setting is read once per query.
CREATE POLICY own ON ctx.conversations USING (
    owner = (SELECT nullif(current_setting('ctx.owner', true), '')::integer)
    OR NOT starts_with(current_user::text, 'ctx_reader_'));
CREATE POLICY own ON ctx.records USING (
    owner = (SELECT nullif(current_setting('ctx.owner', true), '')::integer)
    OR NOT starts_with(current_user::text, 'ctx_reader_'));
CREATE POLICY own ON ctx.blobs USING (
    owner = (SELECT nullif(current_setting('ctx.owner', true), '')::integer)
    OR NOT starts_with(current_user::text, 'ctx_reader_'));
-- A note is its conversation's, whose own policy applies here.
CREATE POLICY own ON ctx.notes USING (
    EXISTS (SELECT FROM ctx.conversations c WHERE c.id = conversation));

UPDATE ctx.facts SET value = 3 WHERE name IN ('schema');
