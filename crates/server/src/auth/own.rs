//! The names of the daemon.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::uri::Authority;

use super::PublicUrl;

#[derive(Clone, Debug)]
pub(crate) struct OwnAddresses {
    address: IpAddr,
    port: u16,
    /// The address that people use, if the operator has named one.
    public: Option<PublicUrl>,
}

impl OwnAddresses {
    pub(crate) fn new(listening: SocketAddr, public: Option<PublicUrl>) -> Self {
        Self { address: listening.ip(), port: listening.port(), public }
    }

    /// The port that browsers know: the same for all daemons of a team.
    pub(super) fn port(&self) -> u16 {
        self.public.as_ref().map_or(self.port, PublicUrl::port)
    }

    /// Whether an origin is a page of ours, in a request for `host`. When listening on all addresses, a numeric origin
    /// may be any machine; it must be the address that the request names.
    pub(super) fn is_origin(&self, origin: &str, host: Option<&str>) -> bool {
        let is_local = |page: &str| {
            let is_certain = !self.address.is_unspecified() || is_loopback(page);
            self.is_local(page) && (is_certain || host.is_some_and(|host| host.eq_ignore_ascii_case(page)))
        };
        self.public.as_ref().is_some_and(|public| public.is_origin(origin))
            || origin.strip_prefix("http://").is_some_and(is_local)
    }

    /// Whether `host[:port]` is ours.
    pub(crate) fn contains(&self, host_and_port: &str) -> bool {
        self.public.as_ref().is_some_and(|public| public.is_host(host_and_port)) || self.is_local(host_and_port)
    }

    /// Whether `host[:port]` is the address that people use.
    pub(super) fn is_public(&self, host_and_port: &str) -> bool {
        self.public.as_ref().is_some_and(|public| public.is_host(host_and_port))
    }

    /// Whether browsers use `host[:port]` over TLS.
    pub(super) fn is_secure(&self, host_and_port: &str) -> bool {
        self.public.as_ref().is_some_and(|public| public.is_https() && public.is_host(host_and_port))
    }

    /// The only name is `localhost`: every other name is resolved by a name server that
    /// may belong to an attacker. When listening on all addresses, any *numeric* address counts, because nobody can
    /// rebind it.
    fn is_local(&self, host_and_port: &str) -> bool {
        if host_and_port.contains(['@', '/']) {
            return false;
        }
        let Ok(authority) = host_and_port.parse::<Authority>() else {
            return false;
        };
        if authority.port_u16().unwrap_or(80) != self.port {
            return false;
        }
        let host = authority.host();
        if host.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match number.parse::<IpAddr>() {
            Ok(number) => {
                self.address.is_unspecified()
                    || number == self.address
                    || number == IpAddr::V4(Ipv4Addr::LOCALHOST)
                    || number == IpAddr::V6(Ipv6Addr::LOCALHOST)
            }
            Err(_) => false,
        }
    }
}

/// Whether `host[:port]` can only be this machine.
fn is_loopback(host_and_port: &str) -> bool {
    let Ok(authority) = host_and_port.parse::<Authority>() else { return false };
    let host = authority.host();
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || number.parse::<IpAddr>().is_ok_and(|number| number.is_loopback())
}

/// Whether an attacker's name server could have led a browser to this `host[:port]`. Not to a numeric address, and not
/// to names outside public name servers: those without a dot, `*.localhost`, and `*.internal`, under which containers
/// reach their host.
pub(super) fn may_be_rebound(host_and_port: &str) -> bool {
    let Ok(authority) = host_and_port.parse::<Authority>() else { return true };
    let host = authority.host();
    let number = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if number.parse::<IpAddr>().is_ok() {
        return false;
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    match name.rsplit_once('.') {
        Some((_, last)) => !last.eq_ignore_ascii_case("localhost") && !last.eq_ignore_ascii_case("internal"),
        None => name.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(listening: &str) -> OwnAddresses {
        OwnAddresses::new(listening.parse().expect("an address"), None)
    }

    #[test]
    fn a_loopback_daemon_answers_to_its_loopback_names_on_its_own_port() {
        let own = own("127.0.0.1:8788");
        for name in ["127.0.0.1:8788", "localhost:8788", "LocalHost:8788", "[::1]:8788"] {
            assert!(own.contains(name), "{name}");
        }
        for name in [
            "",
            "localhost",
            "127.0.0.1",
            "127.0.0.1:8789",
            "localhost.evil.example:8788",
            "evil.example:8788",
            "127.0.0.1.evil.example:8788",
            "user@localhost:8788",
            "localhost:8788/path",
            "192.168.1.5:8788",
            "127.0.0.1:",
            "[::1",
        ] {
            assert!(!own.contains(name), "{name}");
        }
    }

    #[test]
    fn the_public_address_is_ours_under_its_own_scheme_only() {
        let public = "https://ctx.example.com".parse().expect("an address");
        let own = OwnAddresses::new("0.0.0.0:8788".parse().expect("an address"), Some(public));
        for host in ["ctx.example.com", "CTX.example.com:443", "127.0.0.1:8788"] {
            assert!(own.contains(host), "{host}");
        }
        for host in ["ctx.example.com:8788", "evil.example", "ctx.example.com.evil.example", "ctx.example.com:80"] {
            assert!(!own.contains(host), "{host}");
        }
        let is_origin = |origin| own.is_origin(origin, Some("ctx.example.com"));
        assert!(is_origin("https://ctx.example.com") && is_origin("http://127.0.0.1:8788"));
        assert!(!is_origin("http://ctx.example.com") && !is_origin("https://127.0.0.1:8788"));
        assert!(own.is_secure("ctx.example.com") && !own.is_secure("127.0.0.1:8788"));
        assert_eq!(own.port(), 443);
    }

    #[test]
    fn only_names_of_public_name_servers_can_be_rebound() {
        for host in
            ["evil.example:8788", "evil.example", "127.0.0.1.nip.example", "localhost.evil.example:1", "a b", ""]
        {
            assert!(may_be_rebound(host), "{host}");
        }
        let ours = ["localhost:9000", "ctx.localhost", "127.0.0.1:1", "[::1]:8788", "192.168.1.5", "localhost.", "x"];
        for host in ours.into_iter().chain(["host.docker.internal:8788", "my-computer:8788"]) {
            assert!(!may_be_rebound(host), "{host}");
        }
    }

    #[test]
    fn without_a_port_the_name_means_port_80() {
        assert!(own("127.0.0.1:80").contains("localhost"));
    }

    #[test]
    fn listening_everywhere_any_number_will_do_but_no_name() {
        let own = own("0.0.0.0:8788");
        assert!(own.contains("192.168.1.5:8788"));
        assert!(own.contains("localhost:8788"));
        assert!(!own.contains("my-computer:8788"));
        let host = Some("192.168.1.5:8788");
        assert!(own.is_origin("http://192.168.1.5:8788", host) && own.is_origin("http://localhost:8788", host));
        assert!(!own.is_origin("http://192.168.1.6:8788", host), "another machine's page");
        assert!(!own.is_origin("http://192.168.1.6:8788", None));
    }
}
