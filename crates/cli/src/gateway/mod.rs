//! Daemons on other machines: their addresses, the keys for them, and the way to them.

mod logins;
mod url;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ctx_api::client::{ClientError, Connection, Dial};
use ctx_core::ErrorCode;
use ctx_server::{Dialer, Token};

pub use self::logins::{Login, Logins};
pub use self::url::GatewayUrl;
use crate::config;
use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::home::Home;

/// The time for name, proxy and TLS together.
const CONNECT: Duration = Duration::from_secs(10);

/// A gateway, and a key that was made for it.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub url: GatewayUrl,
    /// The authority of its certificate, if it is not one of the system's.
    pub authority: Option<PathBuf>,
    key: Token,
}

impl Gateway {
    pub fn new(url: GatewayUrl, authority: Option<PathBuf>, key: &str) -> Result<Gateway, Failure> {
        let key = Token::parse(key).filter(|key| key.expose().starts_with(ctx_team::KEY_PREFIX));
        let key = key.ok_or_else(|| {
            Failure::new(ErrorCode::NotSignedIn, format!("this is not a key for {url}"))
                .hint("a key begins with ctxk_; an admin makes one with `ctx keys new NAME`")
        })?;
        Ok(Gateway { url, authority, key })
    }

    pub fn key(&self) -> &Token {
        &self.key
    }

    /// The gateway to use: the named one, else that of CTX_GATEWAY, else the last one that the user signed in to, unless
    /// CTX_LISTEN names a daemon on this machine. A key goes only to the gateway that it was made for.
    pub fn chosen(
        named: Option<&GatewayUrl>,
        home: &Home,
        environment: &Environment,
    ) -> Result<Option<Gateway>, Failure> {
        let of_environment = url_in(environment)?;
        if named.is_none() && of_environment.is_none() && environment.get(env::LISTEN).is_some() {
            return Ok(None);
        }
        let logins = Logins::load(home)?;
        let Some(url) = named.or(of_environment.as_ref()).or(logins.current()).cloned() else { return Ok(None) };
        let authority = environment.get(env::GATEWAY_CA).map(PathBuf::from);
        if let Some(key) = environment.text(env::KEY).filter(|_| of_environment.as_ref() == Some(&url)) {
            return Gateway::new(url, authority, &key).map(Some);
        }
        let Some(login) = logins.get(&url) else {
            return Err(Failure::new(ErrorCode::NotSignedIn, format!("you are not signed in to {url}"))
                .hint(format!("sign in with `ctx login {url}`")));
        };
        Gateway::new(url, authority.or_else(|| login.authority.clone()), &login.key).map(Some)
    }

    /// A client without a connection yet.
    pub fn client(&self, environment: &Environment) -> Result<ctx_api::client::Client, Failure> {
        client(&self.url, self.authority.clone(), self.key.expose(), environment)
    }
}

/// A client of a gateway; `key` may be empty for calls that need none.
pub fn client(
    url: &GatewayUrl,
    authority: Option<PathBuf>,
    key: &str,
    environment: &Environment,
) -> Result<ctx_api::client::Client, Failure> {
    let way = config::way_to_gateway(url.address().clone(), authority.into_iter().collect(), environment);
    let dialer = Dialer::new(&way, CONNECT).map_err(|error| {
        Failure::new(ErrorCode::GatewayUnreachable, format!("{url} cannot be reached: {error}")).hint(error.hint())
    })?;
    Ok(ctx_api::client::Client::remote(url.host(), Arc::new(GatewayDial(dialer)), key))
}

/// The gateway in the environment.
fn url_in(environment: &Environment) -> Result<Option<GatewayUrl>, Failure> {
    let refuse = |why| {
        Failure::new(ErrorCode::Environment, format!("{}: {why}", env::GATEWAY.name()))
            .hint(format!("correct or unset {}", env::GATEWAY.name()))
    };
    environment.text(env::GATEWAY).map(|text| text.parse().map_err(refuse)).transpose()
}

struct GatewayDial(Dialer);

impl Dial for GatewayDial {
    fn dial(&self) -> Pin<Box<dyn Future<Output = Result<Connection, ClientError>> + Send + '_>> {
        Box::pin(async move {
            match self.0.dial().await {
                Ok(stream) => Ok(Box::new(stream) as Connection),
                Err(error) if error.is_untrusted => Err(ClientError::Untrusted(error.reason)),
                Err(error) => Err(ClientError::Unreachable(error.reason)),
            }
        })
    }
}

#[cfg(test)]
mod tests;
