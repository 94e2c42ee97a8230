//! A browser's connection, which carries one HTTP request: its head, its body in pieces, and the answer.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Take, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The largest head of a request, bytes; a browser's has a few hundred.
const MAX_HEAD: u64 = 16 << 10;
/// Size of the read buffer, bytes.
const BUFFER: usize = 64 << 10;
/// How long to wait for a head, for more of a body, or to write.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A TCP stream that can be read until a deadline.
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
        self.stream.set_read_timeout(Some(left.min(TIMEOUT)))?;
        self.stream.read(out)
    }
}

pub struct Connection {
    /// Limited to the request's body.
    stream: Take<BufReader<TimedStream>>,
}

impl Connection {
    /// Takes an accepted connection and reads the head of its request, including the final empty line.
    pub fn open(stream: TcpStream) -> io::Result<(Connection, Vec<u8>)> {
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        let stream = TimedStream { stream, deadline: Instant::now() + TIMEOUT };
        let mut stream = BufReader::with_capacity(BUFFER, stream).take(MAX_HEAD);
        let head = head(&mut stream)?;
        stream.set_limit(0);
        Ok((Connection { stream }, head))
    }

    /// Allows a body of `length` bytes to be read until the deadline.
    pub fn expect(&mut self, length: u64, deadline: Instant) {
        self.stream.set_limit(length);
        self.stream.get_mut().get_mut().deadline = deadline;
    }

    /// Reads the body's next line with its line feed; `None` if it has more than `max` bytes.
    pub fn line(&mut self, max: u64) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        (&mut self.stream).take(max + 1).read_until(b'\n', &mut line)?;
        Ok((line.len() as u64 <= max).then_some(line))
    }

    /// Whether the browser has closed the connection. Always false before the body is read: reading it shows
    /// that.
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

    /// Reads the rest of the body, then sends the answer. A browser reads no answer before it has sent
    /// everything, and closing a connection with unread bytes could reset it before the answer arrives (RFC
    /// 9112, section 9.6).
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

pub struct HttpAnswer<'a> {
    pub status: &'a str,
    /// The Content-Type.
    pub kind: &'a str,
    /// Time spent on the body, sent as Server-Timing.
    pub took: Option<Duration>,
    pub body: &'a [u8],
    /// Send the head alone, with the body's length.
    pub head_only: bool,
}

impl<'a> HttpAnswer<'a> {
    /// A successful answer without timing.
    pub fn of(kind: &'a str, body: &'a [u8]) -> HttpAnswer<'a> {
        HttpAnswer { status: "200 OK", kind, took: None, body, head_only: false }
    }

    /// An error whose body is its status.
    pub fn refusal(status: &'a str) -> HttpAnswer<'a> {
        HttpAnswer { status, ..HttpAnswer::of("text/plain; charset=utf-8", status.as_bytes()) }
    }
}

/// Reads a request's head, including the final empty line.
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
    fn a_head_ends_with_an_empty_line_and_has_a_maximum_size() {
        let head = |bytes: &[u8]| head(&mut bytes.take(MAX_HEAD));
        assert!(head(b"GET / HTTP/1.1\r\n").is_err());
        assert!(head(&[b'x'; MAX_HEAD as usize + 1]).is_err());
        assert_eq!(head(b"GET /\r\n\r\nbody").unwrap(), b"GET /\r\n\r\n");
    }
}
