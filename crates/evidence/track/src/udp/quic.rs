//! QUIC as seen without keys (RFC 9000, RFC 9369; RFC 9312 describes what is visible).
//! | visible | how |
//! |---|---|
//! | that it is QUIC, version, connection IDs | the long header of the first Initial, in a datagram of 1200 bytes or more (RFC 9000 section 14.1) |
//! | RTT of the handshake | RFC 9312 section 3.8.1: the client's last Initial to the server's first, and that to the client's next |
//! | RTT afterwards | RFC 9312 section 3.8.2: from one edge of the spin bit to the next in one direction; it includes the endpoints' response times |
//! | losses | not visible (section 4.2) |

use capture::UdpDatagram;
use units::{Span, Time};

/// RFC 9000 section 17.2: the first bit marks a long header, the second is fixed.
const LONG_HEADER_BIT: u8 = 0x80;
const FIXED_BIT: u8 = 0x40;
/// Spin bit (RFC 9000 section 17.3.1).
const SPIN_BIT: u8 = 0x20;
/// Minimum size of a datagram with a client's Initial, bytes (RFC 9000 section 14.1).
const MIN_INITIAL: u32 = 1200;
/// Maximum length of a connection ID in version 1, bytes (RFC 9000 section 17.2).
const MAX_ID: u8 = 20;
/// QUIC version 2 (RFC 9369).
const VERSION_2: u32 = 0x6b33_43cf;
/// A bit that is random for each packet (permitted by RFC 9000 section 17.4) changes at every second one. If
/// it changes at less than a quarter of this many packets, the probability of that is below one in a million
/// (binomial: 100 at 1/2, 25 or fewer).
const MIN_PACKETS: u64 = 100;
const MAX_CHANGE_SHARE: f64 = 0.25;
/// An edge that comes sooner than the handshake's RTT divided by this belongs to a reordered packet (RFC 9312
/// section 3.8.2: samples that are too small are rejected).
const MIN_PERIOD_DIVISOR: u64 = 2;

/// Visible properties of a QUIC connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuicTrack {
    /// Version in the client's last long header.
    pub version: u32,
    /// Destination connection ID of the client's first Initial.
    pub destination_id: Vec<u8>,
    /// Source connection ID that the client chose.
    pub source_id: Vec<u8>,
    /// Which end is the client: index into [`super::UdpTrack::ends`].
    pub client: usize,
    /// RTT of the handshake between capture and server; `None` if an Initial was retransmitted or one side
    /// was not seen.
    pub to_server: Option<Span>,
    /// RTT of the handshake between capture and client; `None` if one side was not seen.
    pub to_client: Option<Span>,
    /// The server requested another Initial (RFC 9000 section 8.1.2) or offered other versions (section 6).
    pub retried: bool,
    /// Whether the spin bit is usable.
    pub spin: SpinVerdict,
}

/// Behaviour of the spin bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpinVerdict {
    /// Too few packets, or it changes so often that it may be random.
    #[default]
    Unknown,
    /// The bit spins: its edges show round trips.
    Spins,
    /// The bit is constant: an end has disabled it (RFC 9000 section 17.4).
    Disabled,
}

/// An edge of the spin bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpinEdge {
    /// Time since the previous edge in the same direction.
    pub rtt: Option<Span>,
}

/// Observes a flow.
#[derive(Debug, Default)]
pub(super) struct QuicObserver {
    track: Option<QuicTrack>,
    /// The client's first and last Initial since the beginning or a Retry.
    initials: Option<(Time, Time)>,
    /// The server's first Initial.
    answered: Option<Time>,
    sides: [SpinSide; 2],
}

/// The spin bit in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct SpinSide {
    value: Option<bool>,
    /// Number of edges, time of the last one, and number of packets with the bit.
    edges: u64,
    last: Option<Time>,
    packets: u64,
    changes: u64,
}

/// A long header.
struct LongHeader<'a> {
    version: u32,
    initial: bool,
    retry: bool,
    destination: &'a [u8],
    source: &'a [u8],
}

impl LongHeader<'_> {
    fn of(b: &[u8]) -> Option<LongHeader<'_>> {
        let (&first, rest) = b.split_first()?;
        if first & LONG_HEADER_BIT == 0 {
            return None;
        }
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let version = u32::from_be_bytes(*version);
        let (destination, rest) = id(rest)?;
        let (source, _) = id(rest)?;
        let kind = first >> 4 & 3;
        let known = version == 1 || version == VERSION_2 || (0xff00_001d..=0xff00_0022).contains(&version);
        // Version negotiation has version 0; the type of an unknown version is unknown.
        if version != 0 && (!known || first & FIXED_BIT == 0) {
            return None;
        }
        let (initial, retry) = match version {
            0 => (false, false),
            VERSION_2 => (kind == 1, kind == 0),
            _ => (kind == 0, kind == 3),
        };
        Some(LongHeader { version, initial, retry, destination, source })
    }
}

/// Splits off a connection ID preceded by its length.
fn id(b: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = b.split_first().filter(|(length, _)| **length <= MAX_ID)?;
    rest.split_at_checked(length.into())
}

impl QuicObserver {
    /// Processes a datagram from end `side`. Returns an edge of the spin bit, if there is one.
    pub fn datagram(&mut self, side: usize, d: &UdpDatagram) -> Option<SpinEdge> {
        let head = d.head();
        if let Some(long) = LongHeader::of(head) {
            self.long(side, d, &long);
            return None;
        }
        let track = self.track.as_ref()?;
        let first = *head.first()?;
        if first & (LONG_HEADER_BIT | FIXED_BIT) != FIXED_BIT {
            return None;
        }
        let least = track.to_server.zip(track.to_client).map(|(a, b)| (a + b) / MIN_PERIOD_DIVISOR);
        self.sides[side].packet(d.time, first & SPIN_BIT != 0, least)
    }

    fn long(&mut self, side: usize, d: &UdpDatagram, long: &LongHeader) {
        let Some(track) = &mut self.track else {
            if long.initial && d.len >= MIN_INITIAL {
                self.track = Some(QuicTrack {
                    version: long.version,
                    destination_id: long.destination.to_vec(),
                    source_id: long.source.to_vec(),
                    client: side,
                    ..QuicTrack::default()
                });
                self.initials = Some((d.time, d.time));
            }
            return;
        };
        if side == track.client {
            if let (Some(answered), None) = (self.answered, track.to_client) {
                track.to_client = Some(d.time.since(answered));
            } else if long.initial && self.answered.is_none() {
                self.initials = Some((self.initials.map_or(d.time, |i| i.0), d.time));
            }
            if long.version != 0 {
                track.version = long.version;
            }
        } else if long.retry || long.version == 0 {
            track.retried = true;
            self.initials = None;
        } else if long.initial && self.answered.is_none() {
            self.answered = Some(d.time);
            // After several Initials the answered one is known only if they were sent together.
            track.to_server = self.initials.and_then(|(first, last)| {
                let rtt = d.time.since(last);
                (last.since(first) <= rtt).then_some(rtt)
            });
        }
    }

    /// Returns what was seen.
    pub fn end(self) -> Option<QuicTrack> {
        let mut track = self.track?;
        let [a, b] = self.sides;
        let mut used = self.sides.iter().filter(|s| s.packets > 0);
        track.spin = match a.packets + b.packets {
            0..MIN_PACKETS => SpinVerdict::Unknown,
            _ if a.changes + b.changes == 0 => SpinVerdict::Disabled,
            _ if used.all(SpinSide::spins) => SpinVerdict::Spins,
            _ => SpinVerdict::Unknown,
        };
        Some(track)
    }
}

impl SpinSide {
    fn packet(&mut self, now: Time, value: bool, least: Option<Span>) -> Option<SpinEdge> {
        self.packets += 1;
        let before = self.value.replace(value);
        if before == Some(value) || before.is_none() {
            return None;
        }
        self.changes += 1;
        let since = self.last.map(|last| now.since(last));
        if since.zip(least).is_some_and(|(since, least)| since < least) {
            // A reordered packet does not start a new period: keep the previous value.
            self.value = before;
            return None;
        }
        self.last = Some(now);
        self.edges += 1;
        Some(SpinEdge { rtt: since })
    }

    fn spins(&self) -> bool {
        let random = self.changes as f64 > MAX_CHANGE_SHARE * self.packets as f64;
        self.edges >= 2 && !random
    }
}
