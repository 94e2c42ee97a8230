//! Simulated runs as captures show them: at the sender, in the middle, at the receiver.

use capture::TcpPacket;
use path::Packet as Simulated;
use result::{FlowResult, Outcome};
use scenario::Experiment;
use sim::Tap;
use sim::wire::Encoder;
use track::{Track, Tracker, TrackerOptions};
use transport::Segment;
use units::Time;

/// When simulated captures begin: not in 1970.
const BEGIN: Time = Time::from_nanos(1_600_000_000_000_000_000);

/// The packets at each host.
pub struct Captures {
    encoder: Encoder,
    pub hosts: Vec<Vec<TcpPacket>>,
    /// Stream offset and length of the packets that left the first host and of those that reached the last.
    pub sent: Vec<(u32, u32)>,
    pub arrived: Vec<(u32, u32)>,
}

impl Tap for Captures {
    fn packet(&mut self, now: Time, host: usize, out: bool, p: &Simulated<Segment>, from: usize, to: usize) {
        let now = BEGIN + now.since(Time::ZERO);
        let Some(packet) = self.encoder.frame(now, p, from, to).and_then(|f| f.seen()) else { return };
        if packet.len > 0 && from == 0 && host == 0 && out {
            self.sent.push((packet.seq, packet.len));
        }
        if packet.len > 0 && from == 0 && host + 1 == self.hosts.len() {
            self.arrived.push((packet.seq, packet.len));
        }
        self.hosts[host].push(packet);
    }
}

/// A run of hosts `a`, `m` and `b`: stages between `a` and `m`, between `m` and `b`, and in the opposite
/// direction.
pub struct Run {
    pub captures: Captures,
    pub outcome: Outcome,
}

/// Runs `head`, these stages and `flows`.
pub fn run(head: &str, up: &str, down: &str, back_down: &str, back_up: &str, flows: &str, seed: u64) -> Run {
    let text = format!(
        "{head}\n[links.up]\nbetween = [\"a\", \"m\"]\nforward = [{up}]\nbackward = [{back_up}]\n\
         [links.down]\nbetween = [\"m\", \"b\"]\nforward = [{down}]\nbackward = [{back_down}]\n{flows}"
    );
    let scenario = match Experiment::parse("test.toml", &text, &[]) {
        Ok(mut e) => e.variants.remove(0).scenario,
        Err(e) => panic!("{e}\n{text}"),
    };
    let order: Vec<&str> = scenario.hosts.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(order, ["a", "m", "b"]);
    let mut captures =
        Captures { encoder: Encoder::new(&scenario), hosts: vec![vec![]; 3], sent: vec![], arrived: vec![] };
    let outcome = sim::run(
        "test",
        &scenario,
        sim::SimOptions { seed, tap: Some(&mut captures), ..sim::SimOptions::default() },
    );
    Run { captures, outcome }
}

impl Run {
    pub fn flow(&self) -> &FlowResult {
        &self.outcome.variant.flows[0]
    }

    pub fn dropped(&self, element: &str) -> u64 {
        let elements = self.outcome.variant.elements.iter();
        elements.filter(|e| e.name.ends_with(element)).map(|e| e.dropped_packets).sum()
    }

    /// Tracks the capture at a host; returns the direction from `a` to `b`.
    pub fn at(&self, host: usize) -> Track {
        one(&self.captures.hosts[host])
    }
}

/// Returns the only direction with data.
pub fn one(packets: &[TcpPacket]) -> Track {
    let mut tracks = tracks(packets);
    assert_eq!(tracks.len(), 1);
    tracks.remove(0)
}

pub fn tracks(packets: &[TcpPacket]) -> Vec<Track> {
    let mut tracker = Tracker::new(TrackerOptions::default());
    packets.iter().for_each(|p| tracker.packet(p));
    let mut tracks = Vec::new();
    tracker.finish(&mut tracks);
    tracks
}
