//! Tests of datagrams: echoes, and trains in both directions.

use super::{Client, ClientError, REPLY_TIME, Shared, unexpected};
use crate::datagram::DatagramKind;
use crate::endpoint::{Endpoint, SentTrain};
use crate::{Arrival, Reply, Request, TrainOrder};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time after the last datagram of a test in which others may arrive, beyond a round trip.
const TAIL: Duration = Duration::from_millis(400);
/// Size of an echo, bytes.
const ECHO_BYTES: usize = 64;

/// The answers to some echoes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EchoResult {
    /// Echoes sent.
    pub sent: u64,
    /// RTT of each that was answered, ms, in the order in which they were sent.
    pub rtt_ms: Vec<f64>,
}

impl EchoResult {
    /// Share of the echoes that was not answered; 0 if none was sent.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { 1.0 - self.rtt_ms.len() as f64 / self.sent as f64 }
    }
}

/// A datagram of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainPacket {
    /// Time of sending, µs since the first was sent.
    pub sent_us: u64,
    /// Time of arrival, µs since the first arrived; `None` if it was lost.
    pub arrived_us: Option<u64>,
    /// Payload, bytes.
    pub size: u16,
    /// TOS or traffic class as sent and as it arrived.
    pub tos: u8,
    pub arrived_tos: Option<u8>,
}

/// Fate of each datagram of a train.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainResult {
    /// The datagrams in the order in which they were sent.
    pub packets: Vec<TrainPacket>,
    /// Numbers of the datagrams in the order in which they arrived, from 0.
    pub order: Vec<u32>,
    /// Datagrams that had to wait for room in the sender's buffer.
    pub waited: u32,
    /// Datagrams that reached the receiving host, which lost them because it was late.
    pub dropped: u32,
}

/// Sends echoes; made by a [`Client`] before another test begins.
pub struct Echoes {
    endpoint: Arc<Endpoint>,
    first: u32,
    most: u32,
}

impl Echoes {
    /// Sends echoes at intervals until `ended` returns true. Returns when each was sent, ns since 1970.
    pub fn send_until(&self, pause: Duration, ended: &mut dyn FnMut() -> bool) -> Vec<(u32, u64)> {
        let begin = Instant::now();
        let mut sent = Vec::new();
        while !ended() && sent.len() < self.most as usize {
            let number = self.first.wrapping_add(sent.len() as u32);
            sent.push((number, now()));
            // A datagram that the system refuses counts as lost.
            let _ = self.endpoint.send(DatagramKind::Echo, number, ECHO_BYTES);
            let due = pause * sent.len() as u32;
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        }
        sent
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

impl Client {
    /// Prepares at most `most` echoes.
    pub(super) fn echoes(&self, most: u32) -> Echoes {
        Echoes { endpoint: self.endpoint.clone(), first: self.next_echo, most }
    }

    /// Sends echoes and waits for the answers. `tick` ends the test by `false`.
    pub fn echo(&mut self, count: u32, pause: Duration, tick: &mut dyn FnMut() -> bool) -> EchoResult {
        let sent = self.echoes(count).send_until(pause, &mut || !tick());
        self.next_echo = self.next_echo.wrapping_add(sent.len() as u32);
        self.collect_echoes(&sent)
    }

    /// Waits for the answers to echoes that were sent.
    pub(super) fn collect_echoes(&self, sent: &[(u32, u64)]) -> EchoResult {
        let begin = Instant::now();
        let shared: &Shared = &self.shared;
        let mut inbox = shared.inbox();
        while begin.elapsed() < 2 * TAIL && !sent.iter().all(|(number, _)| inbox.echoed.contains_key(number))
        {
            let Ok((next, _)) = shared.changed.wait_timeout(inbox, Duration::from_millis(50)) else {
                return EchoResult::default();
            };
            inbox = next;
        }
        let echoed = std::mem::take(&mut inbox.echoed);
        let rtt = |(number, at): &(u32, u64)| Some(echoed.get(number)?.checked_sub(*at)? as f64 / 1e6);
        EchoResult { sent: sent.len() as u64, rtt_ms: sent.iter().filter_map(rtt).collect() }
    }

    /// Requests a train from the server. `rtt` is the path's round trip, after which nothing more arrives.
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached.
    pub fn train_down(&mut self, order: &TrainOrder, rtt: Duration) -> Result<TrainResult, ClientError> {
        let order = self.numbered(order);
        self.shared.inbox().log.clear();
        let sent = match self.request(&Request::Train { train: order.clone() }, REPLY_TIME)? {
            Reply::TrainSent { sent_us, waited } if sent_us.len() <= order.count as usize => {
                SentTrain { sent_us, waited }
            }
            Reply::TrainSent { .. } => return Err(ClientError::Unexpected),
            other => return Err(unexpected(other)),
        };
        std::thread::sleep(rtt + TAIL);
        let (arrivals, dropped) = self.shared.inbox().log.get();
        Ok(joined(&order, &sent, &arrivals, dropped))
    }

    /// Sends a train to the server. `rtt` as in [`Client::train_down`].
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached.
    pub fn train_up(&mut self, order: &TrainOrder, rtt: Duration) -> Result<TrainResult, ClientError> {
        let order = self.numbered(order);
        match self.request(&Request::Clear, REPLY_TIME)? {
            Reply::Ready => {}
            other => return Err(unexpected(other)),
        }
        let sent = self.endpoint.send_train(&order, self.limits.rate, REPLY_TIME / 3);
        std::thread::sleep(rtt + TAIL);
        match self.request(&Request::Collect, REPLY_TIME)? {
            Reply::Arrivals { arrivals, dropped } => Ok(joined(&order, &sent, &arrivals, dropped)),
            other => Err(unexpected(other)),
        }
    }

    /// Gives a train numbers that no other train of this session has.
    fn numbered(&mut self, order: &TrainOrder) -> TrainOrder {
        let first = self.next_train;
        self.next_train = first.wrapping_add(order.count);
        TrainOrder { first, ..order.clone() }
    }
}

/// Joins what both ends saw of a train. The first arrival of each datagram counts; numbers of other trains
/// are ignored.
fn joined(order: &TrainOrder, sent: &SentTrain, arrivals: &[Arrival], dropped: u32) -> TrainResult {
    let index = |number: u32| number.wrapping_sub(order.first);
    let mut first: BTreeMap<u32, &Arrival> = BTreeMap::new();
    let mut arrived = Vec::new();
    for arrival in arrivals.iter().filter(|a| (index(a.number) as usize) < sent.sent_us.len()) {
        first.entry(index(arrival.number)).or_insert_with(|| {
            arrived.push(index(arrival.number));
            arrival
        });
    }
    let packet = |(i, sent): (usize, &u64)| {
        let arrival = first.get(&(i as u32));
        TrainPacket {
            sent_us: *sent,
            arrived_us: arrival.map(|a| a.at_us),
            size: order.sizes[i % order.sizes.len()],
            tos: order.tos[i % order.tos.len()],
            arrived_tos: arrival.map(|a| a.tos),
        }
    };
    let packets = sent.sent_us.iter().enumerate().map(packet).collect();
    TrainResult { packets, order: arrived, waited: sent.waited, dropped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_is_joined_by_number_and_copies_and_strangers_are_ignored() {
        let order =
            TrainOrder { first: 10, sizes: vec![100, 200], tos: vec![2], count: 3, rate: 0, whole: false };
        let arrival = |number, at_us| Arrival { number, at_us, size: 100, tos: 3 };
        let arrivals = [arrival(12, 0), arrival(10, 5), arrival(12, 9), arrival(13, 10), arrival(9, 11)];
        let train = joined(&order, &SentTrain { sent_us: vec![0, 7, 14], waited: 0 }, &arrivals, 0);
        let seen: Vec<_> = train.packets.iter().map(|p| (p.sent_us, p.arrived_us, p.size)).collect();
        assert_eq!(seen, [(0, Some(5), 100), (7, None, 200), (14, Some(0), 100)]);
        assert_eq!(train.order, [2, 0]);
        assert_eq!((train.packets[0].arrived_tos, train.packets[1].arrived_tos), (Some(3), None));
    }

    #[test]
    fn echoes_without_an_answer_are_lost() {
        assert_eq!(EchoResult { sent: 4, rtt_ms: vec![3.0, 1.0, 2.0] }.loss(), 0.25);
        assert_eq!(EchoResult::default().loss(), 0.0);
    }
}
