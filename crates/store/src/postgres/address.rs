//! The address of a database: a `postgres://` URL, a password from elsewhere, and whether the connection uses TLS. Its
//! text never contains the password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::StoreError;

/// Where a store in PostgreSQL is.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Config,
    /// A file with certificate authorities, instead of the system's.
    pub(super) authorities: Option<PathBuf>,
    shown: String,
}

impl PostgresAddress {
    /// Whether a text is meant as the address of a database.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Whether the URL contains the password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Uses this password, unless the URL has one.
    pub fn with_password(mut self, password: &str) -> Self {
        if !self.has_password() {
            self.config.password(password);
        }
        self
    }
}

impl FromStr for PostgresAddress {
    type Err = StoreError;

    /// `sslmode` and `sslrootcert` are as in libpq, but TLS is always verified, and it is the default for a host on
    /// another machine.
    fn from_str(url: &str) -> Result<Self, StoreError> {
        let refuse = |why: &str| StoreError::Address { why: why.to_owned() };
        if !Self::is_meant(url) {
            return Err(refuse("it must begin with postgres://"));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut authorities, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => authorities = Some(PathBuf::from(value.replace("%2F", "/"))),
                _ => rest.push(pair),
            }
        }
        let plain = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        // The parser's message may repeat a part of the URL, and with it the password.
        let mut config = plain.parse::<Config>().map_err(|_| refuse("it cannot be parsed"))?;
        let is_near = config.get_hosts().iter().all(is_on_this_machine);
        config.ssl_mode(match mode.as_deref() {
            Some("disable") => SslMode::Disable,
            None | Some("prefer" | "allow") if is_near => SslMode::Disable,
            None | Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some(_) => return Err(refuse("`sslmode` must be disable, require or verify-full")),
        });
        config.application_name("ctx");
        Ok(Self { config, authorities, shown: shown(url) })
    }
}

fn is_on_this_machine(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        Host::Unix(_) => true,
    }
}

/// The URL without its password, which may stand before the host or among the parameters.
fn shown(url: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => rest.to_owned(),
    };
    let query: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("password=")).collect();
    let joint = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{rest}{joint}{}", query.join("&"))
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PostgresAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        url.parse::<PostgresAddress>().expect("an address").config.get_ssl_mode()
    }

    #[test]
    fn the_password_is_never_shown() {
        let address: PostgresAddress = "postgres://anna:s3cret@db.example:6432/team".parse().unwrap();
        assert_eq!(address.to_string(), "postgres://anna@db.example:6432/team");
        assert!(!format!("{address:?}").contains("s3cret"));
        let address: PostgresAddress = "postgres://anna@h/d?password=s3cret&connect_timeout=3".parse().unwrap();
        assert_eq!(address.to_string(), "postgres://anna@h/d?connect_timeout=3");
        let error = "postgres://anna:s3cret@db.example:port/team".parse::<PostgresAddress>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }

    #[test]
    fn a_password_from_elsewhere_counts_if_the_address_has_none() {
        let password = |url: &str| {
            let address = url.parse::<PostgresAddress>().unwrap().with_password("other");
            String::from_utf8(address.config.get_password().unwrap().to_vec()).unwrap()
        };
        assert_eq!(password("postgres://anna@h/d"), "other");
        assert_eq!(password("postgres://anna:own@h/d"), "own");
    }

    #[test]
    fn other_machines_are_reached_with_tls() {
        assert_eq!(mode("postgres://u@db.example/d"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/d?sslmode=verify-full&sslrootcert=/a/ca.pem"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/d?sslmode=disable"), SslMode::Disable);
        for near in ["postgres://u@127.0.0.1:5/d", "postgres://u@localhost/d", "postgres://u@%2Ftmp/d"] {
            assert_eq!(mode(near), SslMode::Disable, "{near}");
        }
        assert_eq!(mode("postgres://u@localhost/d?sslmode=require"), SslMode::Require);
        assert!("postgres://u@db.example/d?sslmode=prefer".parse::<PostgresAddress>().is_err(), "it may not be secure");
        assert!("mysql://u@h/d".parse::<PostgresAddress>().is_err());
    }
}
