//! What is looked at before a connection is routed: a PROXY header, then the name in a ClientHello. Both are peeked at; the
//! header is taken once it is whole, the ClientHello goes on to the server as it came.

use super::{Ending, ProxyLoop};
use crate::address::plain;
use crate::header::{HeaderRead, read_header};
use crate::hello::{HelloRead, server_name};
use crate::stats::ProxyCounter;
use crate::sys;
use std::io;
use std::os::fd::AsFd;

/// What a look at the first bytes led to.
enum HelloStep {
    /// More bytes are wanted.
    Wait,
    /// The header is done with; look again.
    Again,
    /// To be routed by this name.
    Route(Option<String>),
    /// Refused.
    Refuse,
}

impl ProxyLoop {
    /// Looks at what a client has sent.
    pub(super) fn read_hello(&mut self, i: usize) {
        loop {
            match self.look_at_hello(i) {
                HelloStep::Wait => return,
                HelloStep::Again => {
                    if !self.admit_late(i) {
                        return;
                    }
                }
                HelloStep::Route(name) => return self.route(i, name.as_deref()),
                HelloStep::Refuse => return self.end(i, Ending::Reset(ProxyCounter::BadHello)),
            }
        }
    }

    fn look_at_hello(&mut self, i: usize) -> HelloStep {
        let Some(session) = self.sessions[i].as_deref_mut() else { return HelloStep::Wait };
        let wants_name = !session.listener.routes.is_empty();
        if !session.awaits_header && !wants_name {
            return HelloStep::Route(None);
        }
        let socket = session.client.socket.as_fd();
        let bytes = match sys::receive(socket, &mut self.peeked, true) {
            Ok(n) => &self.peeked[..n],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return HelloStep::Wait,
            Err(_) => return HelloStep::Refuse,
        };
        // Nothing but the end of the stream, or no room for more of it.
        let is_all = session.client.ends || bytes.len() == self.peeked.len();
        if session.awaits_header {
            return match read_header(bytes) {
                Ok(HeaderRead::More) if !is_all => HelloStep::Wait,
                Ok(HeaderRead::Whole { length, between, .. }) => {
                    let taken = sys::receive(socket, &mut self.peeked[..length], false);
                    session.awaits_header = false;
                    if let Some((from, to)) = between {
                        session.client_address = plain(from);
                        session.destination = Some(plain(to));
                    }
                    if taken.is_ok_and(|n| n == length) { HelloStep::Again } else { HelloStep::Refuse }
                }
                _ => HelloStep::Refuse,
            };
        }
        match server_name(bytes) {
            HelloRead::More if !is_all => HelloStep::Wait,
            HelloRead::Name(name) => HelloStep::Route(Some(name)),
            HelloRead::More | HelloRead::Nameless | HelloRead::NotTls => HelloStep::Route(None),
        }
    }
}
