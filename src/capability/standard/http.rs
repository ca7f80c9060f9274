//! The capability `http`: one request to a host of the allow-list.
//!
//! [`allowed`] says to which hosts; [`addresses`] to which machines, after a name has been resolved. Both are asked again for
//! each redirect, which reqwest is not let follow. Nothing of the host's environment is used: no proxy, no credentials.

mod addresses;
mod allowed;
mod exchange;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;

use self::addresses::{Guard, Resolver};
use self::allowed::Allowed;
use super::{signature, timeout};
use crate::capability::{Action, Call, Capability, CapabilityError};
use crate::runtime::RuntimeError;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

/// How long one attempt to connect takes.
const CONNECT: Duration = Duration::from_secs(10);

const DEFAULT_BODY_BYTES: usize = 1 << 20;

/// How long a connection waits for another request.
const IDLE: Duration = Duration::from_secs(30);

const PARAMETERS: &str = r#"{
    "type": "object",
    "required": ["url"],
    "properties": {
        "url": {"type": "string", "description": "http or https, of a host that is allowed"},
        "method": {"type": "string", "description": "`GET` by default"},
        "headers": {"type": "object", "description": "names and values"},
        "body": {"type": ["string", "object", "array"], "description": "text, or what is sent as JSON"},
        "timeout_seconds": {"type": "number", "description": "for all of it; 30 by default, 600 at most"}
    }
}"#;

/// The options of the capability `http`.
///
/// Requests go to hosts of the list and to no others, by `http` or `https`. An entry is a name (`api.example.org`), all names
/// below one (`*.example.org`, without `example.org` itself) or an address; with a port it is that port alone, without one
/// any. Whatever a name resolves to, addresses that are not public (private, loopback, link-local and so those of a cloud's
/// metadata) are refused with the kind `permission`. Redirects are followed, ten at most, each checked as the first was. No
/// proxy is used.
///
/// # Examples
///
/// ```
/// use warmcell::capabilities::Http;
///
/// let http = Http::new(["api.example.org"]).with_body_bytes(64 * 1024).build()?;
/// assert!(http.action("request").is_some());
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Http {
    hosts: Vec<String>,
    body_bytes: usize,
    allows_private: bool,
}

impl Http {
    /// With an allow-list of hosts.
    pub fn new<I, H>(hosts: I) -> Self
    where
        I: IntoIterator<Item = H>,
        H: Into<String>,
    {
        Self {
            hosts: hosts.into_iter().map(Into::into).collect(),
            body_bytes: DEFAULT_BODY_BYTES,
            allows_private: false,
        }
    }

    /// How much of a body is read; what is over it is left out, and the answer says so. Default: 1 MiB.
    pub fn with_body_bytes(mut self, bytes: usize) -> Self {
        self.body_bytes = bytes;
        self
    }

    /// Whether hosts of the list may have addresses that are not public. Default: no. For servers of a test, and for a list
    /// of hosts that are all the caller's own: a name on it reaches whatever its owner lets it resolve to.
    pub fn allow_private(mut self, allows: bool) -> Self {
        self.allows_private = allows;
        self
    }

    /// Makes the capability.
    ///
    /// # Errors
    ///
    /// When the list is empty, an entry is no host, or TLS cannot be set up.
    pub fn build(self) -> Result<Capability, RuntimeError> {
        let guard = Guard {
            allows_private: self.allows_private,
        };
        let web = Arc::new(Web {
            allowed: Allowed::read(&self.hosts).map_err(RuntimeError::InvalidOption)?,
            client: client(guard, trusted())
                .map_err(|error| RuntimeError::Unavailable(format!("no HTTP: {error}")))?,
            guard,
            body_bytes: self.body_bytes,
        });
        let request = Action::asynchronous("request", signature(PARAMETERS)?, move |call| {
            request(web.clone(), call)
        });
        Ok(Capability::new("http")
            .with_description(format!("HTTP to {}.", self.hosts.join(", ")))
            .with_action(request.with_description(
                "Makes a request: {url, status, headers, text | base64, truncated}; a status such as 404 is no error.",
            )))
    }
}

/// What the requests of one capability share.
struct Web {
    allowed: Allowed,
    client: Client,
    guard: Guard,
    body_bytes: usize,
}

/// What a request came to.
#[derive(Serialize)]
struct Answer {
    /// Where the last redirect led.
    url: String,
    status: u16,
    /// Names in lower case; several values of one name are joined by `, `.
    headers: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The body, where it is no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// Whether the body went on.
    truncated: bool,
}

/// The authorities that the machine trusts. Without any, `https` fails with the reason, and `http` goes on.
fn trusted() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn client(guard: Guard, roots: RootCertStore) -> Result<Client, String> {
    // A provider of our own: the one of the whole process is the host's to choose.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(Resolver { guard }))
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .user_agent(concat!("warmcell/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| exchange::in_words(&error))
}

async fn request(web: Arc<Web>, call: Call) -> Result<Answer, CapabilityError> {
    let timeout = timeout(&call, DEFAULT_TIMEOUT, LONGEST_TIMEOUT)?;
    let request = exchange::Request::read(&call)?;
    match tokio::time::timeout(timeout, request.make(&web)).await {
        Ok(answer) => answer,
        Err(_) => Err(CapabilityError::timeout(format!(
            "the request was not done after {} s",
            timeout.as_secs_f64()
        ))),
    }
}
