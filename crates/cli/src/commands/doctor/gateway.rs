//! Checks the way to a gateway. Everything behind it is on another machine.

use super::{Finding, Level};
use crate::context::Context;
use crate::gateway::{Gateway, Logins};
use crate::home::Home;
use crate::output::words;

const DAY: u64 = 24 * 60 * 60 * 1000;
/// Keys that expire sooner are reported.
const SOON: u64 = 7 * DAY;

/// `None`: the daemon is on this machine.
pub(super) fn check(context: &Context, home: &Home) -> Option<Vec<Finding>> {
    let gateway = match context.gateway() {
        Ok(gateway) => gateway?,
        Err(failure) => return Some(vec![Finding::wrong("gateway", failure)]),
    };
    let mut findings = vec![reach(&gateway, context)];
    findings.extend(expiry(&gateway, home, ctx_service::now()));
    let unseen = "the daemon's store, settings, log and upstreams are on the gateway's machine and were not checked";
    findings.push(Finding::new("gateway", Level::Note, unseen).hint("its operator runs `ctx doctor` there"));
    Some(findings)
}

fn reach(gateway: &Gateway, context: &Context) -> Finding {
    let url = &gateway.url;
    match context.found().and_then(|client| client.status()) {
        Ok(status) => {
            let me = status.me.map(|me| format!(", you are {} ({})", me.name, me.role)).unwrap_or_default();
            Finding::new("gateway", Level::Good, format!("{url} answers with version {}{me}", status.version))
        }
        Err(failure) => Finding::wrong("gateway", failure),
    }
}

fn expiry(gateway: &Gateway, home: &Home, now: u64) -> Option<Finding> {
    let logins = Logins::load(home).ok()?;
    let end = logins.get(&gateway.url)?.expires_at?;
    let left = end.saturating_sub(now);
    let renew = format!("`ctx login {}` makes a new one", gateway.url);
    let days = words::plural(left.div_ceil(DAY), "day");
    match left {
        0 => Some(Finding::new("key", Level::Wrong, "your key has expired").hint(renew)),
        1..SOON => Some(Finding::new("key", Level::Note, format!("your key expires in {days}")).hint(renew)),
        _ => Some(Finding::new("key", Level::Good, format!("your key is valid for {days}"))),
    }
}
