//! [`Allowed`]: the hosts that requests may go to, by name.

use reqwest::Url;

/// The allow-list.
#[derive(Debug)]
pub(super) struct Allowed {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// As a URL writes it, in lower case and ASCII.
    host: String,
    /// Names below `host`, and not itself.
    is_below: bool,
    port: Option<u16>,
}

impl Allowed {
    pub(super) fn read(hosts: &[String]) -> Result<Self, String> {
        if hosts.is_empty() {
            return Err("the list of hosts for HTTP is empty\nhint: name the hosts, or leave the capability out".to_owned());
        }
        let entries = hosts.iter().map(|host| Entry::read(host));
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// Whether requests to a URL's host and port may be made.
    pub(super) fn allows(&self, url: &Url) -> bool {
        // A name that ends in a dot is the same name.
        let Some(host) = url.host_str().map(|host| host.trim_end_matches('.')) else {
            return false;
        };
        self.entries.iter().any(|entry| {
            let is_named = match entry.is_below {
                false => host == entry.host,
                true => host
                    .strip_suffix(&entry.host)
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            };
            is_named
                && entry
                    .port
                    .is_none_or(|port| url.port_or_known_default() == Some(port))
        })
    }
}

impl Entry {
    fn read(written: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "`{written}` is no host\nhint: write `api.example.org`, `*.example.org` or `example.org:8080`"
            )
        };
        let (is_below, host) = match written.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, written),
        };
        if host.is_empty()
            || host.contains(['/', '@', '?', '#', '*', '\\'])
            || host.contains(char::is_whitespace)
        {
            return Err(invalid());
        }
        // A port that is the scheme's own is not told, so one is asked whose port nobody names.
        let url = Url::parse(&format!("ftp://{host}/")).map_err(|_| invalid())?;
        let has_port = !host.ends_with(']') && host.rsplit_once(':').is_some();
        let is_domain = url.domain().is_some();
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        if host.is_empty() || (is_below && !is_domain) {
            return Err(invalid());
        }
        Ok(Self {
            host: host.to_owned(),
            is_below,
            port: has_port.then(|| url.port_or_known_default()).flatten(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(host: &str, url: &str) -> bool {
        let allowed = Allowed::read(&[host.to_owned()]).unwrap();
        allowed.allows(&Url::parse(url).unwrap())
    }

    #[test]
    fn hosts_are_compared_whole() {
        for (host, url, expected) in [
            ("example.org", "https://example.org/x", true),
            ("example.org", "http://EXAMPLE.org.:8080", true),
            ("Example.ORG", "https://example.org", true),
            ("bücher.example", "https://xn--bcher-kva.example", true),
            ("example.org", "https://example.org.evil.com", false),
            ("example.org", "https://evil-example.org", false),
            ("example.org", "https://a.example.org", false),
            ("example.org", "https://example.org@evil.com", false),
            ("example.org", "https://evil.com/example.org", false),
            ("*.example.org", "https://a.b.example.org", true),
            ("*.example.org", "https://example.org", false),
            ("*.example.org", "https://.example.org", false),
            ("*.example.org", "https://evilexample.org", false),
            ("example.org:8080", "http://example.org:8080", true),
            ("example.org:8080", "http://example.org", false),
            ("example.org:443", "https://example.org", true),
            ("example.org:21", "http://example.org:21", true),
            ("127.0.0.1", "http://127.0.0.1:99", true),
            // Addresses are written in one way by the time they are compared.
            ("127.0.0.1", "http://2130706433", true),
            ("[::1]", "http://[::1]:80", true),
            ("[::1]:81", "http://[::1]:80", false),
        ] {
            assert_eq!(allows(host, url), expected, "{host} {url}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for host in [
            "",
            "*",
            "*.",
            "*.*.org",
            "https://example.org",
            "example.org/x",
            "a b",
            "user@example.org",
            "*.127.0.0.1",
        ] {
            assert!(Allowed::read(&[host.to_owned()]).is_err(), "{host}");
        }
        assert!(Allowed::read(&[]).is_err());
    }
}
