//! The explorer's server: it listens on 127.0.0.1, has one page and answers that page's questions.

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

/// Connections at once; a browser opens six.
const MAX_CONNECTIONS: usize = 32;
/// A connection's stack, bytes: as the main thread's, since it parses the same scenarios.
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
        crate::print(&format!("{url} (Ctrl-C ends it)\n"))?;
    }
    let server = ExploreServer {
        port,
        page: ::explore::served_page(),
        questions: Arc::default(),
        connections: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        for stream in listener.incoming() {
            // A connection that failed before it began needs no answer.
            let Ok(stream) = stream else { continue };
            let Some(slot) = server.slot() else { continue };
            let server = &server;
            // Where the system has no thread left the connection is closed, as above.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let _slot = slot;
                // A browser that closed its connection needs no answer.
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

/// A connection's place among those that may be open at once.
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
