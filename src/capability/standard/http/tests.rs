//! Requests to a server of the test's, and to where none may go.

mod tls;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::addresses::Guard;
use super::allowed::Allowed;
use super::exchange::Request;
use super::{Http, Web, client};
use crate::capability::standard::testing::runtime;
use crate::capability::{Call, Capability, CapabilityError, CapabilityErrorKind};
use crate::outcome::Json;

/// A server that answers each request by what `respond` makes of its head and body.
fn serve(respond: impl Fn(&str, &str) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).unwrap_or(0) > 2 {}
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let _ = stream.write_all(&respond(&head, &String::from_utf8_lossy(&body)));
        }
    });
    address
}

fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn local() -> Capability {
    Http::new(["127.0.0.1", "localhost"])
        .allow_private(true)
        .build()
        .unwrap()
}

fn request(http: &Capability, arguments: Value) -> Result<Value, CapabilityError> {
    http.call_blocking("request", &arguments)
}

fn refused(result: Result<Value, CapabilityError>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind, CapabilityErrorKind::Permission, "{error}");
    error.message
}

#[test]
fn a_request_says_all_that_came_back() {
    let address = serve(|head, body| {
        let said = format!(
            "{}|{}|{body}",
            head.lines().next().unwrap(),
            head.to_lowercase().contains("x-key: 7")
        );
        response(
            "404 Not Found",
            "x-a: 1\r\nx-a: 2\r\ncontent-type: text/plain\r\n",
            said.as_bytes(),
        )
    });
    let url = format!("http://{address}/p?q=1");
    let answer = request(
        &local(),
        json!({"url": url, "method": "put", "headers": {"X-Key": 7}, "body": "héllo"}),
    )
    .unwrap();
    assert_eq!(answer["text"], "PUT /p?q=1 HTTP/1.1|true|héllo");
    assert_eq!(
        (&answer["status"], &answer["url"], &answer["truncated"]),
        (&json!(404), &json!(url), &json!(false))
    );
    assert_eq!(answer["headers"]["x-a"], "1, 2");
    assert_eq!(answer.get("base64"), None);

    let echo = serve(|head, body| response("200 OK", "", format!("{head}{body}").as_bytes()));
    let answer = request(&local(), json!({"url": format!("http://localhost:{}", echo.port()), "method": "POST", "body": {"a": [1]}})).unwrap();
    let text = answer["text"].as_str().unwrap();
    assert!(
        text.contains("content-type: application/json") && text.ends_with(r#"{"a":[1]}"#),
        "{text}"
    );

    let bytes = serve(|_, _| response("200 OK", "", b"\xff\x00"));
    let answer = request(&local(), json!({"url": format!("http://{bytes}")})).unwrap();
    assert_eq!(
        (&answer["base64"], answer.get("text")),
        (&json!("/wA="), None)
    );
}

#[test]
fn a_body_without_end_is_cut() {
    let address = serve(|_, _| {
        let body = "é".repeat(3 << 20);
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}").into_bytes()
    });
    let url = format!("http://{address}");
    let answer = request(&local(), json!({"url": url})).unwrap();
    assert_eq!(
        (answer["text"].as_str().unwrap().len(), &answer["truncated"]),
        (1 << 20, &json!(true))
    );
    let odd = Http::new(["127.0.0.1"])
        .allow_private(true)
        .with_body_bytes(9)
        .build()
        .unwrap();
    assert_eq!(request(&odd, json!({"url": url})).unwrap()["text"], "éééé");
}

#[test]
fn a_server_that_says_nothing_is_a_timeout() {
    let address = serve(|_, _| {
        std::thread::sleep(Duration::from_secs(3));
        Vec::new()
    });
    let begun = Instant::now();
    let error = request(
        &local(),
        json!({"url": format!("http://{address}"), "timeout_seconds": 0.2}),
    )
    .unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(
        (error.kind, error.retryable),
        (CapabilityErrorKind::Timeout, true)
    );
    assert_eq!(error.message, "the request was not done after 0.2 s");
}

#[test]
fn addresses_that_are_not_public_are_refused() {
    let address = serve(|_, _| response("200 OK", "", b"reached"));
    let strict = Http::new([
        "127.0.0.1",
        "localhost",
        "169.254.169.254",
        "[::1]",
        "[::ffff:7f00:1]",
    ])
    .build()
    .unwrap();
    let port = address.port();
    for url in [
        format!("http://127.0.0.1:{port}"),
        format!("http://2130706433:{port}"),
        format!("http://0x7f.1:{port}"),
        format!("http://localhost:{port}"),
        format!("http://[::1]:{port}"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let message = refused(request(&strict, json!({"url": url})));
        assert!(
            message.ends_with("which is no public address"),
            "{url}: {message}"
        );
    }
}

#[test]
fn hosts_schemes_and_headers_that_are_not_allowed_are_refused() {
    let http = local();
    for (arguments, message) in [
        (
            json!({"url": "http://example.org/"}),
            "`example.org` is not among the hosts that are allowed",
        ),
        (
            json!({"url": "http://127.0.0.1.nip.io:81/"}),
            "`127.0.0.1.nip.io:81` is not among the hosts that are allowed",
        ),
        (
            json!({"url": "file:///etc/passwd"}),
            "`file:///etc/passwd` is neither http nor https",
        ),
        (
            json!({"url": "http://a:b@localhost/"}),
            "a URL with a user or a password is not taken: give the header `authorization`",
        ),
        (
            json!({"url": "http://localhost/", "headers": {"Host": "x"}}),
            "the header `Host` is not the program's to give",
        ),
    ] {
        assert_eq!(refused(request(&http, arguments)), message);
    }
    for (arguments, message) in [
        (
            json!({"url": "nope"}),
            "`nope` is no URL: relative URL without a base",
        ),
        (
            json!({"url": "http://localhost/", "method": "CONNECT"}),
            "`CONNECT` is no method of requests",
        ),
        (
            json!({"url": "http://localhost/", "headers": {"a": "b\r\nc: d"}}),
            "the header `a` does not read",
        ),
    ] {
        let error = request(&http, arguments).unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (CapabilityErrorKind::Tool, message)
        );
    }
}

#[test]
fn each_redirect_is_checked_anew() {
    let end = serve(|head, body| response("200 OK", "", format!("{head}|{body}").as_bytes()));
    let address = serve(move |head, _| {
        let to = match head.split(' ').nth(1).unwrap() {
            "/other-host" => "http://example.org/".to_owned(),
            "/scheme" => "file:///etc/passwd".to_owned(),
            "/loop" => "/loop".to_owned(),
            "/keep" => "/end".to_owned(),
            "/end" => return response("200 OK", "", head.as_bytes()),
            _ => format!("http://{end}/landed"),
        };
        let status = if head.starts_with("PUT") {
            "307 Temporary Redirect"
        } else {
            "302 Found"
        };
        response(status, &format!("location: {to}\r\n"), b"")
    });
    let http = local();
    let url = |path: &str| format!("http://{address}{path}");
    let at_other = refused(request(&http, json!({"url": url("/other-host")})));
    assert_eq!(
        at_other,
        "`example.org` is not among the hosts that are allowed"
    );
    assert_eq!(
        refused(request(&http, json!({"url": url("/scheme")}))),
        "`file:///etc/passwd` is neither http nor https"
    );
    let endless = request(&http, json!({"url": url("/loop")})).unwrap_err();
    assert!(
        endless.message.starts_with("more than 10 redirects"),
        "{endless}"
    );

    let secret = json!({"authorization": "Bearer key", "x-other": "stays"});
    let landed = request(
        &http,
        json!({"url": url("/x"), "method": "POST", "body": "b", "headers": secret}),
    )
    .unwrap();
    let text = landed["text"].as_str().unwrap();
    assert!(
        text.starts_with("GET /landed") && text.ends_with('|') && text.contains("x-other: stays"),
        "{text}"
    );
    assert!(!text.contains("Bearer"), "{text}");
    assert_eq!(landed["url"], format!("http://{end}/landed"));
    let kept = request(
        &http,
        json!({"url": url("/x"), "method": "PUT", "body": "b"}),
    )
    .unwrap();
    assert!(
        kept["text"].as_str().unwrap().starts_with("PUT")
            && kept["text"].as_str().unwrap().ends_with("|b")
    );
    let same = request(&http, json!({"url": url("/keep"), "headers": secret})).unwrap();
    assert!(same["text"].as_str().unwrap().contains("Bearer key"));
}

#[test]
fn a_redirect_to_a_private_address_is_refused() {
    let address = serve(|head, _| {
        let to = head
            .split(' ')
            .nth(1)
            .unwrap()
            .trim_start_matches('/')
            .to_owned();
        match to.is_empty() {
            true => response("200 OK", "", b"reached"),
            false => response("302 Found", &format!("location: http://{to}/\r\n"), b""),
        }
    });
    let port = address.port();
    let (strict, lenient) = (
        Guard {
            allows_private: false,
        },
        Guard {
            allows_private: true,
        },
    );
    let hosts = ["127.0.0.1", "localhost", "169.254.169.254"].map(str::to_owned);
    // The first request is let through by what is not asked for it: the resolver for an address, the look at the URL for
    // a name. The second meets the other.
    for (resolver, look, first, second, passes) in [
        (
            lenient,
            strict,
            "localhost",
            format!("localhost:{port}"),
            true,
        ),
        (
            lenient,
            strict,
            "localhost",
            format!("127.0.0.1:{port}"),
            false,
        ),
        (
            lenient,
            strict,
            "localhost",
            "169.254.169.254".to_owned(),
            false,
        ),
        (
            strict,
            lenient,
            "127.0.0.1",
            format!("127.0.0.1:{port}"),
            true,
        ),
        (
            strict,
            lenient,
            "127.0.0.1",
            format!("localhost:{port}"),
            false,
        ),
    ] {
        let web = Web {
            allowed: Allowed::read(&hosts).unwrap(),
            client: client(resolver, super::trusted()).unwrap(),
            guard: look,
            body_bytes: 1000,
        };
        let call = Call {
            arguments: Arc::new(
                Json::of(&json!({"url": format!("http://{first}:{port}/{second}")})).unwrap(),
            ),
            cancelled: Arc::default(),
        };
        let made = runtime().block_on(Request::read(&call).unwrap().make(&web));
        match passes {
            true => assert_eq!(made.unwrap().text.as_deref(), Some("reached")),
            false => {
                let error = made.map(|answer| answer.text).unwrap_err();
                assert_eq!(error.kind, CapabilityErrorKind::Permission, "{error}");
                assert!(
                    error.message.ends_with("which is no public address"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn a_port_that_nobody_listens_at_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = request(&local(), json!({"url": format!("http://{address}/")})).unwrap_err();
    assert_eq!(
        (error.kind, error.retryable),
        (CapabilityErrorKind::Tool, true)
    );
    assert!(
        error.message.to_lowercase().contains("connection refused"),
        "{error}"
    );
}

#[test]
fn a_server_that_does_not_speak_tls_is_told() {
    let address = serve(|_, _| response("200 OK", "", b"plain"));
    let error = request(&local(), json!({"url": format!("https://{address}/")})).unwrap_err();
    assert_eq!(error.kind, CapabilityErrorKind::Tool);
    assert!(error.message.contains("InvalidContentType"), "{error}");
}
