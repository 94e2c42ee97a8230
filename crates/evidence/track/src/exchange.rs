//! Requests and their responses: how long the end that is asked takes to answer.

use crate::SpanHistogram;
use units::{Span, Time};

/// What one end asked the other, and when that answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchanges {
    /// From the last byte of a request to the first of its response, at the capture: the server's time, and the way between
    /// capture and server and back. Requests and responses of which something was sent again, and requests that came while a
    /// response was on its way, are left out.
    pub waits: SpanHistogram,
    /// The least that the way from the capture to the server and back was seen to take; `None` where nothing shows it.
    pub way: Option<Span>,
    /// The longest, with the numbers of the packets that end the request and begin the response.
    pub longest: Option<(Span, [u32; 2])>,
}

impl Exchanges {
    /// A request that ended in packet `asked` was answered by packet `answered`, `wait` later.
    fn answered(&mut self, wait: Span, asked: u32, answered: u32) {
        self.waits.record(wait);
        if self.longest.is_none_or(|longest| wait > longest.0) {
            self.longest = Some((wait, [asked, answered]));
        }
    }
}

/// Whose turn it is.
#[derive(Debug, Default)]
pub struct ExchangeTurn {
    /// The last byte of the request that waits for its response: when, and in which packet.
    asked: Option<(Time, u32)>,
    /// Most connections have none.
    done: Option<Box<Exchanges>>,
}

impl ExchangeTurn {
    /// Data of the end that asks passes; `new`: for the first time, with nothing missing before it; `answering`: the other
    /// end's response is still on its way, so that what it sends next answers something else.
    #[inline]
    pub fn asks(&mut self, new: bool, answering: bool, number: u32, now: Time) {
        self.asked = (new && !answering).then_some((now, number));
    }

    /// Data of the other end passes; `new` likewise.
    #[inline]
    pub fn answers(&mut self, new: bool, number: u32, now: Time) {
        if let Some((at, asked)) = self.asked.take().filter(|_| new) {
            self.done.get_or_insert_default().answered(now.since(at), asked, number);
        }
    }

    /// All of them.
    pub fn finish(self) -> Option<Box<Exchanges>> {
        self.done
    }
}
