//! How often something may be done.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::client::Client;

/// Keys that are remembered: beyond it, those that have been quiet are forgotten.
const KEYS_MAX: usize = 10_000;

/// How many seconds' worth of requests may come at once.
const BURST_SECONDS: f64 = 4.0;

/// A bucket of tokens for each key: doing it takes one, and they come back with time.
pub(crate) struct Buckets<K> {
    per_second: f64,
    full: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

struct Bucket {
    tokens: f64,
    at: Instant,
}

impl<K: Eq + Hash> Buckets<K> {
    pub(crate) fn new(per_second: f64, full: f64) -> Buckets<K> {
        Buckets { per_second, full, buckets: Mutex::default() }
    }

    /// May it be done once more?
    pub(crate) fn take(&self, key: K, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= KEYS_MAX && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| bucket.tokens_at(now, self.per_second) < self.full);
            if buckets.len() >= KEYS_MAX {
                return false;
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket { tokens: self.full, at: now });
        let tokens = bucket.tokens_at(now, self.per_second).min(self.full);
        let allowed = tokens >= 1.0;
        *bucket = Bucket { tokens: if allowed { tokens - 1.0 } else { tokens }, at: now };
        allowed
    }
}

impl Bucket {
    fn tokens_at(&self, now: Instant, per_second: f64) -> f64 {
        self.tokens + now.saturating_duration_since(self.at).as_secs_f64() * per_second
    }
}

/// Whose an address is, as far as one can tell: of IPv6 one has 2^64 of them.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(network).into()
        }
        address => address,
    }
}

/// How many requests an address may send.
pub(crate) struct Rate(Buckets<IpAddr>);

impl Rate {
    pub(crate) fn new(per_second: u32) -> Rate {
        let per_second = f64::from(per_second);
        Rate(Buckets::new(per_second, per_second * BURST_SECONDS))
    }

    /// May it send another request? This machine itself always may.
    pub(crate) fn allows(&self, client: Client, now: Instant) -> bool {
        client.is_own || self.0.take(network(client.address), now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn burst_is_allowed_then_the_rate() {
        let (rate, start) = (Rate::new(10), Instant::now());
        let client = |address: [u8; 4]| Client::connected(address.into(), false);
        let count = |seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            (0..1000).filter(|_| rate.allows(client([192, 0, 2, 1]), now)).count()
        };
        assert_eq!([count(0), count(0), count(1), count(100)], [40, 0, 10, 40]);
        assert!(rate.allows(client([192, 0, 2, 2]), start));
        assert!((0..1000).all(|_| rate.allows(client([127, 0, 0, 1]), start)));
    }

    #[test]
    fn of_many_addresses_that_one_has_each_is_the_same() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(
            [of("2001:db8:1:2::1"), of("2001:db8:1:3::1")],
            ["2001:db8:1:2::", "2001:db8:1:3::"]
        );
        assert_eq!(
            [of("::1"), of("127.0.0.1"), of("192.0.2.7")],
            ["::1", "127.0.0.1", "192.0.2.7"]
        );
        // As IPv4 comes to a socket of both.
        assert_eq!([of("::ffff:192.0.2.7"), of("::ffff:127.0.0.1")], ["192.0.2.7", "127.0.0.1"]);
    }
}
