//! Where a request comes from.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};

use crate::problem::Problem;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Where a request comes from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) address: IpAddr,
    /// From this machine itself, and for nobody else as far as one knows: there is no limit to
    /// what it may ask.
    pub(crate) is_own: bool,
    /// Nobody on the way can read it.
    pub(crate) is_encrypted: bool,
}

/// Is it the address of one of these proxies? One on this machine may come from any of its own.
pub(crate) fn is_proxy(proxies: &[IpAddr], address: IpAddr) -> bool {
    let address = address.to_canonical();
    proxies
        .iter()
        .map(IpAddr::to_canonical)
        .any(|proxy| proxy == address || proxy.is_loopback() && address.is_loopback())
}

impl Client {
    /// At the other end of a connection.
    pub(crate) fn connected(address: IpAddr, is_encrypted: bool) -> Client {
        let address = address.to_canonical();
        Client { address, is_own: address.is_loopback(), is_encrypted }
    }

    /// Who asks, where the connection is from one of these proxies. Each puts the address that it
    /// was asked from behind all that it was told, so who asks is the last one that is no proxy of
    /// ours; what stands before it is what that one says by itself. What a proxy asks by itself
    /// has none: it counts as the proxy's.
    pub(crate) fn behind(self, proxies: &[IpAddr], headers: &HeaderMap) -> Result<Client, Problem> {
        if !is_proxy(proxies, self.address) {
            return Ok(self);
        }
        let mut client = Client { is_own: false, ..self };
        if headers.contains_key(FORWARDED_PROTO) {
            let is_https = |proto: &str| proto.trim().eq_ignore_ascii_case("https");
            let mut all = headers.get_all(FORWARDED_PROTO).iter();
            client.is_encrypted =
                all.all(|said| said.to_str().is_ok_and(|all| all.split(',').all(is_https)));
        }
        for said in headers.get_all(FORWARDED_FOR).iter().rev() {
            let said = said.to_str().map_err(|_| no_address("something unreadable"))?;
            for hop in said.rsplit(',') {
                client.address = address(hop.trim()).ok_or_else(|| no_address(hop))?;
                if !is_proxy(proxies, client.address) {
                    return Ok(client);
                }
            }
        }
        Ok(client)
    }
}

fn no_address(told: &str) -> Problem {
    Problem::bad(format_args!("the proxy's X-Forwarded-For has {told:?} where an address must be"))
}

/// With a port or a zone or without, as proxies say it.
fn address(text: &str) -> Option<IpAddr> {
    let host = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, ""))) => host,
        Some(Some((host, port))) => {
            port.strip_prefix(':')?.parse::<u16>().ok()?;
            host
        }
        Some(None) => return None,
        None => text,
    };
    let bare = host.split_once('%').map_or(host, |(address, _zone)| address);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address: Option<IpAddr> = bare.parse().ok().or_else(with_port);
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const NAME: &str = "x-forwarded-for";
    const PROTO: &str = "x-forwarded-proto";

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn behind(
        connected: Client,
        proxies: &[&str],
        said: &[(&'static str, &'static str)],
    ) -> Result<Client, Problem> {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let proxies: Vec<IpAddr> = proxies.iter().map(|proxy| ip(proxy)).collect();
        connected.behind(&proxies, &headers)
    }

    fn local() -> Client {
        Client::connected(ip("127.0.0.1"), false)
    }

    #[test]
    fn proxy_says_who_asks_and_nobody_else_does() {
        for (said, address) in [
            ("198.51.100.1, 192.0.2.7", "192.0.2.7"),
            ("192.0.2.7:4711", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%eth0]:443", "fe80::1"),
        ] {
            let said = [(NAME, "198.51.100.2"), (NAME, said)];
            let told = behind(local(), &["127.0.0.1"], &said).unwrap();
            assert_eq!(told, Client { address: ip(address), is_own: false, is_encrypted: false });
        }
        for wrong in ["", "unknown", "192.0.2.7,", "unix:", "[::1]x", "192.0.2.7 "] {
            let told = behind(local(), &["127.0.0.1"], &[(NAME, wrong)]);
            assert_eq!(told.is_ok(), wrong.ends_with(' '), "{wrong:?}");
        }
        let said = [(NAME, "192.0.2.7"), (PROTO, "https")];
        assert_eq!(behind(local(), &["192.0.2.1"], &said).unwrap(), local());
    }

    #[test]
    fn proxy_is_known_however_its_address_is_written() {
        for (proxy, connected) in [
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("127.0.0.1", "::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
        ] {
            let connected = Client::connected(ip(connected), false);
            let told = behind(connected, &[proxy], &[(NAME, "192.0.2.7")]).unwrap();
            assert_eq!(told.address, ip("192.0.2.7"), "{proxy}");
        }
        let neighbour = Client::connected(ip("2001:db8::2"), false);
        let told = behind(neighbour, &["2001:db8::1"], &[(NAME, "192.0.2.7")]).unwrap();
        assert_eq!(told, neighbour);
    }

    #[test]
    fn behind_several_proxies_it_is_who_asked_the_first_of_ours() {
        let proxies = ["192.0.2.1", "127.0.0.1"];
        for (said, address) in [
            (&[(NAME, "10.9.9.9, 198.51.100.7, 192.0.2.1")][..], "198.51.100.7"),
            (&[(NAME, "10.9.9.9, 198.51.100.7"), (NAME, "192.0.2.1, 127.0.0.1")], "198.51.100.7"),
            // Only proxies: the farthest.
            (&[(NAME, "192.0.2.1, 127.0.0.1")], "192.0.2.1"),
        ] {
            assert_eq!(behind(local(), &proxies, said).unwrap().address, ip(address));
        }
    }

    #[test]
    fn who_is_told_by_a_proxy_is_never_this_machine_itself() {
        assert!(local().is_own && Client::connected(ip("::1"), false).is_own);
        assert!(!Client::connected(ip("192.0.2.1"), false).is_own);
        for said in [&[(NAME, "127.0.0.1")][..], &[(NAME, "127.0.0.2")], &[]] {
            let told = behind(local(), &["127.0.0.1"], said).unwrap();
            assert!(told.address.is_loopback() && !told.is_own);
        }
    }

    #[test]
    fn proxy_says_whether_it_was_encrypted_up_to_there() {
        let encrypted = Client { is_encrypted: true, ..local() };
        for (connected, said, is_encrypted) in [
            (local(), Some("https"), true),
            (local(), Some("HTTPS"), true),
            (local(), Some("https,https"), true),
            (local(), Some("http, https"), false),
            (local(), Some("https, http"), false),
            (local(), None, false),
            (encrypted, None, true),
            (encrypted, Some("http"), false),
        ] {
            for client in [None, Some((NAME, "192.0.2.7"))] {
                let said: Vec<_> =
                    said.map(|said| (PROTO, said)).into_iter().chain(client).collect();
                let told = behind(connected, &["127.0.0.1"], &said).unwrap();
                assert_eq!(told.is_encrypted, is_encrypted, "{said:?}");
            }
        }
    }
}
