//! What is looked at before a connection is routed ([`crate::first`]), peeked at in its socket.

use super::{Ending, ProxyLoop};
use crate::address::plain;
use crate::first::{FirstStep, first_step};
use crate::stats::ProxyCounter;
use linux::socket::receive;
use std::io;
use std::os::fd::AsFd;

impl ProxyLoop {
    /// Looks at what a client has sent.
    pub(super) fn read_hello(&mut self, i: usize) {
        loop {
            match self.look_at_hello(i) {
                FirstStep::Wait => return,
                FirstStep::Header(..) => {
                    if !self.admit_late(i) {
                        return;
                    }
                }
                FirstStep::Route(name) => return self.route(i, name.as_deref()),
                FirstStep::Refuse => return self.end(i, Ending::Reset(ProxyCounter::BadHello)),
            }
        }
    }

    /// What the first bytes lead to; a header is taken.
    fn look_at_hello(&mut self, i: usize) -> FirstStep {
        let Some(session) = self.sessions[i].as_deref_mut() else { return FirstStep::Wait };
        let wants_name = !session.listener.routes.is_empty();
        if !session.awaits_header && !wants_name {
            return FirstStep::Route(None);
        }
        let socket = session.client.socket.as_fd();
        let bytes = match receive(socket, &mut self.peeked, true) {
            Ok(n) => &self.peeked[..n],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return FirstStep::Wait,
            Err(_) => return FirstStep::Refuse,
        };
        // Nothing but the end of the stream, or no room for more of it.
        let is_all = session.client.ends || bytes.len() == self.peeked.len();
        let step = first_step(bytes, is_all, session.awaits_header, wants_name);
        if let FirstStep::Header(length, between) = step {
            let taken = receive(socket, &mut self.peeked[..length], false);
            session.awaits_header = false;
            if let Some((from, to)) = between {
                session.client_address = plain(from);
                session.destination = Some(plain(to));
            }
            if !taken.is_ok_and(|n| n == length) {
                return FirstStep::Refuse;
            }
        }
        step
    }
}
