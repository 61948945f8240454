//! Where a request comes from.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};

use crate::problem::Problem;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Where a request comes from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Nobody on the way can read it.
    pub(crate) is_encrypted: bool,
}

impl Peer {
    /// Who asks, where the connection is from one of these proxies: a proxy puts the address that
    /// it was asked from behind all that it was told by that. What it asks itself has none.
    pub(crate) fn behind(self, proxies: &[IpAddr], headers: &HeaderMap) -> Result<Peer, Problem> {
        if !proxies.contains(&self.address.to_canonical()) {
            return Ok(self);
        }
        let last = |name| headers.get_all(name).iter().next_back()?.to_str().ok();
        let Some(told) = last(FORWARDED_FOR).and_then(|all| all.rsplit(',').next()) else {
            return match headers.contains_key(FORWARDED_FOR) {
                true => Err(no_address("")),
                false => Ok(self),
            };
        };
        let address = address(told.trim()).ok_or_else(|| no_address(told))?;
        let is_encrypted = last(FORWARDED_PROTO).is_some_and(|proto| proto.trim() == "https");
        Ok(Peer { address, is_encrypted })
    }
}

fn no_address(told: &str) -> Problem {
    Problem::bad(format_args!(
        "the proxy's X-Forwarded-For ends with {told:?}, which is no address"
    ))
}

/// With a port or without, as proxies say it.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address: Option<IpAddr> = bare.parse().ok().or_else(with_port);
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PROXY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn behind(proxies: &[IpAddr], said: &[(&HeaderName, &'static str)]) -> Result<Peer, Problem> {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        Peer { address: PROXY, is_encrypted: false }.behind(proxies, &headers)
    }

    #[test]
    fn proxy_says_who_asks_and_nobody_else_does() {
        let (name, proto) = (&FORWARDED_FOR, &FORWARDED_PROTO);
        for (said, address) in [
            ("198.51.100.1, 192.0.2.7", "192.0.2.7"),
            ("192.0.2.7:4711", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
        ] {
            let told = behind(&[PROXY], &[(name, "198.51.100.2"), (name, said)]).unwrap();
            assert_eq!(told.address.to_string(), address, "{said}");
        }
        assert_eq!(behind(&[PROXY], &[]).unwrap().address, PROXY);
        for wrong in ["", "unknown", "192.0.2.7,", "192.0.2.7 "] {
            let told = behind(&[PROXY], &[(name, wrong)]);
            assert_eq!(told.is_ok(), wrong.ends_with(' '), "{wrong:?}");
        }
        let others = "192.0.2.1".parse().unwrap();
        let told = behind(&[others], &[(name, "192.0.2.7"), (proto, "https")]).unwrap();
        assert_eq!(told, Peer { address: PROXY, is_encrypted: false });
        for (said, is_encrypted) in [("https", true), ("http", false)] {
            let told = behind(&[PROXY], &[(name, "192.0.2.7"), (proto, said)]).unwrap();
            assert_eq!(told.is_encrypted, is_encrypted);
        }
    }
}
