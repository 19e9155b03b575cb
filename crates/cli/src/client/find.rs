//! Finds the daemon: a gateway that the user has chosen, or one on this machine, by its notice, or at the address that
//! the user gives, which takes precedence. The token is sent only to such an address on this machine, never to any
//! program on the default port, and never to a gateway.

use std::fmt;
use std::net::SocketAddr;

use ctx_api::client::ClientError;
use ctx_core::ErrorCode;
use ctx_server::Token;

use super::{callable, not_understood};
use crate::config;
use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::gateway::{Gateway, GatewayUrl};
use crate::home::Home;
use crate::platform::process::is_running;
use crate::token;

/// The sources of the daemon's address.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    pub home: Home,
    /// `--listen`, as an address to connect to.
    pub flag: Option<SocketAddr>,
    /// `--gateway`.
    pub gateway: Option<GatewayUrl>,
    pub environment: Environment,
}

/// A daemon that may not respond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FoundDaemon {
    Local(FoundAddress),
    Gateway(GatewayUrl),
}

/// The source of an address on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundAddress {
    /// The user gave it.
    Told { address: SocketAddr },
    /// The daemon's notice contains it.
    Noticed { address: SocketAddr, pid: u32 },
}

const START: &str = "start the daemon with `ctx up`, or your agent with `ctx run -- claude`";

impl Whereabouts {
    /// The chosen gateway; `None` if the daemon is on this machine.
    pub fn gateway(&self) -> Result<Option<Gateway>, Failure> {
        match self.flag {
            Some(_) => Ok(None),
            None => Gateway::chosen(self.gateway.as_ref(), &self.home, &self.environment),
        }
    }

    pub(super) fn look(&self) -> Result<(FoundAddress, Token), Failure> {
        let found = self.place()?;
        // With a gateway in the environment, the key there is for it.
        if let Some(key) = self.environment.text(env::KEY).filter(|_| self.environment.get(env::GATEWAY).is_none()) {
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
}

impl fmt::Display for FoundDaemon {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(found) => found.address().fmt(formatter),
            Self::Gateway(url) => url.fmt(formatter),
        }
    }
}

impl FoundDaemon {
    /// The failed exchange as an error message.
    pub(super) fn explain(&self, error: ClientError) -> Failure {
        match (error, self) {
            (ClientError::Refused(error), Self::Gateway(url)) if error.code == ErrorCode::KeyWrong => {
                Failure::from(error).hint(format!("sign in again with `ctx login {url}`"))
            }
            (ClientError::Refused(error), _) => error.into(),
            (ClientError::NotUnderstood(error), _) => not_understood(&error),
            (ClientError::Unreachable(_), Self::Local(FoundAddress::Noticed { pid, address })) => Failure::new(
                ErrorCode::NoDaemon,
                format!("no daemon responds: its record names process {pid} on {address}, but nothing listens there"),
            )
            .hint(START),
            (ClientError::Unreachable(why), Self::Local(FoundAddress::Told { address })) => {
                Failure::new(ErrorCode::NoDaemon, format!("no daemon responds on {address}: {why}"))
                    .hint(format!("{START}; --listen or CTX_LISTEN selects another address"))
            }
            (ClientError::Unreachable(why), Self::Gateway(url)) => {
                Failure::new(ErrorCode::GatewayUnreachable, format!("{url} cannot be reached: {why}")).hint(
                    "check the network and the gateway; `--listen 127.0.0.1:8788` selects a daemon on this machine",
                )
            }
            (ClientError::Untrusted(why), _) => {
                Failure::new(ErrorCode::GatewayUntrusted, format!("nothing was sent to {self}: {why}")).hint(format!(
                    "if a private authority issued the certificate, name its file: `ctx login {self} --ca FILE`"
                ))
            }
            (ClientError::NotADaemon, Self::Gateway(url)) => {
                Failure::new(ErrorCode::NotADaemon, format!("the program at {url} is not a ctx daemon"))
                    .hint("check the address")
            }
            (ClientError::NotADaemon, Self::Local(_)) => {
                Failure::new(ErrorCode::NotADaemon, format!("the program on {self} is not a ctx daemon"))
                    .hint("start the daemon on another port (`ctx up --listen 127.0.0.1:PORT`), or stop that program")
            }
            (ClientError::TooSlow, daemon) => {
                let hint = match daemon {
                    Self::Local(_) => "try again, or restart it with `ctx stop` and `ctx up`",
                    Self::Gateway(_) => "try again",
                };
                Failure::new(ErrorCode::TooSlow, format!("the daemon on {self} did not respond in time")).hint(hint)
            }
            (ClientError::Cut(why), _) => {
                Failure::new(ErrorCode::Cut, format!("the daemon on {self} aborted its response: {why}"))
                    .hint("it may have stopped; check `ctx status`")
            }
        }
    }
}
