//! What a run is going to take, reckoned before it begins: memory of the time series, packets, room on the disk.
//!
//! It follows from the scenario alone, not from the machine, so that the same scenario gives the same series everywhere.

use crate::CommandError;
use crate::warn::told;
use experiment::Order;
use result::{Clock, RunWarning};
use scenario::{Experiment, Flow, Scenario, most_sent};
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
/// More packets than that take a minute or more where all of them are sent: said before the run begins.
const MANY_PACKETS: f64 = 1e8;
const PACKET_BITS: f64 = 1500.0 * 8.0;
/// Bytes of the least IP packet that is queued in numbers, and of a full segment.
const LEAST_PACKET: u64 = 40;
const SEGMENT: u64 = 1448;

/// A run that repeats by itself is to be over within seconds: so many packets in all its repeats, at most. Upper bounds are
/// counted ([`packets`]), and two cores simulate 1.5 to 7 million packets a second (measured with the house's scenarios).
const REPEATED_PACKETS: f64 = 3e7;
/// So many repeats at most where nothing says how many. The interval of a mean is 12.7 / √2 = 9 standard deviations wide on each
/// side with 2 of them, 2.5 with 3, 1.2 with 5 and 0.8 with 8 (Student's t): more than 5 buys little for its time.
const MOST_REPEATS: u32 = 5;
/// So many at least, else there is one run: two have an interval that says nothing.
const LEAST_REPEATS: u32 = 3;

/// How often each variant runs where nothing says how often: [`MOST_REPEATS`] times in virtual time, less often where that
/// would be more work than [`REPEATED_PACKETS`] or memory than a gigabyte, and once where even [`LEAST_REPEATS`] would be; once
/// on the kernel, where a repeat takes as long as it lasts. It follows from the scenario alone: the speed of the machine has no
/// part in it, so that the same scenario gives the same numbers everywhere.
pub fn repeats(experiment: &Experiment, clocks: &[Clock]) -> u32 {
    if clocks != [Clock::Sim] {
        return 1;
    }
    let fits = |repeats: &u32| {
        let budget = Budget::of(experiment, &Order { repeats: *repeats, ..Order::default() });
        let kept = budget.all_connections.saturating_mul(KEPT_CONNECTION);
        budget.packets <= REPEATED_PACKETS && budget.series.saturating_add(kept) <= MUCH
    };
    (LEAST_REPEATS..=MOST_REPEATS).rev().find(fits).unwrap_or(1)
}

/// Says of a single simulated run that chance is not in its numbers; `None` of repeats, and of runs on the kernel, where chance
/// is the machine's.
pub fn once(order: &Order) -> Option<(String, RunWarning)> {
    let once = order.clocks == [Clock::Sim] && order.repeats == 1;
    once.then(|| told("once", "", &[("repeats", LEAST_REPEATS.to_string())]))
}

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

    /// What it takes at most, where that is much. Not for how long: what is counted are upper bounds, and a run that loss or
    /// windows hold back may come to a hundredth of them; the bar measures how fast it is.
    pub fn told(&self, cores: usize) -> Option<String> {
        let (connections, waiting) = (self.connections(cores), self.waiting(cores));
        let memory = self.series.saturating_add(connections).saturating_add(waiting);
        (self.packets > MANY_PACKETS || memory > MUCH).then(|| {
            format!(
                "up to {:.0} million packets, {:.0} MB of time series, {:.0} MB of connections and {:.0} MB of packets that \
                 wait in memory",
                self.packets / 1e6,
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
fn sent(s: &Scenario, flow: &Flow) -> u64 {
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

/// Packets of one run at most: what applications want to send, the path lets through and windows allow. Loss and congestion
/// control are left out, so it may be many times what a run comes to.
fn packets(s: &Scenario) -> f64 {
    let wanted: Vec<f64> = s.flows.iter().map(|flow| wanted(s, flow)).collect();
    let mbps = if s.one_at_a_time {
        let alone =
            |i: usize| (0..wanted.len()).map(|j| if i == j { wanted[j] } else { 0.0 }).collect::<Vec<_>>();
        (0..wanted.len()).map(|i| most_sent(s, &alone(i))).sum()
    } else {
        most_sent(s, &wanted)
    };
    mbps * 1e6 * s.duration.as_secs_f64() / PACKET_BITS
}

/// The rate at which a flow's connections send at most where nothing on the path limits them, Mbit/s averaged over the run.
/// Small datagrams count as if they were full: what takes time is the packet.
fn wanted(s: &Scenario, flow: &Flow) -> f64 {
    let (seconds, rtt) = (s.duration.as_secs_f64(), s.base_rtt(flow).as_secs_f64());
    let datagrams = |per_second: f64, lasts: Option<Span>| {
        let share = lasts.map_or(1.0, |d| d.as_secs_f64().min(seconds) / seconds);
        per_second * share * PACKET_BITS / 1e6
    };
    let window = [flow.from, flow.to].map(|host| s.hosts[host].stack.largest_receive_buffer() as f64 * 8e-6);
    let window = window[0].max(window[1]) * f64::from(flow.app.connections());
    // Each leg of a relayed flow has a round trip of its own.
    let by_window = if flow.via.is_empty() && rtt > 0.0 { window / rtt } else { f64::INFINITY };
    let one = match &flow.app {
        App::Bulk { bytes, duration } => {
            let size = bytes.map_or(f64::INFINITY, |n| n.get() as f64 * 8e-6 / seconds);
            let share = duration.map_or(1.0, |d| d.as_secs_f64().min(seconds) / seconds);
            size.min(by_window * share)
        }
        App::Onoff { on, off, rate } => {
            let share = on.as_secs_f64() / (*on + *off).as_secs_f64();
            share * rate.map_or(by_window, |rate| rate.as_mbps().min(by_window))
        }
        App::Request { think, count, .. } | App::Page { think, count, .. } => {
            // An exchange, or a page, takes a round trip and the pause behind it at least.
            let bytes = flow.app.asking().map_or(0, |asking| asking.sizes().into_iter().sum::<u64>());
            let takes = rtt + think.unwrap_or(Span::ZERO).as_secs_f64();
            let most = if takes > 0.0 { (seconds / takes).ceil() } else { f64::INFINITY };
            let exchanges = count.map_or(most, |n| most.min(n as f64));
            by_window.min(exchanges * (bytes as f64 * 8.0).max(PACKET_BITS) * 1e-6 / seconds)
        }
        App::Udp { rate, size, duration, .. } => {
            datagrams(rate.as_bps() as f64 / 8.0 / f64::from(size.unwrap_or(1500)), *duration)
        }
        App::Voice { duration, .. } => datagrams(50.0, *duration),
        App::Probe { interval, duration, .. } => {
            datagrams(2.0 / interval.unwrap_or(Span::from_millis(100)).as_secs_f64(), *duration)
        }
    };
    let paced = flow.max_pacing_rate.map_or(one, |rate| rate.as_mbps() * f64::from(flow.app.connections()));
    one.min(paced) * f64::from(flow.count)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let told = of("120.1Gbit/s", 1).told(2).unwrap();
        assert!(told.starts_with("up to 100 million packets, ") && !told.contains("min"), "{told}");
        assert_eq!(of("119Gbit/s", 1).told(2), None);
        let e = of("1000Gbit/s", 1000).check(1).unwrap_err().to_string();
        assert!(e.contains("packets") && e.contains("`duration`"), "{e}");
    }

    /// Repeats follow from the scenario alone.
    #[test]
    fn what_is_quick_repeats_by_itself_and_what_is_long_does_not() {
        let of = |rate: &str, sample: &str| repeats(&experiment(sample, 1, rate), &[Clock::Sim]);
        // 10 s of 7.2 Gbit/s are 6 million packets: five times that are thirty.
        assert_eq!([of("7200Mbit/s", "10ms"), of("7201Mbit/s", "10ms")], [5, 4]);
        assert_eq!([of("12Gbit/s", "10ms"), of("12001Mbit/s", "10ms")], [3, 1]);
        // Series of 10 s every 10 us are 304 MB a run: three of them are a gigabyte, five would be more.
        assert_eq!([of("1Mbit/s", "10us"), of("1Mbit/s", "5us")], [3, 1]);
        let quick = experiment("10ms", 1, "1Mbit/s");
        assert_eq!(
            [vec![Clock::Kernel], vec![Clock::Sim, Clock::Kernel]].map(|c| repeats(&quick, &c)),
            [1, 1]
        );
        let (said, warning) = once(&order(1)).unwrap();
        assert!(said.starts_with("one run of each variant") && said.contains("`--repeat 3`"), "{said}");
        assert_eq!((warning.kind.as_str(), once(&order(3))), ("once", None));
        assert_eq!(once(&Order { clocks: vec![Clock::Kernel], ..order(1) }), None);
    }

    /// What applications want, limits that flows share, and windows: each of them bounds what is sent.
    #[test]
    fn packets_are_what_is_wanted_let_through_and_held_by_windows() {
        let of = |rate: &str, delay: &str, flows: &str| {
            let text = format!(
                "duration = \"10s\"\n[links.a]\nbetween = [\"x\", \"y\"]\nforward = [{{ kind = \"link\", rate = \
                 \"{rate}\", delay = \"{delay}\" }}]\n{flows}"
            );
            Budget::of(&Experiment::parse("a.toml", &text, &[]).unwrap(), &order(1)).packets.round()
        };
        let flow = |name: &str, app: &str| format!("[flows.{name}]\nfrom = \"x\"\nto = \"y\"\n{app}\n");
        let two = flow("f", "") + &flow("g", "");
        assert_eq!(of("120Mbit/s", "0s", &two), 100_000.0, "they share it");
        let call = "app = { kind = \"voice\", codec = \"g711\" }";
        assert_eq!(of("120Mbit/s", "0s", &flow("f", call)), 500.0);
        let small = "app = { kind = \"udp\", rate = \"8Mbit/s\", size = 100, duration = \"5s\" }";
        assert_eq!(of("1200Mbit/s", "0s", &flow("f", small)), 50_000.0);
        // 6 MiB every 100 ms.
        assert_eq!(of("120Gbit/s", "100ms", &flow("f", "")), (6.0 * 1048576.0 / 1500.0 * 100.0_f64).round());
        let page =
            "app = { kind = \"page\", objects = 9, size = \"15kB\", request = \"1B\", think = \"900ms\" }";
        assert_eq!(of("1200Mbit/s", "100ms", &flow("f", page)), 900.0);
        assert_eq!(of("120Mbit/s", "0s", &flow("f", "max_pacing_rate = \"12Mbit/s\"")), 10_000.0);
        let free =
            "duration = \"10s\"\n[links.a]\nbetween = [\"x\", \"y\"]\n[flows.f]\nfrom = \"x\"\nto = \"y\"\n";
        let free = Budget::of(&Experiment::parse("a.toml", free, &[]).unwrap(), &order(1)).packets.round();
        assert_eq!(free, (1e10_f64 * 10.0 / 12_000.0).round(), "a network card's");
        let bursts = "app = { kind = \"onoff\", on = \"1s\", off = \"3s\", rate = \"12Mbit/s\" }";
        assert_eq!(of("120Mbit/s", "0s", &flow("f", bursts)), 2500.0);
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
