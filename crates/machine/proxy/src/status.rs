//! Metrics and status page over plain HTTP, on a loopback address.

use crate::background::continue_after_tick;
use crate::error::ProxyError;
use crate::exposition::CONTENT_TYPE;
use crate::http::{HttpAnswer, TEXT, answer, requested_path};
use crate::metrics::{StatusView, json_text, metrics_text, summary, tables};
use crate::pair_status::StatusPage;
use crate::shared::ProxyShared;
use std::net::{SocketAddr, TcpListener};

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
            let _ = answer(&mut stream, |request| respond(request, shared.page(), || StatusView::of(shared)));
        }
    }
}

/// Returns the answer to a request.
fn respond(request: &str, page: Option<StatusPage>, view: impl Fn() -> StatusView) -> HttpAnswer {
    let path = match requested_path(request, true) {
        Ok(path) => path,
        Err(refusal) => return refusal,
    };
    match (path, page) {
        ("/metrics", _) => ("200 OK", CONTENT_TYPE, metrics_text(&view())),
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
