//! [`Request`]: one request with its redirects, and what comes back.

use std::collections::HashMap;
use std::error::Error;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use reqwest::{Method, Response, StatusCode, Url};

use super::addresses::Refused;
use super::{Answer, Web};
use crate::capability::{Call, CapabilityError};

/// How many redirects are followed.
const MOST_REDIRECTS: usize = 10;

/// Headers that say how a message travels, and to whom: ours to write.
const OURS: [HeaderName; 8] = [
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    TE,
    TRAILER,
    UPGRADE,
    HeaderName::from_static("expect"),
];

/// Headers that are for the host they were given for.
const SECRET: [HeaderName; 3] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION];

/// Headers of a body.
const OF_A_BODY: [&str; 4] = [
    "content-type",
    "content-encoding",
    "content-language",
    "content-location",
];

pub(super) struct Request {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Request {
    pub(super) fn read(call: &Call) -> Result<Self, CapabilityError> {
        let written: String = call.argument("url")?;
        let url = Url::parse(&written)
            .map_err(|error| CapabilityError::tool(format!("`{written}` is no URL: {error}")))?;
        let method = call.argument::<Option<String>>("method")?;
        let method = method
            .unwrap_or_else(|| "GET".to_owned())
            .to_ascii_uppercase();
        let method = match Method::from_bytes(method.as_bytes()) {
            Ok(known) if known != Method::CONNECT && known != Method::TRACE => known,
            _ => {
                return Err(CapabilityError::tool(format!(
                    "`{method}` is no method of requests"
                )));
            }
        };
        let mut headers = headers(call)?;
        let body = call.argument::<Option<serde_json::Value>>("body")?;
        let body = body.map(|body| match body {
            serde_json::Value::String(text) => text.into_bytes(),
            value => {
                let json = HeaderValue::from_static("application/json");
                headers.entry(CONTENT_TYPE).or_insert(json);
                value.to_string().into_bytes()
            }
        });
        Ok(Self {
            url,
            method,
            headers,
            body,
        })
    }

    /// Makes it, and each that a redirect asks for.
    pub(super) async fn make(mut self, web: &Web) -> Result<Answer, CapabilityError> {
        for _ in 0..=MOST_REDIRECTS {
            self.check(web)?;
            let mut request = web
                .client
                .request(self.method.clone(), self.url.clone())
                .headers(self.headers.clone());
            if let Some(body) = &self.body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| failed(&error))?;
            match next(&self.url, &response) {
                None => return answer(response, web.body_bytes).await,
                Some(url) => self.follow(url?, response.status()),
            }
        }
        Err(CapabilityError::tool(format!(
            "more than {MOST_REDIRECTS} redirects, the last to `{}`",
            self.url
        )))
    }

    /// Whether the request may go where it wants to.
    fn check(&self, web: &Web) -> Result<(), CapabilityError> {
        let host = self.url.host_str().unwrap_or_default();
        if !matches!(self.url.scheme(), "http" | "https") {
            return Err(CapabilityError::permission(format!(
                "`{}` is neither http nor https",
                self.url
            )));
        }
        if !self.url.username().is_empty() || self.url.password().is_some() {
            return Err(CapabilityError::permission(
                "a URL with a user or a password is not taken: give the header `authorization`",
            ));
        }
        if !web.allowed.allows(&self.url) {
            let port = self
                .url
                .port()
                .map_or(String::new(), |port| format!(":{port}"));
            return Err(CapabilityError::permission(format!(
                "`{host}{port}` is not among the hosts that are allowed"
            )));
        }
        web.guard
            .check(&self.url)
            .map_err(|refused| CapabilityError::permission(refused.to_string()))
    }

    /// Becomes what a redirect asks for, as browsers have it.
    fn follow(&mut self, url: Url, status: StatusCode) {
        let becomes_get = match status.as_u16() {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            for name in OF_A_BODY {
                self.headers.remove(name);
            }
        }
        if url.origin() != self.url.origin() {
            for name in SECRET {
                self.headers.remove(name);
            }
        }
        self.url = url;
    }
}

fn headers(call: &Call) -> Result<HeaderMap, CapabilityError> {
    let given: Option<HashMap<String, serde_json::Value>> = call.argument("headers")?;
    let mut headers = HeaderMap::new();
    for (name, value) in given.unwrap_or_default() {
        let invalid = || CapabilityError::tool(format!("the header `{name}` does not read"));
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        if OURS.contains(&header) {
            return Err(CapabilityError::permission(format!(
                "the header `{name}` is not the program's to give"
            )));
        }
        let value = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            _ => return Err(invalid()),
        };
        headers.insert(
            header,
            HeaderValue::from_str(&value).map_err(|_| invalid())?,
        );
    }
    Ok(headers)
}

/// Where a redirect leads; none when the response is none.
fn next(url: &Url, response: &Response) -> Option<Result<Url, CapabilityError>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?;
    let text = String::from_utf8_lossy(location.as_bytes()).into_owned();
    Some(url.join(&text).map_err(|error| {
        CapabilityError::tool(format!("a redirect to `{text}`, which is no URL: {error}"))
    }))
}

async fn answer(mut response: Response, most: usize) -> Result<Answer, CapabilityError> {
    let mut headers = serde_json::Map::new();
    for name in response.headers().keys() {
        let values = response.headers().get_all(name).iter();
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        headers.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    let mut body = Vec::new();
    let mut truncated = false;
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            truncated = true;
            break;
        }
    }
    let (text, base64) = match text(body, truncated) {
        Ok(text) => (Some(text), None),
        Err(bytes) => (None, Some(STANDARD.encode(bytes))),
    };
    Ok(Answer {
        url: response.url().to_string(),
        status: response.status().as_u16(),
        headers,
        text,
        base64,
        truncated,
    })
}

/// A body as text, if it is; without the character that was cut at its end.
fn text(body: Vec<u8>, is_cut: bool) -> Result<String, Vec<u8>> {
    match String::from_utf8(body) {
        Ok(text) => Ok(text),
        Err(error) => {
            let (valid, is_unfinished) = (
                error.utf8_error().valid_up_to(),
                error.utf8_error().error_len().is_none(),
            );
            let mut bytes = error.into_bytes();
            if is_cut && is_unfinished {
                bytes.truncate(valid);
            }
            String::from_utf8(bytes).map_err(|error| error.into_bytes())
        }
    }
}

fn failed(error: &reqwest::Error) -> CapabilityError {
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(known) = cause {
        if let Some(refused) = known.downcast_ref::<Refused>() {
            return CapabilityError::permission(refused.to_string());
        }
        cause = known.source();
    }
    let text = in_words(error);
    match error.is_timeout() {
        true => CapabilityError::timeout(text),
        false => CapabilityError::tool(text).with_retryable(error.is_connect()),
    }
}

/// An error with its causes, the last of which says most.
pub(super) fn in_words(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(known) = cause {
        let said = known.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = known.source();
    }
    text
}
