//! Peeks at the first bytes of a connection to route it ([`crate::first_bytes`]).

use super::{Ending, ProxyLoop};
use crate::address::plain;
use crate::first_bytes::{FirstStep, first_step};
use crate::stats::ProxyCounter;
use linux::socket::receive;
use std::io;
use std::os::fd::AsFd;

impl ProxyLoop {
    /// Reads the first bytes of a client.
    pub(super) fn read_hello(&mut self, i: usize) {
        loop {
            match self.next_step(i) {
                FirstStep::Wait => return,
                FirstStep::Header(..) => {
                    if !self.admit_after_header(i) {
                        return;
                    }
                }
                FirstStep::Route(name) => return self.route(i, name.as_deref()),
                FirstStep::Refuse => return self.close_session(i, Ending::Reset(ProxyCounter::BadHello)),
            }
        }
    }

    /// Parses the first bytes; consumes a PROXY header.
    fn next_step(&mut self, i: usize) -> FirstStep {
        let Some(session) = self.sessions[i].as_deref_mut() else { return FirstStep::Wait };
        let wants_name = !session.listener.routes.is_empty();
        if !session.awaits_header && !wants_name {
            return FirstStep::Route(None);
        }
        let socket = session.client.socket.as_fd();
        let bytes = match receive(socket, &mut self.peek_buffer, true) {
            Ok(n) => &self.peek_buffer[..n],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return FirstStep::Wait,
            Err(_) => return FirstStep::Refuse,
        };
        // The stream has ended, or the buffer is full.
        let is_all = session.client.ends || bytes.len() == self.peek_buffer.len();
        let step = first_step(bytes, is_all, session.awaits_header, wants_name);
        if let FirstStep::Header(length, between) = step {
            let taken = receive(socket, &mut self.peek_buffer[..length], false);
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
