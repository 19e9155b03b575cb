//! The second wall between owners: a store reads as a role that row-level security confines to one owner.
//!
//! The first wall is that every query names its owner. The role has no login and no right but to read; its name follows
//! from the database's. It is taken for one transaction, in the round trip of the read, so it also works through a
//! pooler. What concerns all owners is not read this way: announcements, daemons and their beats, and what an append
//! looks up before it writes.

use tokio_postgres::types::Type;

use super::pool::Link;
use crate::StoreError;

/// The role of this database. Policies know it by its prefix.
const ROLE: &str = "('ctx_reader_' || current_database())::name";

/// The right to become a role. Since PostgreSQL 16, members may lack it.
const BECOME: &str = "CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END";

/// The rights of the role. It needs none on the tables that daemons use among themselves.
const GRANTS: [&str; 2] = [
    "USAGE ON SCHEMA ctx",
    "SELECT ON ctx.facts, ctx.record_numbers, ctx.conversations, ctx.records, ctx.blobs, ctx.notes",
];

/// The quoted name of the role, if it exists, this login can become it, and it is confined. `None`: reads rely on their
/// queries alone.
pub async fn find(link: &Link) -> Result<Option<String>, StoreError> {
    let sql = format!(
        "SELECT quote_ident(r.rolname) FROM pg_roles r WHERE r.rolname = {ROLE} \
         AND NOT r.rolsuper AND NOT r.rolbypassrls AND pg_has_role(r.oid, {BECOME}) \
         AND has_schema_privilege(r.oid, 'ctx', 'USAGE') AND has_table_privilege(r.oid, 'ctx.facts', 'SELECT') \
         AND has_sequence_privilege(r.oid, 'ctx.record_numbers', 'SELECT') \
         AND (SELECT bool_and(c.relrowsecurity AND has_table_privilege(r.oid, c.oid, 'SELECT')) FROM pg_class c \
              WHERE c.oid = ANY (ARRAY['ctx.conversations', 'ctx.records', 'ctx.blobs', 'ctx.notes']::regclass[]))"
    );
    let rows = link.client.query_typed(&sql, &[]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Makes the role and gives it its rights, within a migration. Returns its quoted name, and whether reads will use it:
/// many logins cannot make roles.
pub async fn raise(link: &Link) -> Result<(String, bool), StoreError> {
    let sql = format!(
        "SELECT quote_ident({ROLE}::text), EXISTS (SELECT FROM pg_roles WHERE rolname = {ROLE}), \
         coalesce((SELECT pg_has_role(oid, {BECOME}) FROM pg_roles WHERE rolname = {ROLE}), false)"
    );
    let row = link.client.query_typed_one(&sql, &[]).await?;
    let (role, is_there, is_ours): (String, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let mut statements = Vec::new();
    if !is_there {
        statements.push(format!("CREATE ROLE {role} NOLOGIN"));
    }
    if !is_ours {
        statements.push(format!("GRANT {role} TO CURRENT_USER"));
    }
    statements.extend(GRANTS.map(|rights| format!("GRANT {rights} TO {role}")));
    link.client.batch_execute("SAVEPOINT wall").await?;
    if let Err(error) = link.client.batch_execute(&statements.join("; ")).await {
        if error.as_db_error().is_none() {
            return Err(error.into());
        }
        tracing::debug!(%error, role, "the role that reads cannot be made");
        link.client.batch_execute("ROLLBACK TO SAVEPOINT wall").await?;
    }
    Ok((role, find(link).await?.is_some()))
}

/// The quoted name of the missing role, if the database has other owners than this one.
pub async fn missing(link: &Link, owner: i32) -> Result<Option<String>, StoreError> {
    let sql =
        format!("SELECT quote_ident({ROLE}::text) WHERE EXISTS (SELECT FROM ctx.conversations WHERE owner <> $1)");
    let rows = link.client.query_typed(&sql, &[(&owner, Type::INT4)]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Makes the current transaction see the rows of one owner only.
pub fn behind(role: &str, owner: i32) -> String {
    format!("SET LOCAL ctx.owner = '{owner}'; SET LOCAL ROLE {role}")
}
