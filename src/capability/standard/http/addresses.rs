//! [`Guard`]: which addresses requests may go to, and the [`Resolver`] that gives reqwest no others.
//!
//! reqwest connects to what the resolver gives it and asks nobody again: there is no moment between the look and the
//! connection at which a name could change its mind.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Which addresses are reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) allows_private: bool,
}

/// An address that requests do not go to.
#[derive(Debug)]
pub(super) struct Refused {
    host: String,
    address: IpAddr,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is at {}, which is no public address",
            self.host, self.address
        )
    }
}

impl std::error::Error for Refused {}

impl Guard {
    fn admits(self, address: IpAddr) -> bool {
        self.allows_private || is_public(address)
    }

    /// Refuses a URL that names an address itself: no resolver is asked for it.
    pub(super) fn check(self, url: &Url) -> Result<(), Refused> {
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        match address {
            Ok(address) if !self.admits(address) => Err(Refused {
                host: host.to_owned(),
                address,
            }),
            _ => Ok(()),
        }
    }
}

/// The system's resolver, without the addresses that are not reached.
pub(super) struct Resolver {
    pub(super) guard: Guard,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.guard;
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One that is refused refuses all: a name that leads to both is a name that tries.
            match found.iter().find(|found| !guard.admits(found.ip())) {
                Some(refused) => Err(Refused {
                    host: name.as_str().to_owned(),
                    address: refused.ip(),
                }
                .into()),
                None => Ok(Box::new(found.into_iter()) as Addrs),
            }
        })
    }
}

/// Whether an address belongs to the internet at large.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_4(address),
        IpAddr::V6(address) => is_public_6(address),
    }
}

fn is_public_4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = match (first, second, third) {
        // This network; private; loopback; multicast, reserved and broadcast.
        (0 | 10 | 127 | 224..=255, _, _) => true,
        // Carriers' own; among it is a cloud's metadata.
        (100, 64..=127, _) => true,
        // Link-local, most clouds' metadata.
        (169, 254, _) => true,
        (172, 16..=31, _) => true,
        // Protocols', documentation, relays of 6to4.
        (192, 0, 0 | 2) | (192, 88, 99) => true,
        (192, 168, _) => true,
        // Benchmarks, documentation.
        (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Azure's own services.
        (168, 63, 129) => true,
        _ => false,
    };
    !is_special
}

fn is_public_6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_4(Ipv4Addr::new(a, b, c, d))
    };
    match [first, second, third, fourth, fifth, sixth] {
        // An address of IPv4 in other clothes: mapped, by NAT64, by 6to4.
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => embedded(seventh, eighth),
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, and what documentation and benchmarks are given.
        [0x2001, 0..=0x01ff | 0x0db8, ..] => false,
        [0x3fff, 0..=0x0fff, ..] => false,
        // What is given out at all; the rest is loopback, private, link-local, multicast, or for later.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_and_no_others() {
        for address in [
            "93.184.216.34",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
