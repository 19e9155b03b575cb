//! `ctx login`: signs in to a gateway and stores the key for it.

mod device;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ctx_api::call;
use ctx_core::ErrorCode;
use serde_json::json;

use super::logout;
use crate::arguments::{JsonArguments, non_empty, non_empty_path};
use crate::context::Context;
use crate::env;
use crate::failure::Failure;
use crate::gateway::{GatewayUrl, Login, Logins};
use crate::output::{text, words};
use crate::platform::machine;

/// A key has 69 characters.
const LARGEST: u64 = 4096;
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Sign in to a daemon on another machine
#[derive(Args, Debug)]
#[command(
    after_help = "Prints a link to the gateway's page, where you approve this machine. It then gets a key of its own for 90 days, which is
stored in the home and sent to this gateway only. Commands and `ctx run` use the gateway until `ctx logout`; `--listen`
selects a daemon on this machine.

Examples:
  ctx login https://ctx.example.com
  ctx login https://ctx.example.com --key-file - --ca company-ca.pem"
)]
pub struct Arguments {
    /// The gateway, https://HOST or https://HOST:PORT
    #[arg(value_name = "URL")]
    url: String,
    /// Use the key in this file instead of a browser; `-` reads it from stdin
    #[arg(long, value_name = "FILE", value_parser = non_empty_path, conflicts_with_all = ["open", "name"])]
    key_file: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// The name of this machine, for the page and the list of keys [default: its network name]
    #[arg(long, value_name = "NAME", value_parser = non_empty)]
    name: Option<String>,
    /// The authority of the gateway's certificate, in PEM, if it is not one of the system's
    #[arg(long, value_name = "FILE", value_parser = non_empty_path)]
    ca: Option<PathBuf>,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let url: GatewayUrl = arguments.url.parse().map_err(Failure::usage)?;
    let authority = arguments.ca.or_else(|| context.environment.get(env::GATEWAY_CA).map(PathBuf::from));
    // Commands may run in any folder.
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let authority = authority.map(absolute);
    let home = context.home()?;
    // A home that cannot be used is reported before a key is made.
    home.prepare()?;
    let logins = Logins::load(&home)?;
    let login = match &arguments.key_file {
        Some(file) => with_key(&url, file, authority, context)?,
        None => {
            let machine = arguments.name.unwrap_or_else(machine::name);
            device::sign_in(
                device::ChangeRequest { url: &url, machine, authority, opens_page: arguments.open },
                context,
            )?
        }
    };
    let before = logins.get(&url).cloned();
    logins.add(&url, login.clone(), &home)?;
    revoke_older(&url, before.as_ref(), &login, context);
    if arguments.format.json {
        let told = json!({ "gateway": url.to_string(), "person": login.person, "expires_at": login.expires_at });
        context.output.json(told.to_string().as_bytes())?;
    } else {
        let days = login.expires_at.map(|end| end.saturating_sub(ctx_service::now()).div_ceil(DAY));
        let days = days.map(|days| format!(" for {}", words::plural(days, "day"))).unwrap_or_default();
        let person = text::line(&login.person);
        context.output.print(&format!("Signed in to {url} as {person}{days}. `ctx logout` signs out.\n"))?;
    }
    if home.has_store() {
        context.note("conversations on this machine stay with its own daemon; `--listen 127.0.0.1:8788` selects it");
    }
    Ok(ExitCode::SUCCESS)
}

/// A key that another person made.
fn with_key(url: &GatewayUrl, file: &Path, authority: Option<PathBuf>, context: &Context) -> Result<Login, Failure> {
    let key = read_key(file)?;
    let mut login = Login { key, made: None, person: String::new(), expires_at: None, authority };
    let me = logout::client(url, &login, context)?.call(&call::me())?;
    login.person = me.name;
    Ok(login)
}

fn read_key(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().take(LARGEST).read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|file| file.take(LARGEST).read_to_string(&mut text)),
    };
    read.map_err(|error| Failure::file("read", file, &error))?;
    match text.trim() {
        "" => Err(Failure::new(ErrorCode::File, format!("{} contains no key", file.display()))),
        key => Ok(key.to_owned()),
    }
}

/// Revokes the key of an earlier login on this machine; it expires anyway.
fn revoke_older(url: &GatewayUrl, before: Option<&Login>, login: &Login, context: &Context) {
    let Some(id) = before.filter(|before| before.key != login.key).and_then(|before| before.made.as_ref()) else {
        return;
    };
    let revoked = logout::client(url, login, context).and_then(|client| client.call(&call::revoke_key(id)));
    if revoked.is_err_and(|failure| failure.code != ErrorCode::UnknownKey) {
        context.note(&format!("the key {id} of the earlier login could not be revoked; run `ctx keys revoke {id}`"));
    }
}
