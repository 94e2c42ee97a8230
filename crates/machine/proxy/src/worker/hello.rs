//! Peeks at the first bytes of a connection to route it ([`crate::first_bytes`]).

use super::{Ending, ProxyLoop};
use crate::address::plain;
use crate::first_bytes::{FirstBytes, classify_first_bytes};
use crate::stats::ProxyCounter;
use linux::socket::receive;
use std::io;
use std::os::fd::AsFd;

impl ProxyLoop {
    /// Reads the first bytes of a client.
    pub(super) fn read_hello(&mut self, i: usize) {
        loop {
            match self.next_step(i) {
                FirstBytes::Wait => return,
                FirstBytes::Header(..) => {
                    if !self.admit_after_header(i) {
                        return;
                    }
                }
                FirstBytes::Route(name) => return self.route(i, name.as_deref()),
                FirstBytes::Refuse => return self.close_session(i, Ending::Reset(ProxyCounter::BadHello)),
            }
        }
    }

    /// Parses the first bytes; consumes a PROXY header.
    fn next_step(&mut self, i: usize) -> FirstBytes {
        let Some(session) = self.sessions[i].as_deref_mut() else { return FirstBytes::Wait };
        let wants_name = !session.listener.routes.is_empty();
        if !session.awaits_header && !wants_name {
            return FirstBytes::Route(None);
        }
        let socket = session.client.socket.as_fd();
        let bytes = match receive(socket, &mut self.peek_buffer, true) {
            Ok(n) => &self.peek_buffer[..n],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return FirstBytes::Wait,
            Err(_) => return FirstBytes::Refuse,
        };
        // The stream has ended, or the buffer is full.
        let is_all = session.client.ends || bytes.len() == self.peek_buffer.len();
        let step = classify_first_bytes(bytes, is_all, session.awaits_header, wants_name);
        if let FirstBytes::Header(length, between) = step {
            let taken = receive(socket, &mut self.peek_buffer[..length], false);
            session.awaits_header = false;
            if let Some((from, to)) = between {
                session.client_address = plain(from);
                session.destination = Some(plain(to));
            }
            if !taken.is_ok_and(|n| n == length) {
                return FirstBytes::Refuse;
            }
        }
        step
    }
}
