//! Signing in with a browser: the gateway gives a code, the user approves it on the gateway's page, and the gateway
//! makes a key for this machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ctx_api::team::{LoginKey, LoginPoll, LoginRequest, LoginStart};
use ctx_core::ErrorCode;

use crate::client::Client;
use crate::context::Context;
use crate::failure::Failure;
use crate::gateway::{self, GatewayUrl, Login};
use crate::output::busy::Busy;
use crate::output::text;
use crate::platform::browser;

/// The additional interval between polls after a request to slow down.
const SLOWER: Duration = Duration::from_secs(2);

pub struct ChangeRequest<'a> {
    pub url: &'a GatewayUrl,
    /// The name of this machine.
    pub machine: String,
    pub authority: Option<PathBuf>,
    /// Open the page in the browser.
    pub opens_page: bool,
}

pub fn sign_in(request: ChangeRequest<'_>, context: &Context) -> Result<Login, Failure> {
    let ChangeRequest { url, machine, authority, opens_page } = request;
    // There is no key yet, and no other one is sent.
    let api = gateway::client(url, authority.clone(), "", &context.environment)?;
    let client = Client::of_gateway(url.clone(), api)?;
    let start: LoginStart = client.call_without_key("/login", &LoginRequest { machine })?;
    // A gateway must not control the terminal.
    let code = text::line(&start.code);
    let link = format!("{url}/ui/#login/{}", crate::client::encoded(&start.code, ""));
    context.note(&format!("open {link} in a browser and approve the code {code}"));
    if opens_page {
        browser::open(&link)?;
    }
    let made = wait(&client, &start)?;
    made.warnings.iter().for_each(|warning| context.note(warning));
    let (Some(key), Some(person)) = (made.key, made.person) else {
        return Err(Failure::new(ErrorCode::Daemon, format!("{url} approved the login without a key")));
    };
    Ok(Login { key, made: made.id, person, expires_at: made.expires_at, authority })
}

/// Asks until the user has decided. A gateway that is out of reach for a moment does not end the login.
fn wait(client: &Client, start: &LoginStart) -> Result<LoginKey, Failure> {
    let busy = Busy::start(format!("waiting for your approval of {}", text::line(&start.code)));
    let deadline = Instant::now() + Duration::from_secs(start.expires_in);
    let mut pause = Duration::from_secs(start.interval.max(1));
    let poll = LoginPoll { code: start.code.clone(), secret: start.secret.clone() };
    loop {
        std::thread::sleep(pause);
        let failure = match client.call_without_key::<LoginKey>("/login/key", &poll) {
            Ok(made) if made.key.is_some() => return Ok(made),
            Ok(_) => None,
            Err(failure) if failure.code == ErrorCode::TooOften => {
                pause += SLOWER;
                None
            }
            Err(failure) if is_passing(&failure) => Some(failure),
            Err(failure) => return Err(failure),
        };
        if Instant::now() > deadline {
            drop(busy);
            return Err(failure.unwrap_or_else(|| {
                Failure::new(ErrorCode::UnknownLogin, "nobody approved the code in time")
                    .hint("run `ctx login` again to get a new one")
            }));
        }
    }
}

fn is_passing(failure: &Failure) -> bool {
    let passing = [ErrorCode::GatewayUnreachable, ErrorCode::TooSlow, ErrorCode::Cut, ErrorCode::NotStored];
    passing.iter().any(|code| failure.code == *code)
}
