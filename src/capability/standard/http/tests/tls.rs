//! Requests by TLS, to a server whose authority is trusted or not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;

use super::response;
use crate::capability::Call;
use crate::capability::standard::http::addresses::Guard;
use crate::capability::standard::http::allowed::Allowed;
use crate::capability::standard::http::exchange::Request;
use crate::capability::standard::http::{Web, client, trusted};
use crate::capability::standard::testing::runtime;
use crate::outcome::Json;

/// A server's certificate for `localhost` and its key, as PEM files; none where there is no `openssl` to make them.
fn certificate() -> Option<(tempfile::TempDir, [std::path::PathBuf; 2])> {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["certificate", "key"].map(|name| folder.path().join(name));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args([
            "-subj",
            "/CN=a server of a test",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ])
        .arg("-out")
        .arg(&paths[0])
        .arg("-keyout")
        .arg(&paths[1])
        .output();
    made.is_ok_and(|made| made.status.success())
        .then_some((folder, paths))
}

/// A server that answers one request on each connection by TLS.
fn serve_tls([certificate, key]: [std::path::PathBuf; 2]) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(certificate).unwrap()],
            PrivateKeyDer::from_pem_file(key).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
            // A client that does not trust us hangs up here.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&response("200 OK", "", b"sealed"));
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    address
}

#[test]
fn a_server_by_tls_is_reached_when_its_authority_is_trusted() {
    let Some((_folder, paths)) = certificate() else {
        return;
    };
    let root = CertificateDer::from_pem_file(&paths[0]).unwrap();
    let address = serve_tls(paths);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root).unwrap();
    let guard = Guard {
        allows_private: true,
    };
    for (roots, host, expected) in [
        (roots.clone(), "localhost", Ok("sealed")),
        (roots, "127.0.0.1", Err("not valid for name")),
        (trusted(), "localhost", Err("UnknownIssuer")),
    ] {
        let web = Web {
            allowed: Allowed::read(&[host.to_owned()]).unwrap(),
            client: client(guard, roots).unwrap(),
            guard,
            body_bytes: 1000,
        };
        let call = Call {
            arguments: Arc::new(
                Json::of(&json!({"url": format!("https://{host}:{}/", address.port())})).unwrap(),
            ),
            cancelled: Arc::default(),
        };
        let made = runtime().block_on(Request::read(&call).unwrap().make(&web));
        match (made, expected) {
            (Ok(answer), Ok(text)) => assert_eq!(answer.text.as_deref(), Some(text)),
            (Err(error), Err(part)) => assert!(error.message.contains(part), "{error}"),
            (made, _) => panic!("{host}: {:?}", made.map(|answer| answer.text)),
        }
    }
}
