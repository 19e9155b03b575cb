//! Finds the daemon: by its notice, or at the address that the user gives, which takes precedence. The token is sent
//! only to such an address, never to any program on the default port.

use std::net::SocketAddr;

use ctx_api::client::ClientError;
use ctx_core::ErrorCode;
use ctx_server::Token;

use super::{callable, not_understood};
use crate::config;
use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::home::Home;
use crate::platform::process::is_running;
use crate::token;

/// The sources of the daemon's address.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    pub home: Home,
    /// `--listen`, as an address to connect to.
    pub flag: Option<SocketAddr>,
    pub environment: Environment,
}

/// The source of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundAddress {
    /// The user gave it.
    Told { address: SocketAddr },
    /// The daemon's notice contains it.
    Noticed { address: SocketAddr, pid: u32 },
}

const START: &str = "start the daemon with `ctx up`, or your agent with `ctx run -- claude`";

impl Whereabouts {
    pub(super) fn look(&self) -> Result<(FoundAddress, Token), Failure> {
        let found = self.place()?;
        if let Some(key) = self.environment.text(env::KEY) {
            let key = Token::parse(&key).ok_or_else(|| {
                Failure::new(ErrorCode::Environment, format!("{}: this is not a key", env::KEY.name()))
                    .hint("a key begins with ctxk_; an admin makes one with `ctx keys new NAME`")
            })?;
            return Ok((found, key));
        }
        let token = token::known(&self.home, &self.environment)?.ok_or_else(|| {
            let home = self.home.path().display();
            let message = format!("no daemon has used the home {home}, or it was emptied: it contains no token");
            Failure::new(ErrorCode::NoDaemon, message).hint(format!(
                "{START}; if the daemon uses another home, pass --home or CTX_HOME; if its home was emptied, restart \
                 it"
            ))
        })?;
        Ok((found, token))
    }

    fn place(&self) -> Result<FoundAddress, Failure> {
        let told = |address| FoundAddress::Told { address: callable(address) };
        if let Some(address) = self.flag {
            return Ok(told(address));
        }
        let notice = self.home.notice();
        if let Some(notice) = notice.as_ref().filter(|notice| is_running(notice.pid)) {
            return Ok(FoundAddress::Noticed { address: callable(notice.listen), pid: notice.pid });
        }
        if let Some(text) = self.environment.text(env::LISTEN) {
            let refuse = |why| Failure::new(ErrorCode::Environment, format!("{}: {why}", env::LISTEN.name()));
            return config::parse_listen(&text).map(told).map_err(refuse);
        }
        let message = match notice {
            Some(notice) => {
                format!("no daemon is running; the last one (process {}) did not shut down cleanly", notice.pid)
            }
            None => "no daemon is running".to_owned(),
        };
        Err(Failure::new(ErrorCode::NoDaemon, message).hint(START))
    }
}

impl FoundAddress {
    pub(super) fn address(self) -> SocketAddr {
        match self {
            Self::Told { address } | Self::Noticed { address, .. } => address,
        }
    }

    /// The failed exchange as an error message.
    pub(super) fn explain(self, error: ClientError) -> Failure {
        let address = self.address();
        match (error, self) {
            (ClientError::Refused(error), _) => error.into(),
            (ClientError::NotUnderstood(error), _) => not_understood(&error),
            (ClientError::Unreachable(_), Self::Noticed { pid, .. }) => Failure::new(
                ErrorCode::NoDaemon,
                format!("no daemon responds: its record names process {pid} on {address}, but nothing listens there"),
            )
            .hint(START),
            (ClientError::Unreachable(why), Self::Told { .. }) => {
                Failure::new(ErrorCode::NoDaemon, format!("no daemon responds on {address}: {why}"))
                    .hint(format!("{START}; --listen or CTX_LISTEN selects another address"))
            }
            (ClientError::NotADaemon, _) => {
                Failure::new(ErrorCode::NotADaemon, format!("the program on {address} is not a ctx daemon"))
                    .hint("start the daemon on another port (`ctx up --listen 127.0.0.1:PORT`), or stop that program")
            }
            (ClientError::TooSlow, _) => {
                Failure::new(ErrorCode::TooSlow, format!("the daemon on {address} did not respond in time"))
                    .hint("try again, or restart it with `ctx stop` and `ctx up`")
            }
            (ClientError::Cut(why), _) => {
                Failure::new(ErrorCode::Cut, format!("the daemon on {address} aborted its response: {why}"))
                    .hint("it may have stopped; check `ctx status`")
            }
        }
    }
}
