//! The state of an end's links, for display.

use super::PairLoop;
use crate::link::{PairLink, StreamUse};
use proxy::PairLinkView;
use std::collections::BTreeMap;
use units::Span;

fn view(link: &mut PairLink, name: &str) -> PairLinkView {
    let stats = link.conn.stats();
    let steering = link.choice.view();
    let seconds = |t: Option<Span>| t.map(Span::as_secs_f64);
    let terms = link.choice.terms();
    let flows = link.streams.values().filter(|used| matches!(used, StreamUse::Flow(_))).count();
    PairLinkView {
        peer: name.into(),
        is_up: link.is_up,
        rtt_s: steering.and_then(|s| seconds(s.rtt.0)),
        min_rtt_s: steering.and_then(|s| seconds(s.rtt.1)),
        cwnd_bytes: steering.map(|s| s.cwnd.0),
        in_flight_bytes: steering.map(|s| s.cwnd.1),
        pacing_rate: steering.and_then(|s| s.pacing_rate),
        delivery_rate: steering.and_then(|s| s.delivery_rate),
        contract_rate: terms.map(|terms| terms.rate),
        contract_bucket: terms.map(|terms| terms.bucket),
        own_loss: steering.and_then(|s| s.own_loss),
        sent_packets: stats.sent_packets,
        lost_packets: stats.lost_packets,
        sent_bytes: stats.udp_tx.bytes,
        received_bytes: stats.udp_rx.bytes,
        sent_datagrams: stats.frame_tx.datagram,
        received_datagrams: stats.frame_rx.datagram,
        streams: (link.streams.len() - flows) as u64,
        flows: flows as u64,
    }
}

impl PairLoop {
    /// Publishes the state of each peer's link; of several links to a peer, the one that is up.
    pub(crate) fn show_links(&mut self) {
        let peers = self.config.peers.keys();
        let mut views: BTreeMap<String, PairLinkView> = peers
            .map(|name| (name.clone(), PairLinkView { peer: name.clone(), ..PairLinkView::default() }))
            .collect();
        for (_, link) in self.links.iter_mut().filter(|(_, link)| !link.is_lost) {
            let Some(name) = link.peer.clone() else { continue };
            let known = views.get(&name).is_some_and(|view| view.is_up);
            if !known && views.contains_key(&name) {
                views.insert(name.clone(), view(link, &name));
            }
        }
        self.status.write(views.into_values().collect());
    }
}
