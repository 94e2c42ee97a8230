//! Samples connections: once a second, and when they end.

use super::ProxyLoop;
use crate::address::IpNetwork;
use crate::session::{Session, SessionStage};

/// Connections sampled per second; with more, active ones are sampled in rotation. Each sample needs two
/// system calls.
const MAX_SAMPLES: usize = 2000;

impl ProxyLoop {
    /// Samples connections that have moved or held bytes since the last second.
    pub(super) fn sample_sessions(&mut self) {
        let since = self.now_ms.saturating_sub(super::SAMPLE_MS + 100);
        let is_active = |s: &Session| s.moved_ms >= since || s.up.holds() + s.down.holds() > 0;
        let open = |s: &Session| s.stage == SessionStage::Open && s.server.is_some();
        let count = self.sessions.len();
        let begin =
            if count == 0 { 0 } else { (self.now_ms / super::SAMPLE_MS) as usize * MAX_SAMPLES % count };
        let chosen: Vec<usize> = (begin..count)
            .chain(0..begin)
            .filter(|&i| self.sessions[i].as_deref().is_some_and(|s| open(s) && is_active(s)))
            .take(MAX_SAMPLES)
            .collect();
        for i in chosen {
            if let Some(mut session) = self.sessions[i].take() {
                self.sample_session(&mut session);
                self.sessions[i] = Some(session);
            }
        }
    }

    /// Samples one connection.
    pub(super) fn sample_session(&self, session: &mut Session) {
        let Some(server) = &session.server else { return };
        let mut sample = session.sample.take().unwrap_or_default();
        let network = IpNetwork::client_network(session.client_address.ip());
        let sockets = [&session.client.socket, &server.socket];
        let directions = [&session.down, &session.up];
        self.shared.paths.update(network, session.upstream_name(), |path| {
            sample.update(self.now_ms, session.began_ms, sockets, directions, path);
        });
        session.sample = Some(sample);
    }
}
