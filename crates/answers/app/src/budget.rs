//! What a run is going to take, reckoned before it begins: memory of the time series, packets, room on the disk.
//!
//! It follows from the scenario alone, not from the machine, so that the same scenario gives the same series everywhere.

use crate::CommandError;
use crate::warn::told;
use experiment::Order;
use result::RunWarning;
use scenario::{Experiment, PathLimits, Scenario};
use transport::App;
use units::Span;

/// Bytes of a row of a series in memory: all of [`result::FlowPoint`]'s columns, and [`result::ElementPoint`]'s.
const FLOW_ROW: u64 = 240;
const ELEMENT_ROW: u64 = 64;
/// All series of all runs together, bytes. A vector that grows takes up to twice that for a moment.
const MOST_SERIES: u64 = 1 << 30;
/// Bytes of a connection while it is simulated: both ends, their applications and timers, and what of it goes into result
/// and page. Measured as peak memory over that of one flow, by 10,000 and 100,000 flows of a second: bulk 6.7 and 6.4 kB
/// (BBR 6.8), datagrams 5.8 and 4.8, requests 8.8 and 6.9.
const CONNECTION: u64 = 9_000;
/// Bytes of it that stay until the last repeat is over: measured 1.7 kB (bulk), 2.7 (requests, of a second).
const KEPT_CONNECTION: u64 = 3_000;
/// Connections and what is kept of them, bytes: as many as a scenario may have, on sixteen cores.
const MOST_CONNECTIONS: u64 = 16 << 30;
/// Bytes of a packet that waits: measured 127, by 4.2 million of them in one queue. A queue that grows takes up to twice
/// that for a moment.
const WAITING: u64 = 130;
/// Packets that wait at a time, bytes.
const MOST_WAITING: u64 = 16 << 30;
/// Whose run takes more wants to know it before.
const MUCH: u64 = 1 << 30;
/// Files take a sixth of that or less (measured: 8 to 40 bytes a row of a flow); the page has up to some MB.
const PACKED: u64 = 6;
const PAGE: u64 = 2_000_000;
/// More packets than that are days on any machine.
const MOST_PACKETS: f64 = 1e11;
/// Packets that a core simulates in a second, in round numbers.
const SPEED: f64 = 1e6;
/// Whoever waits for longer wants to know it before.
const PATIENCE: f64 = 30.0;
const PACKET_BITS: f64 = 1500.0 * 8.0;
/// Bytes of the least IP packet that is queued in numbers, and of a full segment.
const LEAST_PACKET: u64 = 40;
const SEGMENT: u64 = 1448;

/// What all runs of an order come to.
pub struct Budget {
    /// Bytes of series.
    series: u64,
    packets: f64,
    /// Connections of the variant that has most.
    connections: u64,
    /// Connections of all runs.
    all_connections: u64,
    /// Packets that wait at a time in the variant where most do.
    waiting: u64,
    /// Runs, of which as many are under way as there are cores.
    runs: u64,
}

impl Budget {
    /// Of these runs.
    pub fn of(experiment: &Experiment, order: &Order) -> Budget {
        let runs = u64::from(order.repeats.max(1)).saturating_mul(order.clocks.len() as u64);
        let sum = |of: &dyn Fn(&Scenario) -> u64| {
            experiment.variants.iter().fold(0u64, |n, v| n.saturating_add(of(&v.scenario)))
        };
        Budget {
            series: sum(&series).saturating_mul(runs),
            connections: experiment.variants.iter().map(|v| connections(&v.scenario)).max().unwrap_or(0),
            waiting: experiment.variants.iter().map(|v| waiting(&v.scenario)).max().unwrap_or(0),
            all_connections: sum(&connections).saturating_mul(runs),
            runs: runs.saturating_mul(experiment.variants.len() as u64),
            packets: experiment.variants.iter().map(|v| packets(&v.scenario)).sum::<f64>() * runs as f64,
        }
    }

    /// Bytes that the result's files may take.
    pub fn disk(&self) -> u64 {
        self.series / PACKED + PAGE
    }

    /// Bytes of memory for connections, so many runs at a time.
    fn connections(&self, cores: usize) -> u64 {
        let at_a_time = self.runs.min(cores as u64);
        let under_way = self.connections.saturating_mul(at_a_time).saturating_mul(CONNECTION);
        under_way.saturating_add(self.all_connections.saturating_mul(KEPT_CONNECTION))
    }

    /// Bytes of memory for packets that wait, so many runs at a time.
    fn waiting(&self, cores: usize) -> u64 {
        self.waiting.saturating_mul(WAITING).saturating_mul(self.runs.min(cores as u64))
    }

    /// Refuses what would never end, or take more memory than a machine has.
    pub fn check(&self, cores: usize) -> Result<(), CommandError> {
        let bytes = self.connections(cores);
        if bytes > MOST_CONNECTIONS {
            return Err(CommandError::Usage(format!(
                "the connections of these runs would take {} GB of memory, more than {}: fewer of them (`count`), fewer \
                 repeats, or --jobs 1",
                bytes / 1_000_000_000,
                MOST_CONNECTIONS / 1_000_000_000
            )));
        }
        let bytes = self.waiting(cores);
        if bytes > MOST_WAITING {
            return Err(CommandError::Usage(format!(
                "the packets that wait in these runs' queues would take up to {} GB of memory, more than {}: smaller queues \
                 (`packets`, `bytes`), less sent, a shorter `duration`, or --jobs 1",
                bytes / 1_000_000_000,
                MOST_WAITING / 1_000_000_000
            )));
        }
        if self.packets <= MOST_PACKETS {
            return Ok(());
        }
        Err(CommandError::Usage(format!(
            "these runs are some {:.0e} packets, more than the {MOST_PACKETS:.0e} that can be waited for: a shorter \
             `duration`, lower rates, fewer variants or repeats",
            self.packets
        )))
    }

    /// What it is going to take, where that is long.
    pub fn told(&self, cores: usize) -> Option<String> {
        let seconds = self.packets / SPEED / cores.max(1) as f64;
        let (connections, waiting) = (self.connections(cores), self.waiting(cores));
        (seconds > PATIENCE || self.series.saturating_add(connections).saturating_add(waiting) > MUCH).then(|| {
            format!(
                "up to {:.0} million packets, about {:.0} min, {:.0} MB of time series, {:.0} MB of connections and {:.0} MB of \
                 packets that wait in memory",
                self.packets / 1e6,
                (seconds / 60.0).ceil(),
                self.series as f64 / 1e6,
                connections as f64 / 1e6,
                waiting as f64 / 1e6
            )
        })
    }
}

/// Makes the sampling interval of all variants larger until their series fit; what there is to say of it.
pub fn thin(experiment: &mut Experiment, order: &Order) -> Option<(String, RunWarning)> {
    let before: Vec<Span> = experiment.variants.iter().map(|v| v.scenario.sample).collect();
    let asked = Budget::of(experiment, order).series;
    // 2, 5, 10, 20, 50 … times as long, so that it stays a round number.
    let factors = (0..18).flat_map(|n| [2, 5, 10].map(|f| f * 10u64.pow(n)));
    for factor in factors {
        if Budget::of(experiment, order).series <= MOST_SERIES {
            break;
        }
        for (variant, sample) in experiment.variants.iter_mut().zip(&before) {
            variant.scenario.sample = Span::from_nanos(sample.as_nanos().saturating_mul(factor));
        }
    }
    let now = experiment.variants.iter().map(|v| v.scenario.sample);
    let (was, is) = before.iter().zip(now).find(|(was, is)| *was != is)?;
    let gb = |bytes: u64| bytes as f64 / 1e9;
    let (asked, kept) = (gb(asked).ceil(), gb(Budget::of(experiment, order).series));
    let values = [
        ("was", was.to_string()),
        ("is", is.to_string()),
        ("asked", format!("{asked:.0}")),
        ("kept", format!("{kept:.1}")),
    ];
    Some(told("thinned", "sample", &values))
}

/// Bytes of one run's series.
fn series(s: &Scenario) -> u64 {
    if s.sample.is_zero() {
        return 0;
    }
    let rows = s.duration.as_nanos() / s.sample.as_nanos() + 2;
    let flows: u64 = s.flows.iter().map(|f| u64::from(f.count)).sum();
    let elements: usize = s.links.iter().map(|l| l.forward.len() + l.backward.len()).sum();
    // Each flow alone has all elements to itself.
    let times = if s.one_at_a_time { s.flows.len().max(1) as u64 } else { 1 };
    let row = flows.saturating_mul(FLOW_ROW).saturating_add(elements as u64 * ELEMENT_ROW * times);
    row.saturating_mul(rows)
}

/// Connections of a run.
fn connections(s: &Scenario) -> u64 {
    s.flows.iter().map(|f| u64::from(f.count).saturating_mul(u64::from(f.app.connections()))).sum()
}

/// Packets that wait at a time at most: what the queues hold, or what is sent where that is less.
fn waiting(s: &Scenario) -> u64 {
    let stages = s.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
    let limits = stages.filter_map(|named| named.stage.queue()).map(|(_, queue)| queue.limits());
    let room = limits.fold(0u64, |n, l| n.saturating_add(l.packets.min(l.bytes / LEAST_PACKET)));
    room.min(s.flows.iter().map(|flow| sent(s, flow)).fold(0, u64::saturating_add))
}

/// Packets that a flow's ends send at most while none of them arrives: datagrams to the end, TCP what the peer has room for.
fn sent(s: &Scenario, flow: &scenario::Flow) -> u64 {
    let one = match &flow.app {
        App::Udp { rate, size, duration, .. } => {
            let seconds = duration.map_or(s.duration, |d| d.min(s.duration)).as_secs_f64();
            (rate.as_bps() as f64 / 8.0 * seconds / f64::from(size.unwrap_or(1500))) as u64
        }
        App::Bulk { .. } | App::Onoff { .. } | App::Request { .. } | App::Page { .. } => {
            let ends = [flow.from, flow.to].map(|host| s.hosts[host].stack.largest_receive_buffer());
            u64::from(flow.app.connections()).saturating_mul(ends[0].saturating_add(ends[1]) / SEGMENT)
        }
        // Tens of packets a second.
        App::Voice { .. } | App::Probe { .. } => 0,
    };
    one.saturating_mul(u64::from(flow.count))
}

/// Packets of one run at most: what the path lets through, or what is to be sent where that is less. Flows that nothing
/// limits count for nothing.
fn packets(s: &Scenario) -> f64 {
    let limits = PathLimits::new(s, None);
    let seconds = s.duration.as_secs_f64();
    let of = |(flow, limit): (&scenario::Flow, &Option<f64>)| {
        let by_path = limit.unwrap_or(0.0) * 1e6 * seconds;
        let asked = match &flow.app {
            App::Bulk { bytes: Some(n), .. } => n.get() as f64 * 8.0,
            App::Udp { rate, .. } => rate.as_bps() as f64 * seconds,
            _ => f64::INFINITY,
        };
        // Limits on the way are shared by the flow's connections, so they are not counted for each.
        by_path.min(asked * f64::from(flow.count)) / PACKET_BITS
    };
    s.flows.iter().zip(&limits.flows).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Clock;

    fn experiment(sample: &str, count: u32, rate: &str) -> Experiment {
        let text = format!(
            "duration = \"10s\"\nsample = \"{sample}\"\n[links.a]\nbetween = [\"x\", \"y\"]\nforward = [{{ kind = \
             \"link\", rate = \"{rate}\" }}]\n[flows.f]\nfrom = \"x\"\nto = \"y\"\ncount = {count}\n"
        );
        Experiment::parse("a.toml", &text, &[]).unwrap()
    }

    fn order(repeats: u32) -> Order {
        Order { clocks: vec![Clock::Sim], repeats, seed: None, threads: None, keep_going: false }
    }

    #[test]
    fn series_that_fit_stay_and_others_are_thinned_and_it_is_said() {
        let mut e = experiment("10ms", 100, "1Gbit/s");
        assert_eq!((thin(&mut e, &order(1)), e.variants[0].scenario.sample), (None, Span::from_millis(10)));
        for (sample, count, repeats) in [("1us", 1000, 1), ("10ms", 100_000, 1), ("10ms", 100, 1000)] {
            let mut e = experiment(sample, count, "1Gbit/s");
            let (told, _) = thin(&mut e, &order(repeats)).unwrap();
            let is = e.variants[0].scenario.sample;
            assert!(told.contains(&format!("one every {is} is kept")), "{told}");
            let b = Budget::of(&e, &order(repeats));
            assert!(b.series <= MOST_SERIES && b.series > MOST_SERIES / 8, "{is}: {}", b.series);
        }
    }

    #[test]
    fn what_never_ends_is_refused_before_it_begins() {
        let of = |rate: &str, repeats| Budget::of(&experiment("10ms", 1, rate), &order(repeats));
        let b = of("120Mbit/s", 1);
        assert_eq!(b.packets, 100_000.0);
        assert!(b.check(1).is_ok() && b.told(1).is_none());
        assert!(of("120Gbit/s", 1).told(2).unwrap().contains("100 million packets, about 1 min"));
        let e = of("1000Gbit/s", 1000).check(1).unwrap_err().to_string();
        assert!(e.contains("packets") && e.contains("`duration`"), "{e}");
    }

    #[test]
    fn packets_that_wait_are_what_queues_hold_or_what_is_sent() {
        let of = |queue: &str, flow: &str| {
            let text = format!(
                "duration = \"10s\"\n[links.a]\nbetween = [\"x\", \"y\"]\nforward = [{{ kind = \"link\", rate = \
                 \"1Mbit/s\", queue = {{ {queue} }} }}]\n[flows.f]\nfrom = \"x\"\nto = \"y\"\n{flow}\n"
            );
            Budget::of(&Experiment::parse("a.toml", &text, &[]).unwrap(), &order(1))
        };
        let huge = "kind = \"fifo\", packets = 1000000000";
        let flood = "app = { kind = \"udp\", rate = \"12Gbit/s\" }";
        assert_eq!(of(huge, flood).waiting, 10_000_000);
        assert_eq!(of("kind = \"codel\"", flood).waiting, 1000);
        assert_eq!(of("kind = \"fifo\", bytes = \"40kB\"", flood).waiting, 1000);
        assert_eq!(of(huge, "").waiting, 2 * (6 << 20) / 1448);
        assert!(of(huge, flood).check(1).is_ok());
        let e = of(huge, &format!("{flood}\ncount = 20")).check(2).unwrap_err().to_string();
        assert!(e.contains("26 GB") && e.contains("`packets`"), "{e}");
    }

    #[test]
    fn connections_are_counted_as_they_are_kept() {
        let of = |count, repeats| Budget::of(&experiment("0s", count, "1Mbit/s"), &order(repeats));
        assert_eq!(of(1000, 1).connections(8), 12_000_000, "one run, however many cores");
        assert_eq!(of(1000, 10).connections(2), 2 * 9_000_000 + 10 * 3_000_000);
        assert!(of(100_000, 1).check(1).is_ok());
        assert!(of(100_000, 1).told(1).unwrap().contains("1200 MB of connections"));
        let e = of(100_000, 1000).check(2).unwrap_err().to_string();
        assert!(e.contains("301 GB") && e.contains("`count`"), "{e}");
    }
}
