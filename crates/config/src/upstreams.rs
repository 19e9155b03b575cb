//! The upstreams: one for each provider, and user-defined ones.

use ctx_server::{Upstream, UpstreamUrl};
use ctx_wire::Provider;

use crate::Flags;
use crate::file::ConfigFile;
use crate::sections::UpstreamKeys;

/// The allowed names, in words.
pub const NAMES: &str = "use letters, digits and `-`";

/// Whether an upstream can have this name.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Parses an upstream of the command line: `URL`, for the default provider, or `NAME=URL`. An error never repeats the address.
pub fn parse_flag(text: &str) -> Result<(String, UpstreamUrl), String> {
    let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '?']));
    let (name, url) = named.unwrap_or((Provider::DEFAULT.name(), text));
    if !is_name(name) {
        return Err(format!("invalid upstream name: {NAMES}"));
    }
    let url = url.parse().map_err(|why: ctx_server::UpstreamUrlError| why.to_string())?;
    Ok((name.to_owned(), url))
}

/// Adds the settings of a section to those for all upstreams.
fn lay(upstream: &mut Upstream, keys: &UpstreamKeys, file: &ConfigFile) {
    if let Some(url) = &keys.url {
        upstream.url = url.clone();
    }
    upstream.extra_ca.extend(keys.ca_files.iter().flatten().map(|path| file.resolve(path)));
    if let Some(proxy) = &keys.proxy {
        upstream.proxies.all = Some(proxy.clone());
        (upstream.proxies.http, upstream.proxies.https) = (None, None);
    }
    upstream.proxies.no = keys.no_proxy.clone().or(upstream.proxies.no.take());
    upstream.http2 = keys.http2.unwrap_or(upstream.http2);
    upstream.websocket = keys.websocket.unwrap_or(upstream.websocket);
}

/// The default provider's upstream with the settings for it alone, and all others.
pub(crate) fn all(mut default: Upstream, flags: &Flags, file: &ConfigFile) -> (Upstream, Vec<(String, Upstream)>) {
    let plain = default.clone();
    let mut others: Vec<(String, Upstream)> = Vec::new();
    for provider in Provider::ALL.into_iter().filter(|provider| *provider != Provider::DEFAULT) {
        if let Ok(url) = provider.url().parse() {
            others.push((provider.name().to_owned(), Upstream { url, ..plain.clone() }));
        }
    }
    for (name, keys) in &file.layer.config.upstream.named {
        match others.iter_mut().find(|(other, _)| other == name) {
            _ if name == Provider::DEFAULT.name() => lay(&mut default, keys, file),
            Some((_, upstream)) => lay(upstream, keys, file),
            // Without an address it cannot be reached.
            None if keys.url.is_none() => {}
            None => {
                let mut upstream = plain.clone();
                lay(&mut upstream, keys, file);
                others.push((name.clone(), upstream));
            }
        }
    }
    for (name, url) in &flags.upstreams {
        match others.iter_mut().find(|(other, _)| other == name) {
            Some((_, upstream)) => upstream.url = url.clone(),
            None => others.push((name.clone(), Upstream { url: url.clone(), ..plain.clone() })),
        }
    }
    (default, others)
}
