//! The address by which people reach a daemon, as its operator names it. A browser's requests are checked against it.

use std::str::FromStr;

use http::Uri;
use http::uri::Authority;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    is_https: bool,
    host: String,
    port: u16,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the public address must have the form https://HOST or https://HOST:PORT")]
pub struct PublicUrlError;

impl PublicUrl {
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn is_https(&self) -> bool {
        self.is_https
    }

    /// The address of a path here.
    pub(crate) fn with(&self, path: &str) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        match self.port == usual(self.is_https) {
            true => format!("{scheme}://{}{path}", self.host),
            false => format!("{scheme}://{}:{}{path}", self.host, self.port),
        }
    }

    pub(super) fn is_host(&self, host_and_port: &str) -> bool {
        let Some((host, port)) = split(host_and_port) else { return false };
        host.eq_ignore_ascii_case(&self.host) && port.unwrap_or(usual(self.is_https)) == self.port
    }

    pub(super) fn is_origin(&self, origin: &str) -> bool {
        let scheme = if self.is_https { "https://" } else { "http://" };
        origin.strip_prefix(scheme).is_some_and(|host| self.is_host(host))
    }
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        let uri: Uri = text.parse().map_err(|_| PublicUrlError)?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(PublicUrlError),
        };
        let is_bare = uri.path() == "/" && uri.query().is_none();
        let (host, port) = uri.authority().and_then(|host| split(host.as_str())).ok_or(PublicUrlError)?;
        if !is_bare || host.is_empty() {
            return Err(PublicUrlError);
        }
        Ok(Self { is_https, host, port: port.unwrap_or(usual(is_https)) })
    }
}

fn usual(is_https: bool) -> u16 {
    if is_https { 443 } else { 80 }
}

fn split(host_and_port: &str) -> Option<(String, Option<u16>)> {
    if host_and_port.contains(['@', '/']) {
        return None;
    }
    let authority = host_and_port.parse::<Authority>().ok()?;
    let (host, port) = (authority.host(), authority.port_u16());
    // A colon without a number is no port.
    let is_whole = port.is_some() || authority.as_str().len() == host.len();
    is_whole.then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_port_only_if_it_is_unusual() {
        let of = |text: &str| text.parse::<PublicUrl>().expect("an address").with("/ui/");
        assert_eq!(of("https://ctx.example.com:443"), "https://ctx.example.com/ui/");
        assert_eq!(of("http://127.0.0.1:8788/"), "http://127.0.0.1:8788/ui/");
    }

    #[test]
    fn a_public_address_is_a_scheme_a_host_and_a_port() {
        for text in ["https://ctx.example.com", "https://ctx.example.com:8443/", "http://[::1]:80"] {
            assert!(text.parse::<PublicUrl>().is_ok(), "{text}");
        }
        for text in
            ["", "ctx.example.com", "ftp://ctx.example.com", "https://", "https://a/b", "https://a/?b", "https://u@a"]
        {
            assert_eq!(text.parse::<PublicUrl>(), Err(PublicUrlError), "{text}");
        }
    }
}
