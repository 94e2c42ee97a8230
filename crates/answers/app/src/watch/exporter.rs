//! Serves metrics of live connections for as long as the watch lasts.

use super::metrics::WatchTotals;
use crate::CommandError;
use live::{LiveCapture, LiveOptions};
use proxy::exposition::CONTENT_TYPE;
use proxy::http::{HttpAnswer, TEXT, answer, requested_path};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

/// A watch whose sums are served over HTTP. It reads no packets and its memory does not grow.
pub struct Exporter {
    capture: LiveCapture,
    listener: TcpListener,
    totals: Arc<Mutex<WatchTotals>>,
}

impl Exporter {
    /// Starts to watch and to listen. Of `options`, `report`, `top`, `keep` and `write` are replaced.
    ///
    /// # Errors
    /// Fails when the address cannot be listened on, or with an error of [`LiveCapture::open`].
    pub fn open(address: SocketAddr, options: LiveOptions) -> Result<Exporter, CommandError> {
        let listener = TcpListener::bind(address)
            .map_err(|e| CommandError::Usage(format!("--prometheus {address}: cannot listen: {e}")))?;
        let totals = Arc::new(Mutex::new(WatchTotals::default()));
        let of_reports = totals.clone();
        let on_report = move |report| {
            of_reports.lock().unwrap_or_else(PoisonError::into_inner).add(&report);
            true
        };
        let report = Some(Box::new(on_report) as live::OnReport);
        let options = LiveOptions { report, top: None, keep: false, write: None, ..options };
        let (capture, _) = LiveCapture::open(options).map_err(|e| CommandError::Usage(e.to_string()))?;
        Ok(Exporter { capture, listener, totals })
    }

    /// Returns the address on which the metrics are served.
    ///
    /// # Errors
    /// Fails with an error of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Watches and serves until the watch ends. The watching thread keeps only the privileges that show other
    /// users' processes, the serving one none.
    ///
    /// # Errors
    /// Fails when a thread cannot drop its privileges.
    pub fn run(mut self) -> Result<(), CommandError> {
        let failed = |e| CommandError::Io("dropping privileges".into(), e);
        let is_local = self.address().is_ok_and(|address| address.ip().is_loopback());
        let (listener, totals) = (self.listener, self.totals);
        // It ends with the process: nothing is lost if a request is cut off then.
        std::thread::spawn(move || {
            let dropped = linux::privilege::keep_no_capabilities();
            for mut stream in listener.incoming().flatten().filter(|_| dropped.is_ok()) {
                // A client that sends no request or reads no answer only harms itself.
                let _ = answer(&mut stream, |request| respond(request, is_local, &totals));
            }
        });
        let watch = move || {
            live::confine_parser().map_err(failed)?;
            io::copy(&mut self.capture, &mut io::sink()).map_err(|e| CommandError::Io("sockets".into(), e))
        };
        let watched = std::thread::scope(|scope| scope.spawn(watch).join());
        watched.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|_| ())
    }
}

fn respond(request: &str, is_local: bool, totals: &Mutex<WatchTotals>) -> HttpAnswer {
    match requested_path(request, is_local) {
        Ok("/metrics") => {
            let totals = totals.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", CONTENT_TYPE, totals.text(linux::process::resident()))
        }
        Ok(_) => ("404 Not Found", TEXT, "not found; available: /metrics\n".into()),
        Err(refusal) => refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_metrics_are_served() {
        let status = |request: &str, is_local| respond(request, is_local, &Mutex::default()).0;
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9417\r\n\r\n", true), "200 OK");
        assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: db7:9417\r\n\r\n", false), "200 OK");
        assert_eq!(
            status("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", true),
            "421 Misdirected Request"
        );
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n", true), "404 Not Found");
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n", true), "405 Method Not Allowed");
        let (_, kind, body) = respond("GET /metrics HTTP/1.1\r\n\r\n", true, &Mutex::default());
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        assert!(body.starts_with("# HELP longfat_watch_limit_seconds_total "), "{body}");
    }
}
