//! Flow control (RFC 9000 section 4): how much more data an end may send.

use super::trace::{FlowLimit, QlogCredit, QlogPacket, StreamPart};
use std::collections::{BTreeMap, VecDeque};

/// A stream counts as active if it carried data this few packets ago: a stream without credit holds back a
/// sender only if the others have nothing to send.
const ACTIVE_PACKETS: usize = 16;

/// The credit of the end that sends the data.
#[derive(Debug, Default)]
pub(super) struct Credit {
    /// Whether the client sends the data.
    from_client: bool,
    initial: QlogCredit,
    connection: Option<u64>,
    streams: BTreeMap<u64, u64>,
    /// Highest offset of each stream that has not ended.
    sent: BTreeMap<u64, u64>,
    /// Sum of the highest offsets, including streams that have ended.
    total: u64,
    recent: VecDeque<u64>,
}

impl Credit {
    /// `initial`: what the receiver's transport parameters grant.
    pub fn new(from_client: bool, initial: QlogCredit) -> Credit {
        Credit { from_client, initial, connection: initial.connection, ..Credit::default() }
    }

    /// Counts a packet of the sender.
    pub fn sent(&mut self, packet: &QlogPacket) {
        for StreamPart { stream, to, fin, .. } in packet.parts.iter().copied() {
            let highest = self.sent.entry(stream).or_default();
            self.total += to.saturating_sub(*highest);
            *highest = to.max(*highest);
            if fin {
                self.recent.retain(|s| *s != stream);
            } else {
                self.recent.push_front(stream);
                self.recent.truncate(ACTIVE_PACKETS);
            }
        }
    }

    /// Applies the limits in a packet of the receiver. Returns whether one of them grew.
    pub fn apply_limits(&mut self, packet: &QlogPacket) -> bool {
        let mut more = false;
        for FlowLimit { stream, maximum } in packet.limits.iter().copied() {
            // A limit never falls (RFC 9000 section 4.1).
            let before = match stream {
                None => self.connection.get_or_insert(0),
                Some(stream) => self.streams.entry(stream).or_insert(0),
            };
            more |= maximum > *before;
            *before = maximum.max(*before);
        }
        more
    }

    /// Bytes that may still be sent; `None` if neither limit is known.
    pub fn remaining(&self) -> Option<u64> {
        let connection = self.connection.map(|max| max.saturating_sub(self.total));
        if self.recent.is_empty() {
            // Before any stream carries data: the most that one may carry.
            let i = &self.initial;
            let most = [i.bidi_local, i.bidi_remote, i.uni].into_iter().flatten().max();
            return connection.map(|credit| most.map_or(credit, |most| credit.min(most)));
        }
        let credits: Option<Vec<u64>> = self.recent.iter().map(|s| self.stream_credit(*s)).collect();
        let stream = credits.and_then(|list| list.into_iter().max());
        match (connection, stream) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn stream_credit(&self, stream: u64) -> Option<u64> {
        // RFC 9000 section 2.1: bit 0 states who opened the stream, bit 1 whether it is unidirectional.
        let opened_by_sender = (stream & 1 == 0) == self.from_client;
        let initial = match (stream & 2 != 0, opened_by_sender) {
            (true, _) => self.initial.uni,
            (false, true) => self.initial.bidi_remote,
            (false, false) => self.initial.bidi_local,
        };
        let maximum = self.streams.get(&stream).copied().max(initial)?;
        Some(maximum.saturating_sub(self.sent.get(&stream).copied().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(stream: u64, from: u64, to: u64, fin: bool) -> QlogPacket {
        QlogPacket { parts: vec![StreamPart { stream, from, to, fin }], ..QlogPacket::default() }
    }

    fn grant(stream: Option<u64>, maximum: u64) -> QlogPacket {
        QlogPacket { limits: vec![FlowLimit { stream, maximum }], ..QlogPacket::default() }
    }

    #[test]
    fn the_smaller_limit_holds_and_retransmissions_cost_no_credit() {
        let initial = QlogCredit {
            connection: Some(10_000),
            bidi_local: Some(4_000),
            bidi_remote: Some(1),
            uni: Some(2),
        };
        // A server answers on a stream that the client opened.
        let mut credit = Credit::new(false, initial);
        credit.sent(&data(0, 0, 3_000, false));
        assert_eq!(credit.remaining(), Some(1_000));
        credit.sent(&data(0, 1_000, 2_000, false));
        assert_eq!(credit.remaining(), Some(1_000));
        assert!(credit.apply_limits(&grant(Some(0), 20_000)) && !credit.apply_limits(&grant(Some(0), 5_000)));
        assert_eq!(credit.remaining(), Some(7_000));
        assert!(credit.apply_limits(&grant(None, 12_000)));
        assert_eq!(credit.remaining(), Some(9_000));
        // One stream is out of credit, another is not.
        credit.sent(&data(4, 0, 4_000, false));
        assert_eq!(credit.remaining(), Some(5_000));
        credit.sent(&data(0, 3_000, 3_000, true));
        assert_eq!(credit.remaining(), Some(0));
    }

    #[test]
    fn without_limits_the_credit_is_unknown() {
        let mut credit = Credit::new(true, QlogCredit::default());
        credit.sent(&data(0, 0, 3_000, false));
        assert_eq!(credit.remaining(), None);
        credit.apply_limits(&grant(Some(0), 5_000));
        assert_eq!(credit.remaining(), Some(2_000));
    }
}
