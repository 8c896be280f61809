//! Where a webhook may be: the URL, and the address that is really connected to.
//!
//! A name is resolved once, every address it has is looked at, and one of those is connected to: a name that answers
//! differently the next time gains nothing. Addresses inside the machine, its network or its provider are refused, however
//! they are written.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

/// An address that is not for the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused(pub IpAddr);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a public address; only a webhook that allows private ones is sent there", self.0)
    }
}

/// A URL that something can be posted to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub url: Url,
    pub host: Host<String>,
    pub port: u16,
    pub is_tls: bool,
}

impl Target {
    pub fn parse(text: &str) -> Result<Target, String> {
        let url = Url::parse(text).map_err(|why| format!("its URL can not be read: {why}"))?;
        let is_tls = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(format!("its URL begins with `{other}:` and not with `https:` or `http:`")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its URL names a user; whoever is told knows us by the signature".to_string());
        }
        let host = url.host().map(|host| host.to_owned()).ok_or("its URL has no host")?;
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or("its URL has no port")?;
        Ok(Target { url, host, port, is_tls })
    }

    /// The address that the URL itself says. A name says none.
    fn literal(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
            Host::Domain(_) => None,
        }
    }

    /// What can be told before anything is resolved.
    pub fn check_literal(&self) -> Result<(), Refused> {
        self.literal().map_or(Ok(()), |address| check(&[address]))
    }

    /// The addresses to connect to. Looked up once.
    pub async fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        match (&self.host, self.literal()) {
            (_, Some(address)) => Ok(vec![SocketAddr::new(address, self.port)]),
            (Host::Domain(name), None) => {
                let found = tokio::net::lookup_host((name.as_str(), self.port)).await;
                let found: Vec<SocketAddr> =
                    found.map_err(|error| format!("{name} has no address: {error}"))?.collect();
                if found.is_empty() { Err(format!("{name} has no address")) } else { Ok(found) }
            }
            (Host::Ipv4(_) | Host::Ipv6(_), None) => Err("its URL has no host".to_string()),
        }
    }
}

/// Whether all of them are for the outside. One that is not condemns the name that gave it.
pub(crate) fn check(addresses: &[IpAddr]) -> Result<(), Refused> {
    match addresses.iter().find(|address| !is_public(**address)) {
        Some(refused) => Err(Refused(*refused)),
        None => Ok(()),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// First address and length of every range that IANA keeps for special purposes, and of what providers answer on.
const INSIDE: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by carriers
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // a provider's own, from inside its machines
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local, and most metadata services
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24),  // name-server research
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, and broadcast
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within = |(first, length): &(Ipv4Addr, u32)| {
        (address.to_bits() ^ first.to_bits()).checked_shr(32 - length).is_some_and(|rest| rest == 0)
    };
    !INSIDE.iter().any(within)
}

/// Only global unicast is public, less what is kept for special purposes in it. An address that stands for an IPv4 address is
/// judged as that one.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = || Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
    match (a, b) {
        // IPv4-mapped.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => is_public_v4(v4()),
        // NAT64: what a network without IPv4 makes of an IPv4 address.
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => is_public_v4(v4()),
        // Protocol assignments, Teredo and ORCHID among them; documentation; 6to4; documentation.
        (0x2001, 0..0x200) | (0x2001, 0xdb8) | (0x2002, _) | (0x3fff, 0..0x1000) => false,
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways to write an address that is not for the outside, and things that are no address to post to.
    const INSIDE_FORMS: &str = "
        http://127.0.0.1/ http://127.1/ http://127.0.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/
        http://017700000001/ http://0177.0.0.1/ http://0x7F.0x0.0x0.0x1/ http://127.0.0.1:8080/a?b http://127.255.255.254/
        http://%31%32%37.0.0.1/ http://①②⑦.⓪.⓪.①/ http://127。0。0。1/ http://0.0.0.0/ http://0/ http://0.1.2.3/
        http://10.0.0.1/ http://10.255.255.255/ http://167772161/ http://172.16.0.1/ http://172.31.255.255/
        http://192.168.0.1/ http://192.168.1/ http://3232235521/ http://0xc0a80001/ http://100.64.0.1/
        http://100.100.100.200/latest/meta-data/ http://100.127.255.255/ http://169.254.169.254/latest/meta-data/
        http://2852039166/ http://0xa9fea9fe/ http://0251.0376.0251.0376/ http://169.254.170.2/v2 http://168.63.129.16/
        http://192.0.0.192/opc http://192.0.2.1/ http://192.88.99.1/ http://198.18.0.1/ http://198.19.255.255/
        http://198.51.100.1/ http://203.0.113.1/ http://224.0.0.1/ http://239.255.255.250:1900/ http://240.0.0.1/
        http://255.255.255.255/ http://[::1]/ http://[::]/ http://[0:0:0:0:0:0:0:1]/ http://[::ffff:127.0.0.1]/
        http://[::ffff:7f00:1]/ http://[::ffff:169.254.169.254]/ http://[::ffff:10.0.0.1]/ http://[::127.0.0.1]/
        http://[64:ff9b::7f00:1]/ http://[64:ff9b::169.254.169.254]/ http://[64:ff9b::10.0.0.1]/
        http://[64:ff9b:1::a00:1]/ http://[fe80::1]/ http://[febf::1]/ http://[fc00::1]/ http://[fd00:ec2::254]/
        http://[fec0::1]/ http://[ff02::1]/ http://[2002:7f00:1::]/ http://[2002:a00:1::1]/ http://[2001::1]/
        http://[2001:db8::1]/ http://[3fff::1]/ http://[100::1]/ http://[5f00::1]/ http://[::ffff:0:127.0.0.1]/
        https://127.0.0.1/ https://[::1]:8443/ http://192.168.0.1.:80/";

    const NO_TARGETS: &str = "
        ftp://example.com/ file:///etc/passwd gopher://127.0.0.1:25/ http:// https://user@example.com/ javascript:alert(1)
        http://user:pass@example.com/ http://public@127.0.0.1/ example.com //example.com/ http://exa%00mple.com/
        http://256.0.0.1/ http://1.2.3.4.5/ http://[::1 http://[fe80::1%25eth0]/ http://example.com:0/ http://example.com:99999/
        data:text/plain,x unix:/run/docker.sock";

    const OUTSIDE: &str = "
        http://1.1.1.1/ https://8.8.8.8:443/x http://172.15.255.255/ http://172.32.0.1/ http://100.63.255.255/
        http://100.128.0.1/ http://169.253.1.1/ http://192.167.1.1/ http://198.17.0.1/ http://223.255.255.255/
        http://168.63.129.17/ https://[2606:4700::1111]/ https://[2a00:1450::1]/ http://[64:ff9b::8.8.8.8]/
        http://[::ffff:1.1.1.1]/ http://[2001:4860::8888]/ http://134744072/";

    // covers: K-26
    #[test]
    fn what_is_inside_is_refused_however_it_is_written() {
        let inside: Vec<&str> = INSIDE_FORMS.split_whitespace().collect();
        let no_targets: Vec<&str> = NO_TARGETS.split_whitespace().collect();
        assert!(inside.len() + no_targets.len() >= 60);
        for text in inside {
            let target = Target::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!(target.literal().is_some(), "{text} is read as a name: {:?}", target.host);
            assert!(target.check_literal().is_err(), "{text} is {:?}", target.host);
        }
        for text in no_targets {
            assert!(Target::parse(text).is_err(), "{text} is {:?}", Target::parse(text));
        }
        for text in OUTSIDE.split_whitespace() {
            assert_eq!(Target::parse(text).unwrap().check_literal(), Ok(()), "{text}");
        }
    }

    #[test]
    fn one_address_inside_condemns_the_name() {
        let public = || IpAddr::from([1, 1, 1, 1]);
        let inside = IpAddr::from([10, 0, 0, 1]);
        assert_eq!(check(&[public()]), Ok(()));
        assert_eq!(check(&[public(), inside, public()]), Err(Refused(inside)));
    }
}
