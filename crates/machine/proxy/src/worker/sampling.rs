//! What connections have to say: looked at once a second, and when they end.

use super::ProxyLoop;
use crate::address::IpNetwork;
use crate::session::{Session, SessionStage};

/// Connections looked at in one second; of more, those that moved bytes are looked at in turn. Two calls each.
const MOST: usize = 2000;

impl ProxyLoop {
    /// Looks at connections on which something moved or waits since the last second.
    pub(super) fn look_at_sessions(&mut self) {
        let since = self.now_ms.saturating_sub(super::LOOK_MS + 100);
        let moves = |s: &Session| s.moved_ms >= since || s.up.holds() + s.down.holds() > 0;
        let open = |s: &Session| s.stage == SessionStage::Open && s.server.is_some();
        let count = self.sessions.len();
        let begin = if count == 0 { 0 } else { (self.now_ms / super::LOOK_MS) as usize * MOST % count };
        let chosen: Vec<usize> = (begin..count)
            .chain(0..begin)
            .filter(|&i| self.sessions[i].as_deref().is_some_and(|s| open(s) && moves(s)))
            .take(MOST)
            .collect();
        for i in chosen {
            if let Some(mut session) = self.sessions[i].take() {
                self.look_at(&mut session);
                self.sessions[i] = Some(session);
            }
        }
    }

    /// Looks at one.
    pub(super) fn look_at(&self, session: &mut Session) {
        let Some(server) = &session.server else { return };
        let mut look = session.look.take().unwrap_or_default();
        let network = IpNetwork::of_site(session.client_address.ip());
        let sockets = [&session.client.socket, &server.socket];
        let lanes = [&session.down, &session.up];
        self.shared.paths.update(network, session.upstream_name(), |path| {
            look.look(self.now_ms, session.began_ms, sockets, lanes, path);
        });
        session.look = Some(look);
    }
}
