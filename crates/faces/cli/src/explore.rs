//! `longfat explore`: the page that runs the simulator itself, served to this machine or written as a file.
//!
//! The server knows one page. It listens on 127.0.0.1, answers those who ask by that address or as localhost (a page from
//! elsewhere whose name leads here does not, RFC 9110 section 7.4), reads no more of a request than its head, and keeps no
//! connection.

use crate::args::ExploreArgs;
use crate::problem::CliProblem;
use app::output::write_file;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// A browser's request head is a few hundred bytes.
const MOST_HEAD: usize = 16 << 10;
/// Whoever says nothing for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at a time; a browser opens six.
const MOST_AT_A_TIME: usize = 32;

/// Serves or writes the page.
pub fn explore(args: &ExploreArgs) -> Result<ExitCode, CliProblem> {
    let page = ::explore::page();
    let Some(folder) = &args.write else { return serve(args, &page) };
    fs::create_dir_all(folder).map_err(|e| CliProblem::io(folder.display().to_string(), e))?;
    let file = write_file(&folder.join("index.html"), page.as_bytes())?.display().to_string();
    if args.json {
        crate::print_json(&result::to_json(&serde_json::json!({ "file": file })))?;
    } else {
        crate::print(&format!("{file}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(args: &ExploreArgs, page: &str) -> Result<ExitCode, CliProblem> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port.unwrap_or(0)));
    let failed = |e| CliProblem::io(address.to_string(), e);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let url = format!("http://127.0.0.1:{port}/");
    if args.json {
        crate::print_json(&result::to_json(&serde_json::json!({ "url": url })))?;
    } else {
        crate::print(&format!("{url} (Ctrl-C ends it)\n"))?;
    }
    let open = AtomicUsize::new(0);
    thread::scope(|scope| {
        for stream in listener.incoming() {
            // A connection that failed before it began is the other's affair.
            let Ok(stream) = stream else { continue };
            if open.fetch_add(1, Relaxed) >= MOST_AT_A_TIME {
                open.fetch_sub(1, Relaxed);
                continue;
            }
            let open = &open;
            scope.spawn(move || {
                // Who went away needs no answer.
                let _ = answer(stream, port, page);
                open.fetch_sub(1, Relaxed);
            });
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn answer(mut stream: TcpStream, port: u16, page: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    let (status, kind, body) = match asked(&head, port) {
        Ok(()) => ("200 OK", "text/html; charset=utf-8", page),
        Err(status) => (status, "text/plain; charset=utf-8", status),
    };
    let with_body = if head.starts_with(b"HEAD ") { "" } else { body };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{with_body}",
        body.len()
    )?;
    stream.flush()
}

/// The request's head, up to its empty line.
fn head(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut some = [0; 2048];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        let n = stream.read(&mut some)?;
        if n == 0 || head.len() + n > MOST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&some[..n]);
    }
    Ok(head)
}

/// Whether that asks for the page; else the status that says why not.
fn asked(head: &[u8], port: u16) -> Result<(), &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "400 Bad Request")?;
    let mut lines = text.split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (request.next().unwrap_or_default(), request.next().unwrap_or_default());
    let fields = lines.filter_map(|line| line.split_once(':'));
    let mut hosts =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim());
    let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
    if !hosts.next().is_some_and(|host| own.iter().any(|own| own.eq_ignore_ascii_case(host))) {
        return Err("421 Misdirected Request");
    }
    if !["GET", "HEAD"].contains(&method) {
        return Err("405 Method Not Allowed");
    }
    let path = target.split('?').next().unwrap_or_default();
    if ["/", "/index.html"].contains(&path) { Ok(()) } else { Err("404 Not Found") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_is_there_and_only_for_this_machine() {
        let ask = |line: &str, host: &str| asked(format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes(), 8080);
        for line in ["GET / HTTP/1.1", "HEAD /index.html HTTP/1.1", "GET /?x HTTP/1.1"] {
            assert_eq!(ask(line, "localhost:8080"), Ok(()), "{line}");
        }
        assert_eq!(ask("GET / HTTP/1.1", "127.0.0.1:8080"), Ok(()));
        assert_eq!(ask("GET / HTTP/1.1", "evil.example:8080"), Err("421 Misdirected Request"));
        assert_eq!(ask("GET / HTTP/1.1", "127.0.0.1:80"), Err("421 Misdirected Request"));
        assert_eq!(asked(b"GET / HTTP/1.1\r\n\r\n", 8080), Err("421 Misdirected Request"));
        assert_eq!(ask("POST / HTTP/1.1", "localhost:8080"), Err("405 Method Not Allowed"));
        assert_eq!(ask("GET /../etc/passwd HTTP/1.1", "localhost:8080"), Err("404 Not Found"));
        assert_eq!(asked(b"\xff\xff", 8080), Err("400 Bad Request"));
    }

    #[test]
    fn a_head_ends_and_is_no_book() {
        assert!(head(&mut &b"GET / HTTP/1.1\r\n"[..]).is_err());
        assert!(head(&mut &vec![b'x'; MOST_HEAD + 1][..]).is_err());
        assert_eq!(head(&mut &b"GET /\r\n\r\n"[..]).unwrap(), b"GET /\r\n\r\n");
    }
}
