//! `ctx logout`: ends the login at a gateway.

use std::process::ExitCode;

use clap::Args;
use ctx_api::call;
use ctx_core::ErrorCode;
use serde_json::json;

use crate::arguments::JsonArguments;
use crate::client::Client;
use crate::context::Context;
use crate::failure::Failure;
use crate::gateway::{Gateway, GatewayUrl, Login, Logins};

/// Sign out of a gateway: revoke this machine's key and delete it
#[derive(Args, Debug)]
#[command(after_help = "A key that was given with `ctx login --key-file` is only deleted here, and stays valid.

Examples:
  ctx logout
  ctx logout https://ctx.example.com --forget")]
pub struct Arguments {
    /// The gateway [default: the one that commands use]
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Only delete the key here, without revoking it
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    let logins = Logins::load(&home)?;
    let named = arguments.url.map(|text| text.parse::<GatewayUrl>()).transpose().map_err(Failure::usage)?;
    let named = match named {
        Some(url) => Some(url),
        None => context.place.gateway()?,
    };
    let Some(url) = named.or_else(|| logins.current().cloned()) else {
        return Err(Failure::new(ErrorCode::NotSignedIn, "you are not signed in to a gateway"));
    };
    let Some(login) = logins.get(&url).cloned() else {
        return Err(Failure::new(ErrorCode::NotSignedIn, format!("you are not signed in to {url}")));
    };
    let end = if arguments.forget { KeyEnd::Valid } else { revoke(&url, &login, context)? };
    logins.remove(&url, &home)?;
    if arguments.format.json {
        let told = json!({ "gateway": url.to_string(), "revoked": end != KeyEnd::Valid, "key": end.name() });
        context.output.json(told.to_string().as_bytes())?;
    } else {
        context.output.print(&format!("Signed out of {url}. The key is deleted here; {}.\n", end.at_the_gateway()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The state of the key at the gateway after signing out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyEnd {
    Revoked,
    /// It had expired or was revoked before.
    Over,
    Valid,
}

impl KeyEnd {
    fn name(self) -> &'static str {
        match self {
            KeyEnd::Revoked => "revoked",
            KeyEnd::Over => "over",
            KeyEnd::Valid => "valid",
        }
    }

    fn at_the_gateway(self) -> &'static str {
        match self {
            KeyEnd::Revoked => "the gateway revoked it",
            KeyEnd::Over => "the gateway had ended it before",
            KeyEnd::Valid => "the gateway was not asked and still accepts it",
        }
    }
}

/// Revokes a key that was made for this machine, with the key itself. A key that is over already needs no revocation.
fn revoke(url: &GatewayUrl, login: &Login, context: &Context) -> Result<KeyEnd, Failure> {
    let Some(id) = &login.made else { return Ok(KeyEnd::Valid) };
    match client(url, login, context)?.call(&call::revoke_key(id)) {
        Ok(_) => Ok(KeyEnd::Revoked),
        Err(failure) if [ErrorCode::KeyWrong, ErrorCode::UnknownKey].iter().any(|code| failure.code == *code) => {
            Ok(KeyEnd::Over)
        }
        Err(failure) => {
            let hint = format!("{}; `--forget` only deletes the key here", failure.hint.clone().unwrap_or_default());
            Err(failure.hint(hint.trim_start_matches("; ")))
        }
    }
}

/// A client with the key of a login.
pub fn client(url: &GatewayUrl, login: &Login, context: &Context) -> Result<Client, Failure> {
    let gateway = Gateway::new(url.clone(), login.authority.clone(), &login.key)?;
    let api = gateway.client(&context.environment)?;
    Client::of_gateway(url.clone(), api)
}
