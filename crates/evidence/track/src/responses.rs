//! Requests and responses: how long the server takes to answer.

use crate::SpanHistogram;
use units::{Span, Time};

/// Response times of one server on a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchanges {
    /// Time from the last byte of a request to the first byte of its response, at the capture: the server's
    /// own time plus the round trip between capture and server. Excludes exchanges with retransmissions and
    /// requests sent while a response was still arriving.
    pub waits: SpanHistogram,
    /// Minimum round trip between capture and server; `None` if nothing shows it.
    pub way: Option<Span>,
    /// The longest wait, with the numbers of the packets that end the request and begin the response.
    pub longest: Option<(Span, [u32; 2])>,
}

impl Exchanges {
    /// Records the wait between the packet that ends a request and the packet that begins its response.
    fn record(&mut self, wait: Span, request: u32, response: u32) {
        self.waits.record(wait);
        if self.longest.is_none_or(|longest| wait > longest.0) {
            self.longest = Some((wait, [request, response]));
        }
    }
}

/// Matches requests with responses.
#[derive(Debug, Default)]
pub struct ExchangeTracker {
    /// Time and packet number of the last byte of the request that awaits a response.
    request: Option<(Time, u32)>,
    /// Boxed: most connections have no exchange.
    done: Option<Box<Exchanges>>,
}

impl ExchangeTracker {
    /// The client sends data. `new`: not a retransmission, and no gap before it. `answering`: the server's
    /// response is still arriving, so its next data answers an earlier request.
    #[inline]
    pub fn client_data(&mut self, new: bool, answering: bool, number: u32, now: Time) {
        self.request = (new && !answering).then_some((now, number));
    }

    /// The server sends data. `new`: not a retransmission, and no gap before it.
    #[inline]
    pub fn server_data(&mut self, new: bool, number: u32, now: Time) {
        if let Some((at, request)) = self.request.take().filter(|_| new) {
            self.done.get_or_insert_default().record(now.since(at), request, number);
        }
    }

    /// Returns the exchanges of the connection; `None` if there were none.
    pub fn finish(self) -> Option<Box<Exchanges>> {
        self.done
    }
}
