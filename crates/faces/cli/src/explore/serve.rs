//! The explorer's HTTP server on 127.0.0.1: it serves one page and answers that page's questions.

use super::connection::{Connection, HttpAnswer};
use super::questions::{Answered, Questions, unpoisoned};
use super::request::{PageRequest, requested};
use crate::args::ExploreArgs;
use crate::problem::CliProblem;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

/// The largest number of open connections; a browser opens six.
const MAX_CONNECTIONS: usize = 32;
/// Stack of a connection's thread, bytes: as large as the main thread's, as it parses the same scenarios.
const STACK: usize = 8 << 20;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const PIECES: &str = "application/octet-stream";

/// Serves the page until the program is ended.
pub fn serve(args: &ExploreArgs) -> Result<ExitCode, CliProblem> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port.unwrap_or(0)));
    let failed = |e| CliProblem::io(address.to_string(), e);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let url = format!("http://127.0.0.1:{port}/");
    if args.json {
        crate::print_json(&result::to_json(&serde_json::json!({ "url": url })))?;
    } else {
        crate::print(&format!("{url} (Ctrl-C stops the server)\n"))?;
    }
    let server = ExploreServer {
        port,
        page: ::explore::served_page(),
        questions: Arc::default(),
        connections: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        for stream in listener.incoming() {
            // A connection that failed while it was accepted needs no answer.
            let Ok(stream) = stream else { continue };
            let Some(slot) = server.slot() else { continue };
            let server = &server;
            // If no thread can be started, the connection is closed.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let _slot = slot;
                // An error means that the browser has closed the connection.
                let _ = server.answer(stream);
            });
        }
    });
    Ok(ExitCode::SUCCESS)
}

struct ExploreServer {
    port: u16,
    page: String,
    questions: Arc<Questions>,
    connections: AtomicUsize,
}

/// One of the [`MAX_CONNECTIONS`] slots; dropping it frees the slot.
struct ConnectionSlot<'a>(&'a AtomicUsize);

impl Drop for ConnectionSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl ExploreServer {
    fn slot(&self) -> Option<ConnectionSlot<'_>> {
        let open = self.connections.fetch_add(1, Relaxed);
        let slot = ConnectionSlot(&self.connections);
        (open < MAX_CONNECTIONS).then_some(slot)
    }

    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        let (mut connection, head) = Connection::open(stream)?;
        match requested(&head, self.port) {
            Ok(PageRequest::Page { head_only }) => {
                connection.answer(&HttpAnswer { head_only, ..HttpAnswer::of(HTML, self.page.as_bytes()) })
            }
            Ok(PageRequest::Progress { number }) => {
                let progress = serde_json::to_vec(&self.questions.progress(number))?;
                connection.answer(&HttpAnswer::of(JSON, &progress))
            }
            Ok(PageRequest::Answer { number, length }) => {
                let connection = Arc::new(Mutex::new(connection));
                let Answered { pieces, took } = self.questions.answer(&connection, number, length)?;
                let body = ::explore::framed(&pieces);
                let answer = HttpAnswer { took: Some(took), ..HttpAnswer::of(PIECES, &body) };
                unpoisoned(&connection).answer(&answer)
            }
            Err(status) => connection.answer(&HttpAnswer::refusal(status)),
        }
    }
}
