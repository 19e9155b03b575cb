//! The upstreams: one for each provider, and those that a user names.

use std::path::PathBuf;

use ctx_server::{Secret, Upstream, UpstreamUrl};
use ctx_wire::Provider;

use super::file::{ConfigFile, Reader, Value};
use super::{Flags, proxies};
use crate::env::Environment;
use crate::error::ConfigError;

/// `[upstream.NAME]`.
#[derive(Clone, Debug, Default)]
pub struct NamedUpstream {
    pub name: String,
    url: Option<UpstreamUrl>,
    ca_files: Option<Vec<PathBuf>>,
    proxy: Option<Secret>,
    no_proxy: Option<String>,
    http2: Option<bool>,
}

impl NamedUpstream {
    pub(super) fn read(
        name: &str,
        reader: &Reader<'_>,
        section: &Value<'_>,
    ) -> Result<(Self, Vec<String>), ConfigError> {
        let mut named = NamedUpstream { name: name.to_owned(), ..Self::default() };
        let mut unknown = Vec::new();
        let path = |key: &str| format!("upstream.{name}.{key}");
        for (key, value) in reader.section(&format!("upstream.{name}"), section)? {
            match key.get_ref().as_ref() {
                "url" => {
                    let url = reader.text(&path("url"), value)?.parse::<UpstreamUrl>();
                    named.url = Some(url.map_err(|why| reader.refuse(value.span(), why.to_string()))?);
                }
                "ca_files" => named.ca_files = Some(reader.paths(&path("ca_files"), value)?),
                "proxy" => named.proxy = Some(Secret::new(reader.text(&path("proxy"), value)?)),
                "no_proxy" => named.no_proxy = Some(reader.text(&path("no_proxy"), value)?.to_owned()),
                "http2" => named.http2 = Some(reader.switch(&path("http2"), value)?),
                other => unknown.push(path(other)),
            }
        }
        if !is_name(name) {
            return Err(reader.refuse(section.span(), format!("`{name}` is no name for an upstream: {NAMES}")));
        }
        Ok((named, unknown))
    }

    /// The settings of this section on top of those for all.
    fn over(&self, upstream: &mut Upstream) {
        self.url.clone().into_iter().for_each(|url| upstream.url = url);
        upstream.extra_ca.extend(self.ca_files.iter().flatten().cloned());
        if let Some(proxy) = &self.proxy {
            upstream.proxies.all = Some(proxy.clone());
            (upstream.proxies.http, upstream.proxies.https) = (None, None);
        }
        upstream.proxies.no = self.no_proxy.clone().or(upstream.proxies.no.take());
        upstream.http2 = self.http2.unwrap_or(upstream.http2);
    }
}

const NAMES: &str = "use letters, digits and `-`";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// An upstream on the command line: `URL`, which is Anthropic's, or `NAME=URL`. A refusal never repeats the address.
pub fn parse_flag(text: &str) -> Result<(String, UpstreamUrl), String> {
    let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', ':', '?']));
    let (name, url) = named.unwrap_or((Provider::Anthropic.name(), text));
    if !is_name(name) {
        return Err(format!("the name of an upstream is wrong: {NAMES}"));
    }
    let url = url.parse().map_err(|why: ctx_server::UpstreamUrlError| why.to_string())?;
    Ok((name.to_owned(), url))
}

/// Anthropic's upstream with what is set for it alone, and all others.
pub(super) fn all(
    mut anthropic: Upstream,
    flags: &Flags,
    environment: &Environment,
    files: &[ConfigFile],
) -> (Upstream, Vec<(String, Upstream)>) {
    let sections: Vec<&NamedUpstream> = files.iter().rev().flat_map(|file| &file.upstreams).collect();
    let plain = Upstream { proxies: proxies(environment, files), ..anthropic.clone() };
    let mut others: Vec<(String, Upstream)> = Vec::new();
    for provider in Provider::ALL.into_iter().filter(|provider| *provider != Provider::Anthropic) {
        if let Ok(url) = provider.url().parse() {
            others.push((provider.name().to_owned(), Upstream { url, ..plain.clone() }));
        }
    }
    for section in sections {
        match others.iter_mut().find(|(name, _)| *name == section.name) {
            _ if section.name == Provider::Anthropic.name() => section.over(&mut anthropic),
            Some((_, upstream)) => section.over(upstream),
            None if section.url.is_some() => {
                let mut upstream = plain.clone();
                section.over(&mut upstream);
                others.push((section.name.clone(), upstream));
            }
            // Without an address it cannot be reached; the file says so when it is read.
            None => {}
        }
    }
    for (name, url) in &flags.upstreams {
        match others.iter_mut().find(|(other, _)| other == name) {
            Some((_, upstream)) => upstream.url = url.clone(),
            None => others.push((name.clone(), Upstream { url: url.clone(), ..plain.clone() })),
        }
    }
    (anthropic, others)
}
