//! Chooses trains of datagrams until one exceeds the path's rate, and evaluates them.

use super::model::{Direction, Limiter};
use ::measure::client::{Client, ClientError, TrainResult};
use ::measure::{MAX_TRAIN_PACKETS, TrainOrder};
use diagnosis::train::{TrainDoubt, TrainFinding, TrainPacket, evaluate};
use std::time::Duration;

/// Rate of the first train as a multiple of the best that TCP reached, and of each further one as a multiple
/// of the one before.
const FIRST_RATE: f64 = 1.6;
const NEXT_RATE: f64 = 2.5;
/// Rate of the train that measures a policer's bucket, as a multiple of the policer's.
const SHARP: f64 = 1.8;
/// A train of which one in this many datagrams had to wait for room in the send buffer was held back.
const HELD_BACK: u32 = 5;
/// The lowest limit that is believed, as a multiple of the best that TCP reached.
const LEAST_LIMIT: f64 = 0.95;
/// Most trains of a direction.
const MAX_TRAINS: u32 = 6;
/// Minimum and maximum rate, bit/s.
const MIN_RATE: f64 = 500e3;
const MAX_RATE: f64 = 1e9;
/// Duration of a train, s.
const SECONDS: f64 = 1.2;
/// Sizes of whole IP packets, bytes: small ones measure small buckets, large ones high rates.
const PACKETS: [f64; 3] = [600.0, 1000.0, 1280.0];
/// Time in which a bucket refills and a queue empties before a train.
const QUIET: Duration = Duration::from_millis(900);
/// IP and UDP headers, bytes.
pub const HEADERS_V4: u16 = 28;
pub const HEADERS_V6: u16 = 48;

/// Findings from the trains of a direction.
pub struct Trains {
    pub limiter: Limiter,
    /// Share of the last train that arrived out of order.
    pub reordered_share: f64,
}

/// Sends trains in a direction. `best` is the greatest rate that TCP reached, bit/s, `rtt` the path's round
/// trip, `headers` the length of IP and UDP headers.
///
/// # Errors
/// Fails when the server refuses or cannot be reached.
pub fn trains(
    client: &mut Client,
    direction: Direction,
    best: f64,
    rtt: Duration,
    headers: u16,
) -> Result<Option<Trains>, ClientError> {
    let most = client.limits().rate.map_or(MAX_RATE, |limit| MAX_RATE.min(limit as f64));
    let mut rate = (FIRST_RATE * best).max(MIN_RATE);
    if rate > most {
        return Ok(None);
    }
    let (mut count, mut datagrams, mut retried, mut refined) = (0, 0, false, false);
    loop {
        std::thread::sleep(QUIET);
        let order = order(rate, headers);
        let train = send(client, direction, &order, rtt)?;
        count += 1;
        datagrams += u64::from(order.count);
        let finding = match train.dropped {
            0 => with_tcp(evaluate(&packets(&train, headers), HELD_BACK * train.waited > order.count), best),
            // What the receiving host lost says nothing of the path.
            _ => TrainFinding::Unknown(TrainDoubt::TooFew),
        };
        let is_last = count == MAX_TRAINS || rate * NEXT_RATE > most;
        let next = match finding {
            TrainFinding::Unlimited { .. } => rate * NEXT_RATE,
            // Barely above a policer's rate: the train that is faster measures its bucket better.
            TrainFinding::Policer { rate: found, .. } if rate < SHARP * found && !refined => {
                refined = true;
                SHARP * found
            }
            // Above the rate, but the bucket was used up too late or the delays were too noisy.
            TrainFinding::Unknown(_) if !std::mem::replace(&mut retried, true) => rate * 1.5,
            _ => rate,
        };
        if next == rate || is_last {
            let limiter = Limiter::of(finding, count, datagrams);
            return Ok(Some(Trains { limiter, reordered_share: reordered(&train) }));
        }
        rate = next;
    }
}

/// Combines a train's finding with the greatest rate that TCP reached: where TCP was faster than a train that
/// met no limit, that rate is the one up to which there is none, and a limit that TCP exceeded is that of a busy
/// host or of a moment.
fn with_tcp(finding: TrainFinding, best: f64) -> TrainFinding {
    match finding {
        TrainFinding::Unlimited { above } => TrainFinding::Unlimited { above: above.max(best) },
        TrainFinding::Policer { rate, .. } | TrainFinding::Queue { rate, .. }
            if rate < LEAST_LIMIT * best =>
        {
            TrainFinding::Unknown(TrainDoubt::Jitter)
        }
        other => other,
    }
}

/// Sends one train.
pub fn send(
    client: &mut Client,
    direction: Direction,
    order: &TrainOrder,
    rtt: Duration,
) -> Result<TrainResult, ClientError> {
    match direction {
        Direction::Up => client.train_up(order, rtt),
        Direction::Down => client.train_down(order, rtt),
    }
}

/// Chooses the size and number of datagrams for a rate of whole packets, bit/s.
fn order(rate: f64, headers: u16) -> TrainOrder {
    let count = |size: f64| (rate * SECONDS / 8.0 / size) as u32;
    let fits = PACKETS.into_iter().find(|size| count(*size) <= MAX_TRAIN_PACKETS);
    let size = fits.unwrap_or(PACKETS[PACKETS.len() - 1]);
    let payload = size as u16 - headers;
    TrainOrder {
        first: 0,
        sizes: vec![payload],
        tos: vec![0],
        count: count(size).clamp(60, MAX_TRAIN_PACKETS),
        rate: (rate * f64::from(payload) / size) as u64,
        whole: false,
    }
}

/// Converts a train for its evaluation, in sizes of whole IP packets.
fn packets(train: &TrainResult, headers: u16) -> Vec<TrainPacket> {
    let seconds = |us: u64| us as f64 / 1e6;
    let packet = |p: &::measure::client::TrainPacket| TrainPacket {
        sent: seconds(p.sent_us),
        arrived: p.arrived_us.map(seconds),
        bytes: u32::from(p.size) + u32::from(headers),
    };
    train.packets.iter().map(packet).collect()
}

/// Returns the share of datagrams that arrived after one that was sent later (RFC 4737 section 3.3).
fn reordered(train: &TrainResult) -> f64 {
    let mut newest = None;
    let late = train.order.iter().filter(|number| {
        let is_late = newest.is_some_and(|newest| **number < newest);
        newest = newest.max(Some(**number));
        is_late
    });
    late.count() as f64 / train.order.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trains_are_bounded_and_have_the_rate_of_whole_packets() {
        let slow = order(1e6, HEADERS_V4);
        assert_eq!((slow.sizes[0], slow.count), (572, 250), "600 bytes, 1.2 s");
        let fast = order(1e9, HEADERS_V4);
        assert_eq!((fast.sizes[0], fast.count), (1252, MAX_TRAIN_PACKETS));
        let rate_of_packets = slow.rate as f64 * 600.0 / 572.0;
        assert!((rate_of_packets / 1e6 - 1.0).abs() < 1e-3, "{rate_of_packets}");
    }

    #[test]
    fn no_limit_is_below_what_tcp_reached() {
        let above = |above| with_tcp(TrainFinding::Unlimited { above }, 239e6);
        assert_eq!(above(186e6), TrainFinding::Unlimited { above: 239e6 });
        assert_eq!(above(382e6), TrainFinding::Unlimited { above: 382e6 });
        let policer = |rate| TrainFinding::Policer { rate, bucket: 30e3 };
        assert_eq!(with_tcp(policer(3.5e6), 4.8e6), TrainFinding::Unknown(TrainDoubt::Jitter));
        assert_eq!(with_tcp(policer(4.9e6), 4.8e6), policer(4.9e6));
    }

    #[test]
    fn reordering_counts_those_that_were_overtaken() {
        let train = |order: &[u32]| TrainResult { order: order.to_vec(), ..TrainResult::default() };
        assert_eq!(reordered(&train(&[0, 1, 2, 3])), 0.0);
        assert_eq!(reordered(&train(&[0, 2, 1, 3])), 0.25);
        assert_eq!(reordered(&train(&[3, 0, 1, 2])), 0.75);
        assert_eq!(reordered(&train(&[])), 0.0);
    }
}
