//! Random paths with a known limit, on which plans are tested.

use crate::repeats::between;
use units::{Rate, Span, Stream};

/// Limits of a path. Path `n` has limit number `n % 6`.
pub const LIMITS: [&str; 6] = ["policer", "shaper", "shallow", "deep", "loss", "window"];
/// Numbers of connections, equally likely.
const COUNTS: [u32; 8] = [1, 1, 1, 2, 2, 3, 4, 8];
const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];

/// A path and the flows on it.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitedPath {
    /// Number among the paths of its seed.
    pub number: u64,
    /// One of [`LIMITS`].
    pub limit: &'static str,
    /// Rate of the limiter.
    pub rate: Rate,
    /// Round trip of the empty path.
    pub rtt: Span,
    /// Depending on `limit`: bytes of the policer's bucket, packets of the queue, lost packets per million,
    /// or bytes of the receive buffer.
    pub size: u64,
    /// Number of connections.
    pub flows: u32,
    /// Congestion control of each half of the connections; the same name twice if there is only one.
    pub controls: [&'static str; 2],
}

impl LimitedPath {
    /// Draws path `number` of `seed`: 2 to 100 Mbit/s, 5 to 200 ms, one to eight connections.
    pub fn draw(seed: u64, number: u64) -> LimitedPath {
        let mut draws = Stream::new(seed, &format!("twin.limited.{number}"));
        let limit = LIMITS[(number % LIMITS.len() as u64) as usize];
        let rate = Rate::from_bps((between(&mut draws, 2.0, 100.0) * 1e6).round() as u64);
        let rtt = Span::from_micros((between(&mut draws, 5.0, 200.0) * 1e3).round() as u64);
        let flows = COUNTS[draws.below(COUNTS.len() as u64) as usize];
        let first = CONTROLS[draws.below(3) as usize];
        let mixed = flows > 1 && draws.below(3) == 0;
        let controls = [first, if mixed { CONTROLS[draws.below(3) as usize] } else { first }];
        let bdp = rate.bytes_in(rtt).get() as f64;
        // Smallest and largest factor, unit, and minimum.
        let (low, high, of, least) = match limit {
            "policer" => (0.1, 2.0, bdp, 4500.0),
            "shaper" => (0.5, 4.0, bdp / 1500.0, 10.0),
            "shallow" => (0.1, 0.5, bdp / 1500.0, 5.0),
            "deep" => (2.0, 8.0, bdp / 1500.0, 20.0),
            "loss" => (200.0, 20_000.0, 1.0, 0.0),
            _ => (0.1, 0.8, bdp, 16_384.0),
        };
        let size = (between(&mut draws, low, high) * of).max(least);
        LimitedPath { number, limit, rate, rtt, size: size.round() as u64, flows, controls }
    }

    /// The same path with a single congestion control.
    #[must_use]
    pub fn with_one_control(&self) -> LimitedPath {
        let [first, _] = self.controls;
        LimitedPath { controls: [first; 2], ..self.clone() }
    }

    /// The path as a scenario of this duration: a client, its router, a server; the client sends.
    pub fn scenario(&self, seconds: u64) -> String {
        let LimitedPath { rate, size, .. } = self;
        let half = self.rtt / 2;
        let bdp = (rate.bytes_in(self.rtt).get() / 1500).max(10);
        let queued = |packets: u64| {
            format!(
                "{{ kind = \"link\", rate = \"{rate}\", queue = {{ kind = \"fifo\", packets = {packets} }} }}"
            )
        };
        let limiter = match self.limit {
            "policer" => format!("{{ kind = \"policer\", rate = \"{rate}\", burst = \"{size}B\" }}"),
            "shaper" => format!(
                "{{ kind = \"shaper\", rate = \"{rate}\", queue = {{ kind = \"fifo\", packets = {size} }} }}"
            ),
            "shallow" | "deep" => queued(*size),
            "loss" => format!("{}, {{ kind = \"loss\", probability = {} }}", queued(bdp), *size as f64 / 1e6),
            _ => queued(bdp),
        };
        let buffer = match self.limit {
            "window" => format!("[hosts.server]\nstack = {{ receive_buffer = \"{size}B\" }}\n"),
            _ => String::new(),
        };
        format!(
            r#"name = "limited-{}"
duration = "{seconds}s"
sample = "0s"
{buffer}[links.lan]
between = ["client", "router"]
forward = [{{ kind = "link", rate = "1Gbit/s" }}]
backward = [{{ kind = "link", rate = "1Gbit/s" }}]
[links.wan]
between = ["router", "server"]
forward = [{limiter}, {{ kind = "delay", delay = "{half}" }}]
backward = [{{ kind = "delay", delay = "{half}" }}]
{}"#,
            self.number,
            self.flow_text()
        )
    }

    fn flow_text(&self) -> String {
        let flow = |name, count, cc, start| {
            format!(
                "[flows.{name}]\nfrom = \"client\"\nto = \"server\"\ncc = \"{cc}\"\ncount = {count}\nstart = \"{start}ms\"\n\
                 stagger = \"20ms\"\n"
            )
        };
        let [a, b] = self.controls;
        match self.flows / 2 {
            half if a != b => flow("a", self.flows - half, a, 0) + &flow("b", half, b, 10),
            _ => flow("a", self.flows, a, 0),
        }
    }

    /// The columns of [`LimitedPath::line`].
    pub const COLUMNS: &'static str = "path,limit,rate_mbps,rtt_ms,size,flows,controls";

    /// The path as the first fields of a line.
    pub fn line(&self) -> String {
        let [a, b] = self.controls;
        let controls = if a == b { a.to_string() } else { format!("{a}+{b}") };
        format!(
            "{},{},{},{},{},{},{controls}",
            self.number,
            self.limit,
            self.rate.as_bps() as f64 / 1e6,
            self.rtt.as_millis_f64(),
            self.size,
            self.flows
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_paths_are_scenarios_of_every_limit_within_bounds() {
        let paths: Vec<LimitedPath> = (0..60).map(|n| LimitedPath::draw(1, n)).collect();
        for limit in LIMITS {
            assert_eq!(paths.iter().filter(|p| p.limit == limit).count(), 10);
        }
        for path in &paths {
            let text = path.scenario(8);
            let read = scenario::Experiment::parse("limited.toml", &text, &[]);
            let read = read.unwrap_or_else(|e| panic!("{e}\n{text}")).variants.remove(0).scenario;
            assert_eq!(read.flows.iter().map(|f| f.count).sum::<u32>(), path.flows);
            assert!((2_000_000..=100_000_000).contains(&path.rate.as_bps()), "{path:?}");
            assert!((5.0..=200.0).contains(&path.rtt.as_millis_f64()), "{path:?}");
        }
        assert_eq!(paths[7], LimitedPath::draw(1, 7));
        assert_ne!(paths[7], LimitedPath::draw(2, 7));
    }
}
