//! A browser's connection: a request's head, its body in pieces, an answer. It carries one request.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Take, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a request's head; a browser's has a few hundred.
const MAX_HEAD: u64 = 16 << 10;
/// Bytes read at a time.
const BUFFER: usize = 64 << 10;
/// How long to wait for a head, for more of a body, or for room to write.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection's bytes, as long as its request may take.
struct TimedStream {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for TimedStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left.min(PATIENCE)))?;
        self.stream.read(out)
    }
}

/// A connection that carries one request.
pub struct Connection {
    /// Ends with the request's body.
    stream: Take<BufReader<TimedStream>>,
}

impl Connection {
    /// A connection that was accepted, and the head of its request, up to its empty line.
    pub fn open(stream: TcpStream) -> io::Result<(Connection, Vec<u8>)> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let stream = TimedStream { stream, deadline: Instant::now() + PATIENCE };
        let mut stream = BufReader::with_capacity(BUFFER, stream).take(MAX_HEAD);
        let head = head(&mut stream)?;
        stream.set_limit(0);
        Ok((Connection { stream }, head))
    }

    /// Goes on with the request's body, of so many bytes, which may come until the deadline.
    pub fn expect(&mut self, length: u64, deadline: Instant) {
        self.stream.set_limit(length);
        self.stream.get_mut().get_mut().deadline = deadline;
    }

    /// The body's next line, with its end; `None`: it has more than `max` bytes.
    pub fn line(&mut self, max: u64) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        (&mut self.stream).take(max + 1).read_until(b'\n', &mut line)?;
        Ok((line.len() as u64 <= max).then_some(line))
    }

    /// Whether the browser closed the connection. While there is a body to read, reading it shows that.
    pub fn is_closed(&self) -> bool {
        if self.stream.limit() > 0 {
            return false;
        }
        let stream = &self.stream.get_ref().get_ref().stream;
        let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
        let restored = stream.set_nonblocking(false);
        let is_open = match peeked {
            Ok(bytes) => bytes > 0,
            Err(e) => matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        !is_open || restored.is_err()
    }

    /// Reads what is left of the body, then answers: a browser reads no answer before it has sent all, and to close over unread
    /// bytes would take the answer from it (RFC 9112, section 9.6).
    pub fn answer(&mut self, answer: &HttpAnswer<'_>) -> io::Result<()> {
        io::copy(&mut self.stream, &mut io::sink())?;
        let HttpAnswer { status, kind, took, body, head_only } = answer;
        let took = took.map(|t| format!("Server-Timing: answer;dur={:.3}\r\n", t.as_secs_f64() * 1e3));
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{}Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
            body.len(),
            took.unwrap_or_default(),
        );
        let mut stream = &self.stream.get_ref().get_ref().stream;
        stream.write_all(head.as_bytes())?;
        if !head_only {
            stream.write_all(body)?;
        }
        stream.shutdown(Shutdown::Write)
    }
}

impl Read for Connection {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.read(out)
    }
}

/// An answer to a request.
pub struct HttpAnswer<'a> {
    /// Its first line's.
    pub status: &'a str,
    /// What the body is.
    pub kind: &'a str,
    /// How long the body was worked on, for those who want to know.
    pub took: Option<Duration>,
    /// The body.
    pub body: &'a [u8],
    /// The body is only announced.
    pub head_only: bool,
}

impl<'a> HttpAnswer<'a> {
    /// A body that was at hand.
    pub fn of(kind: &'a str, body: &'a [u8]) -> HttpAnswer<'a> {
        HttpAnswer { status: "200 OK", kind, took: None, body, head_only: false }
    }

    /// A refusal: its status is all it says.
    pub fn refusal(status: &'a str) -> HttpAnswer<'a> {
        HttpAnswer { status, ..HttpAnswer::of("text/plain; charset=utf-8", status.as_bytes()) }
    }
}

/// A request's head, up to its empty line.
fn head(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_and_is_bounded() {
        let head = |bytes: &[u8]| head(&mut bytes.take(MAX_HEAD));
        assert!(head(b"GET / HTTP/1.1\r\n").is_err());
        assert!(head(&[b'x'; MAX_HEAD as usize + 1]).is_err());
        assert_eq!(head(b"GET /\r\n\r\nbody").unwrap(), b"GET /\r\n\r\n");
    }
}
