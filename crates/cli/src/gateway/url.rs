//! The address of a gateway: `https://HOST[:PORT]`. It has no path, because the daemon's own paths and those of the
//! providers begin at the root of its host. Plain HTTP is allowed on this machine only.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ctx_server::{UpstreamUrl, UpstreamUrlError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayUrl(UpstreamUrl);

impl GatewayUrl {
    pub fn address(&self) -> &UpstreamUrl {
        &self.0
    }

    /// Its name in requests.
    pub fn host(&self) -> &str {
        self.0.authority().as_str()
    }
}

impl FromStr for GatewayUrl {
    type Err = String;

    /// The message does not repeat the text, which may contain a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let given = text.parse::<UpstreamUrl>().map_err(|why| match why {
            UpstreamUrlError::Credentials => "an address of a gateway contains no user name and no password".to_owned(),
            _ => "expected the address of a gateway, such as https://ctx.example.com".to_owned(),
        })?;
        if !given.base_path().is_empty() {
            return Err("a gateway has a host of its own and no path: use https://HOST or https://HOST:PORT".to_owned());
        }
        let host = given.host().to_ascii_lowercase();
        if !given.is_https() && !is_loopback(&host) {
            return Err("a key never leaves this machine without TLS: use https://".to_owned());
        }
        // One spelling, because keys are found by it.
        let usual = if given.is_https() { 443 } else { 80 };
        let port = if given.port() == usual { String::new() } else { format!(":{}", given.port()) };
        let address = format!("{}://{host}{port}", given.scheme());
        address.parse().map(Self).map_err(|why: UpstreamUrlError| why.to_string())
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

fn is_loopback(host: &str) -> bool {
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    number == "localhost" || number.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gateway_has_one_spelling() {
        for (text, address) in [
            ("https://ctx.example.com", "https://ctx.example.com"),
            ("https://CTX.example.com:443/", "https://ctx.example.com"),
            (" https://ctx.example.com:8443 ", "https://ctx.example.com:8443"),
            ("http://127.0.0.1:8788", "http://127.0.0.1:8788"),
            ("http://localhost:8788/", "http://localhost:8788"),
            ("http://[::1]:8788", "http://[::1]:8788"),
        ] {
            assert_eq!(text.parse::<GatewayUrl>().expect(text).to_string(), address);
        }
    }

    #[test]
    fn an_address_without_tls_with_a_path_or_with_a_password_is_refused() {
        for (text, why) in [
            ("http://ctx.example.com", "without TLS"),
            ("http://192.168.1.5:8788", "without TLS"),
            ("http://localhost.example.com", "without TLS"),
            ("https://ctx.example.com/team", "no path"),
            ("https://me:hush@ctx.example.com", "no password"),
            ("ctx.example.com", "such as https://"),
            ("https://ctx.example.com/?hush", "such as https://"),
        ] {
            let refused = text.parse::<GatewayUrl>().expect_err(text);
            assert!(refused.contains(why) && !refused.contains("hush"), "{text}: {refused}");
        }
    }
}
