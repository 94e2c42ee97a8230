//! A minimal HTTP server for reports that programs and browsers read: one request per connection, one at a
//! time, read-only. Whoever needs more puts a web server in front of it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest accepted request, bytes.
const MAX_REQUEST: usize = 8 << 10;
/// Time in which the whole request must arrive, and each part of the answer be taken.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The content type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// An answer: status line, content type and body.
pub type HttpAnswer = (&'static str, &'static str, String);

/// Reads a request and sends the answer that `respond` gives to it.
///
/// # Errors
/// Fails if the client does not send a request or read the answer in time, which only harms itself.
pub fn answer(stream: &mut TcpStream, respond: impl FnOnce(&str) -> HttpAnswer) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let deadline = Instant::now() + TIMEOUT;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|w| w == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            n => request.extend_from_slice(&piece[..n]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let (status, kind, body) = respond(&request);
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

/// Returns the path of a GET or HEAD request, without its query. With `is_local` the server listens on a
/// loopback address only, so the request must name one: after DNS rebinding, a foreign page's request still
/// carries its own host name.
///
/// # Errors
/// Returns the answer to any other request.
pub fn requested_path(request: &str, is_local: bool) -> Result<&str, HttpAnswer> {
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !matches!(method, "GET" | "HEAD") {
        return Err(("405 Method Not Allowed", TEXT, "GET and HEAD only\n".into()));
    }
    let host = lines.find_map(|l| l.split_once(':').filter(|(k, _)| k.eq_ignore_ascii_case("host")));
    let host = host.map_or("localhost", |(_, v)| v.trim());
    let name =
        host.rsplit_once(':').filter(|(_, p)| p.bytes().all(|b| b.is_ascii_digit())).map_or(host, |(n, _)| n);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    if is_local && name != "localhost" && !address.is_ok_and(|a| a.is_loopback()) {
        return Err(("421 Misdirected Request", TEXT, "only for loopback addresses\n".into()));
    }
    Ok(path.split('?').next().unwrap_or_default())
}
