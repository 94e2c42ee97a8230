//! Metrics and status page over plain HTTP, on a loopback address: one request per connection, one at a time,
//! read-only.

use crate::background::continue_after_tick;
use crate::error::ProxyError;
use crate::metrics::{StatusView, json_text, metrics_text, summary, tables};
use crate::pair_status::StatusPage;
use crate::shared::ProxyShared;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Longest accepted request, bytes.
const MAX_REQUEST: usize = 8 << 10;
/// Timeout of reading or writing.
const TIMEOUT: Duration = Duration::from_secs(2);

pub fn listen(address: SocketAddr) -> Result<TcpListener, ProxyError> {
    let failed = |error| ProxyError::Listen { at: format!("status {address}"), error };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Serves requests until the proxy ends.
pub fn serve(shared: &ProxyShared, listener: &TcpListener) {
    while continue_after_tick(shared) {
        while let Ok((mut stream, _)) = listener.accept() {
            // A client that sends no request or reads no answer only harms itself.
            let _ = answer(shared, &mut stream);
        }
    }
}

fn answer(shared: &ProxyShared, stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|w| w == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        match stream.read(&mut piece)? {
            0 => break,
            n => request.extend_from_slice(&piece[..n]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let (status, kind, body) = respond(&request, shared.page(), || StatusView::of(shared));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if !request.starts_with("HEAD ") {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}

/// Returns status line, content type and body for a request.
fn respond(
    request: &str,
    page: Option<StatusPage>,
    view: impl Fn() -> StatusView,
) -> (&'static str, &'static str, String) {
    const TEXT: &str = "text/plain; charset=utf-8";
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !matches!(method, "GET" | "HEAD") {
        return ("405 Method Not Allowed", TEXT, "GET and HEAD only\n".into());
    }
    // After DNS rebinding, a foreign page's request still carries its own host name.
    let host = lines.find_map(|l| l.split_once(':').filter(|(k, _)| k.eq_ignore_ascii_case("host")));
    let host = host.map_or("localhost", |(_, v)| v.trim());
    let name =
        host.rsplit_once(':').filter(|(_, p)| p.bytes().all(|b| b.is_ascii_digit())).map_or(host, |(n, _)| n);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    if name != "localhost" && !address.is_ok_and(|a| a.is_loopback()) {
        return ("421 Misdirected Request", TEXT, "only for loopback addresses\n".into());
    }
    match (path.split('?').next().unwrap_or_default(), page) {
        ("/metrics", _) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics_text(&view())),
        ("/status.json", _) => ("200 OK", "application/json", json_text(&view())),
        ("/", Some(page)) => {
            let view = view();
            ("200 OK", "text/html; charset=utf-8", page(&summary(&view), &tables(&view)))
        }
        _ => ("404 Not Found", TEXT, "not found; available: /metrics and /status.json\n".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_get_their_status() {
        let page: StatusPage = |about, tables| format!("{about}{}", tables.len());
        let status = |request: &str| respond(request, Some(page), StatusView::default).0;
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9180\r\n\r\n"), "200 OK");
        assert_eq!(status("GET / HTTP/1.1\r\nhost: [::1]:9180\r\n\r\n"), "200 OK");
        assert_eq!(status("HEAD /status.json?x HTTP/1.0\r\n\r\n"), "200 OK");
        assert_eq!(
            status("GET /metrics HTTP/1.1\r\nHost: evil.example:9180\r\n\r\n"),
            "421 Misdirected Request"
        );
        assert_eq!(status("POST / HTTP/1.1\r\n\r\n"), "405 Method Not Allowed");
        assert_eq!(status("GET /x HTTP/1.1\r\n\r\n"), "404 Not Found");
        assert_eq!(status(""), "405 Method Not Allowed");
        assert_eq!(respond("GET / HTTP/1.1\r\n\r\n", None, StatusView::default).0, "404 Not Found");
    }
}
