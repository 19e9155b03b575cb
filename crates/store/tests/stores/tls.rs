//! TLS to a database server with a certificate of a private authority.

use std::path::PathBuf;

use ctx_store::{PostgresAddress, PostgresStore, Reader, Store, StoreError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use testkit::PostgresServer;

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for `localhost` and its key.
    fn issue(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn file(&self, folder: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, &self.pem).unwrap();
        path
    }
}

#[test]
fn a_server_is_spoken_to_only_if_its_certificate_is_verified() {
    let (own, foreign) = (Authority::new(), Authority::new());
    let (certificate, key) = own.issue();
    let Some(server) = PostgresServer::start_secured(&certificate, &key) else { return };
    let (folder, database) = (tempfile::tempdir().unwrap(), server.new_database());
    let (own, foreign) = (own.file(&folder, "own.pem"), foreign.file(&folder, "foreign.pem"));
    let open = |host: &str, authority: &PathBuf| {
        let url = format!(
            "postgres://ctx@{host}:{}/{database}?sslmode=verify-full&sslrootcert={}",
            server.port(),
            authority.display()
        );
        PostgresStore::open(&url.parse::<PostgresAddress>().unwrap())
    };

    let store = open("localhost", &own).unwrap();
    crate::common::append(&store, vec![crate::common::step("c", "a record", &[])]);
    assert_eq!(store.records("c", 0).unwrap().records.len(), 1);
    let count = |is_secure: bool| {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE application_name = 'ctx' AND ssl = {is_secure}"
        );
        server.sql("postgres", &sql).unwrap().parse::<u64>().unwrap()
    };
    assert!(count(true) > 0 && count(false) == 0);
    let joined = store.join("a daemon").unwrap();
    joined.replica().unwrap().poll(std::time::Duration::ZERO).unwrap();
    assert_eq!(count(false), 0, "the listening connection too");

    for (host, authority) in [("localhost", &foreign), ("127.0.0.1", &own)] {
        let refused = open(host, authority).err().expect("it is not the one that was asked for");
        assert!(matches!(refused, StoreError::Unavailable { .. }), "{host}: {refused}");
    }
}
