//! The second wall: what a query that forgets its owner sees.

use super::*;
use testkit::PostgresServer;

/// A database with something of two owners, and the store of the first.
struct TwoOwners {
    server: &'static PostgresServer,
    database: String,
    mine: PostgresStore,
}

impl TwoOwners {
    fn new() -> Option<Self> {
        let server = PostgresServer::shared()?;
        let database = server.new_database();
        let mine = PostgresStore::open(&server.url(&database).parse().unwrap()).unwrap();
        fill(&mine);
        fill(&mine.of(Owner(7)));
        Some(Self { server, database, mine })
    }

    fn sql(&self, statements: &str) -> String {
        self.server.sql(&self.database, statements).unwrap()
    }

    fn role(&self) -> String {
        format!("ctx_reader_{}", self.database)
    }
}

fn fill(store: &PostgresStore) {
    let hash = Hash::of(b"words");
    let record =
        crate::NewRecord { conversation: "c1".into(), kind: "k".into(), uses: vec![hash], ..Default::default() };
    let note = crate::Note { conversation: "c1".into(), name: "card".into(), body: Some(b"x".to_vec()) };
    let blobs = vec![(hash, b"words".to_vec())];
    store.append(vec![Step { blobs, records: vec![record], notes: vec![note], ..Step::default() }]).unwrap();
}

fn count(store: &PostgresStore, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM ctx.{table} WHERE $1 = $1");
    store.rows(sql, vec![]).unwrap()[0].try_get(0).unwrap()
}

const WITH_CONTENT: [&str; 4] = ["conversations", "records", "blobs", "notes"];

#[test]
fn a_query_that_forgets_its_owner_sees_nothing_of_others() {
    let Some(two) = TwoOwners::new() else { return };
    for table in WITH_CONTENT {
        assert_eq!(two.sql(&format!("SELECT count(*) FROM ctx.{table}")), "2", "{table}");
        assert_eq!((count(&two.mine, table), count(&two.mine.of(Owner(7)), table)), (1, 1), "{table}");
        assert_eq!(count(&two.mine.of(Owner(8)), table), 0, "{table}");
    }
}

#[test]
fn a_query_that_forgets_its_owner_sees_nothing_of_others_through_a_pooler_either() {
    let Some(two) = TwoOwners::new() else { return };
    let Some(port) = two.server.pooler() else { return };
    let pooled = PostgresStore::open(&PostgresServer::url_at(port, &two.database).parse().unwrap()).unwrap();
    for owner in [0, 7, 8, 0] {
        let seen = WITH_CONTENT.map(|table| count(&pooled.of(Owner(owner)), table));
        assert_eq!(seen, [i64::from(owner < 8); 4], "{owner}");
    }
}

#[test]
fn the_role_that_reads_sees_nothing_without_an_owner_and_changes_nothing() {
    let Some(two) = TwoOwners::new() else { return };
    let role = two.role();
    for table in WITH_CONTENT {
        assert_eq!(two.sql(&format!("SET ROLE {role}; SELECT count(*) FROM ctx.{table}")), "0", "{table}");
        for change in [format!("DELETE FROM ctx.{table}"), format!("TRUNCATE ctx.{table}")] {
            let tried = two.server.sql(&two.database, &format!("SET ROLE {role}; {change}"));
            assert!(tried.is_err_and(|error| error.to_string().contains("permission denied")), "{change}");
        }
    }
}

/// A new table with content needs a policy, and one without must not be readable by the role.
#[test]
fn every_table_that_the_role_can_read_is_behind_the_wall() {
    let Some(two) = TwoOwners::new() else { return };
    let sql = format!(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'ctx'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
         AND has_any_column_privilege('{}', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES') \
         AND NOT (c.relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)) ORDER BY 1",
        two.role()
    );
    assert_eq!(two.sql(&sql), "facts");
    let sql =
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'ctx'::regnamespace AND c.relrowsecurity ORDER BY 1";
    assert_eq!(two.sql(sql), "blobs\nconversations\nnotes\nrecords");
}

#[test]
fn every_read_is_made_as_the_role_that_reads() {
    let Some(two) = TwoOwners::new() else { return };
    let store = &two.mine;
    let hash = Hash::of(b"words");
    type Read<'r> = &'r dyn Fn() -> Result<(), StoreError>;
    let reads: [(&str, Read<'_>); 16] = [
        ("records", &|| store.records("c1", 0).map(drop)),
        ("log", &|| store.log(0, 9).map(drop)),
        ("feed", &|| store.feed(&Cursor::default(), 9).map(drop)),
        ("newest", &|| store.newest().map(drop)),
        ("cursor_behind", &|| store.cursor_behind(1).map(drop)),
        ("blobs", &|| store.blobs(&[hash]).map(drop)),
        ("notes", &|| store.notes("card").map(drop)),
        ("note_names", &|| store.note_names().map(drop)),
        ("note", &|| store.note("c1", "card").map(drop)),
        ("notes_of", &|| store.notes_of("c1", &["card", "head"]).map(drop)),
        ("last_seq", &|| store.last_seq().map(drop)),
        ("conversations", &|| store.conversations().map(drop)),
        ("conversations_with", &|| store.conversations_with(&["k"]).map(drop)),
        ("size", &|| store.size().map(drop)),
        ("check", &|| store.check().map(drop)),
        ("sweep", &|| store.sweep().map(drop)),
    ];
    for (name, read) in &reads {
        read().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    two.sql(&format!("REVOKE USAGE ON SCHEMA ctx FROM {}", two.role()));
    for (name, read) in &reads {
        assert!(read().is_err(), "{name} is not behind the wall");
    }
    fill(store);
}

/// A login that may not make roles goes on without the wall, and the check says so where there are several owners.
#[test]
fn a_login_that_cannot_make_roles_goes_on_and_it_is_told() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.new_database();
    let login = format!("plain_{database}");
    server
        .sql(&database, &format!("CREATE ROLE {login} LOGIN; GRANT CREATE ON DATABASE {database} TO {login}"))
        .unwrap();
    let url = server.url(&database).replace("ctx@", &format!("{login}@"));
    let address: PostgresAddress = url.parse().unwrap();
    let mine = PostgresStore::open(&address).unwrap();
    fill(&mine);
    assert_eq!(mine.check().unwrap().findings, [], "nobody else is there");
    fill(&mine.of(Owner(7)));
    let told = mine.check().unwrap();
    assert_eq!(told.findings.len(), 1, "{:?}", told.findings);
    assert!(told.is_sound() && told.findings[0].sentence.contains(&format!("ctx_reader_{database}")), "{told:?}");
    assert_eq!(mine.records("c1", 0).unwrap().records.len(), 1);
    let migration = PostgresStore::migrate(&address).unwrap();
    assert_eq!((migration.from, migration.to, migration.has_reader), (SCHEMA, SCHEMA, false));

    // An administrator makes the role.
    let role = format!("ctx_reader_{database}");
    server.sql(&database, &format!("CREATE ROLE {role}; GRANT {role} TO {login}")).unwrap();
    assert!(PostgresStore::migrate(&address).unwrap().has_reader);
    let mine = PostgresStore::open(&address).unwrap();
    assert_eq!(mine.check().unwrap().findings, []);
    assert_eq!(WITH_CONTENT.map(|table| count(&mine, table)), [1; 4]);
}

/// A login with CREATEROLE makes the role by itself.
#[test]
fn a_login_that_can_make_roles_has_the_wall_without_being_a_superuser() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.new_database();
    let login = format!("maker_{database}");
    let make = format!("CREATE ROLE {login} LOGIN CREATEROLE; GRANT CREATE ON DATABASE {database} TO {login}");
    server.sql(&database, &make).unwrap();
    let url = server.url(&database).replace("ctx@", &format!("{login}@"));
    let mine = PostgresStore::open(&url.parse().unwrap()).unwrap();
    fill(&mine);
    fill(&mine.of(Owner(7)));
    assert_eq!(WITH_CONTENT.map(|table| count(&mine, table)), [1; 4]);
}

/// Programs of version 2 neither know the role nor the setting.
#[test]
fn a_program_of_version_2_works_beside_the_wall() {
    let Some(two) = TwoOwners::new() else { return };
    // The first read seeks the role; one that finds none reads as version 2 did.
    let old = PostgresStore::open(&two.server.url(&two.database).parse().unwrap()).unwrap();
    old.pool.forget_reader();
    assert_eq!(count(&old, "blobs"), 2, "it is not behind the wall");
    fill(&old);
    assert_eq!(old.records("c1", 0).unwrap().records.len(), 2);
    assert_eq!(two.mine.records("c1", 0).unwrap().records.len(), 2);
    assert_eq!(two.sql("SELECT value FROM ctx.facts WHERE name = 'serves-from'"), "2");
}

const SCHEMA: i64 = schema::SCHEMA_VERSION;
