//! Estimates what a run will take before it begins: memory for the time series, packets, and disk space.
//!
//! The estimate follows from the scenario alone, not from the machine, so the same scenario yields the same
//! series everywhere.

use crate::CommandError;
use crate::warn::warning;
use experiment::Order;
use result::{Clock, RunWarning};
use scenario::{Experiment, Flow, Scenario, max_total_mbps};
use transport::App;
use units::Span;

/// Bytes per row of a flow's series in memory: all columns of [`result::FlowPoint`].
const FLOW_ROW_BYTES: u64 = 240;
/// Bytes per row of an element's series in memory: all columns of [`result::ElementPoint`].
const ELEMENT_ROW_BYTES: u64 = 64;
/// Limit for all series of all runs together, in bytes. A growing vector briefly takes up to twice its size.
const MAX_SERIES_BYTES: u64 = 1 << 30;
/// Bytes per connection while it is simulated: both ends, their applications and timers, and its share of the
/// result and the page. Measured as peak memory beyond that of a single flow, with 10,000 and 100,000 flows
/// of one second: bulk 6.7 and 6.4 kB (BBR 6.8), datagrams 5.8 and 4.8, requests 8.8 and 6.9.
const CONNECTION_BYTES: u64 = 9_000;
/// Bytes per connection that stay allocated until the last repeat is over: measured 1.7 kB (bulk) and 2.7 kB
/// (requests of one second).
const KEPT_CONNECTION_BYTES: u64 = 3_000;
/// Limit for running and finished connections, in bytes: enough for the largest number of connections that a
/// scenario may have, on sixteen cores.
const MAX_CONNECTION_BYTES: u64 = 16 << 30;
/// Bytes per queued packet: 127 measured, with 4.2 million packets in one queue. A growing queue briefly
/// takes up to twice its size.
const QUEUED_PACKET_BYTES: u64 = 130;
/// Limit for the packets queued at one time, in bytes.
const MAX_QUEUED_BYTES: u64 = 16 << 30;
/// Memory above which the user is informed before the run begins, in bytes.
const NOTICE_BYTES: u64 = 1 << 30;
/// Factor by which files are smaller than the series in memory, at least. Measured: 8 to 40 bytes per row of
/// a flow.
const MIN_COMPRESSION: u64 = 6;
/// Bytes allowed for the HTML page, which may take a few MB.
const PAGE_BYTES: u64 = 2_000_000;
/// Number of packets above which a run is refused: it would take days on any machine.
const MAX_PACKETS: f64 = 1e11;
/// Number of packets above which the user is informed before the run begins: sending all of them takes a
/// minute or more.
const NOTICE_PACKETS: f64 = 1e8;
const PACKET_BITS: f64 = 1500.0 * 8.0;
/// Bytes of the smallest IP packet in a queue that is limited in bytes.
const MIN_PACKET_BYTES: u64 = 40;
/// Payload bytes of a full TCP segment.
const SEGMENT_BYTES: u64 = 1448;

/// Packets of all default repeats together, at most, so that they are over within seconds. Packets are
/// counted as upper bounds ([`packets`]); two cores simulate 1.5 to 7 million packets a second (measured with
/// the built-in scenarios).
const MAX_REPEATED_PACKETS: f64 = 3e7;
/// Number of default repeats, at most. On each side, the interval of a mean is 12.7 / √2 = 9 standard
/// deviations wide with 2 repeats, 2.5 with 3, 1.2 with 5 and 0.8 with 8 (Student's t), so more than 5 gain
/// little for their time.
const MAX_REPEATS: u32 = 5;
/// Number of default repeats, at least: the interval from two repeats is too wide to be useful. Where not
/// even three fit, there is a single run.
const MIN_REPEATS: u32 = 3;

/// Returns how often each variant runs by default.
///
/// In virtual time that is [`MAX_REPEATS`], or as many as [`MAX_REPEATED_PACKETS`] and [`NOTICE_BYTES`] bytes
/// of memory allow, or one where these do not even allow [`MIN_REPEATS`]. On the kernel it is one, because
/// repeats run in real time there. The number follows from the scenario alone, not from the speed of the
/// machine, so the same scenario yields the same numbers everywhere.
pub fn repeats(experiment: &Experiment, clocks: &[Clock]) -> u32 {
    if clocks != [Clock::Sim] {
        return 1;
    }
    let fits = |repeats: &u32| {
        let budget = Budget::of(experiment, &Order { repeats: *repeats, ..Order::default() });
        let kept = budget.all_connections.saturating_mul(KEPT_CONNECTION_BYTES);
        budget.packets <= MAX_REPEATED_PACKETS && budget.series.saturating_add(kept) <= NOTICE_BYTES
    };
    (MIN_REPEATS..=MAX_REPEATS).rev().find(fits).unwrap_or(1)
}

/// Returns the warning that a single simulated run does not show the effect of chance. `None` for several
/// repeats, and for runs on the kernel, whose chance comes from the machine.
pub fn once(order: &Order) -> Option<(String, RunWarning)> {
    let once = order.clocks == [Clock::Sim] && order.repeats == 1;
    once.then(|| warning("once", "", &[("repeats", MIN_REPEATS.to_string())]))
}

/// Upper bounds of what all runs of an order take.
pub struct Budget {
    /// Bytes of time series.
    series: u64,
    packets: f64,
    /// Connections of the variant that has most of them.
    connections: u64,
    /// Connections of all runs together.
    all_connections: u64,
    /// Packets queued at one time, in the variant where these are most.
    queued: u64,
    /// Number of runs. As many of them run at a time as there are cores.
    runs: u64,
}

impl Budget {
    /// Estimates the runs of `experiment` that `order` requests.
    pub fn of(experiment: &Experiment, order: &Order) -> Budget {
        let runs = u64::from(order.repeats.max(1)).saturating_mul(order.clocks.len() as u64);
        let sum = |count: &dyn Fn(&Scenario) -> u64| {
            experiment.variants.iter().fold(0u64, |n, v| n.saturating_add(count(&v.scenario)))
        };
        Budget {
            series: sum(&series).saturating_mul(runs),
            connections: experiment.variants.iter().map(|v| connections(&v.scenario)).max().unwrap_or(0),
            queued: experiment.variants.iter().map(|v| queued(&v.scenario)).max().unwrap_or(0),
            all_connections: sum(&connections).saturating_mul(runs),
            runs: runs.saturating_mul(experiment.variants.len() as u64),
            packets: experiment.variants.iter().map(|v| packets(&v.scenario)).sum::<f64>() * runs as f64,
        }
    }

    /// Returns the bytes that the result's files may take.
    pub fn disk(&self) -> u64 {
        self.series / MIN_COMPRESSION + PAGE_BYTES
    }

    /// Bytes of memory for connections, with `cores` runs at a time.
    fn connections(&self, cores: usize) -> u64 {
        let at_a_time = self.runs.min(cores as u64);
        let under_way = self.connections.saturating_mul(at_a_time).saturating_mul(CONNECTION_BYTES);
        under_way.saturating_add(self.all_connections.saturating_mul(KEPT_CONNECTION_BYTES))
    }

    /// Bytes of memory for queued packets, with `cores` runs at a time.
    fn queued(&self, cores: usize) -> u64 {
        self.queued.saturating_mul(QUEUED_PACKET_BYTES).saturating_mul(self.runs.min(cores as u64))
    }

    /// Refuses runs that would never end, or take more memory than a machine has.
    pub fn check(&self, cores: usize) -> Result<(), CommandError> {
        let bytes = self.connections(cores);
        if bytes > MAX_CONNECTION_BYTES {
            return Err(CommandError::Usage(format!(
                "these runs' connections would take {} GB of memory, the limit is {} GB: use a smaller `count`, fewer \
                 repeats, or --jobs 1",
                bytes / 1_000_000_000,
                MAX_CONNECTION_BYTES / 1_000_000_000
            )));
        }
        let bytes = self.queued(cores);
        if bytes > MAX_QUEUED_BYTES {
            return Err(CommandError::Usage(format!(
                "the packets in these runs' queues could take {} GB of memory, the limit is {} GB: use smaller queues \
                 (`packets`, `bytes`), less traffic, a shorter `duration`, or --jobs 1",
                bytes / 1_000_000_000,
                MAX_QUEUED_BYTES / 1_000_000_000
            )));
        }
        if self.packets <= MAX_PACKETS {
            return Ok(());
        }
        Err(CommandError::Usage(format!(
            "these runs would send about {:.0e} packets, the limit is {MAX_PACKETS:.0e}: use a shorter \
             `duration`, lower rates, fewer variants or fewer repeats",
            self.packets
        )))
    }

    /// Returns a summary of the estimate where it is large enough for the user to be informed. It gives no
    /// duration: packets are counted as upper bounds, a run that loss or windows hold back may send a
    /// hundredth of them, and the progress bar measures the speed.
    pub fn notice(&self, cores: usize) -> Option<String> {
        let (connections, queued) = (self.connections(cores), self.queued(cores));
        let memory = self.series.saturating_add(connections).saturating_add(queued);
        (self.packets > NOTICE_PACKETS || memory > NOTICE_BYTES).then(|| {
            format!(
                "up to {:.0} million packets, {:.0} MB of time series, {:.0} MB of connections and {:.0} MB of queued \
                 packets in memory",
                self.packets / 1e6,
                self.series as f64 / 1e6,
                connections as f64 / 1e6,
                queued as f64 / 1e6
            )
        })
    }
}

/// Lengthens the sampling interval of all variants until their series fit into memory. Returns the warning
/// about it, or `None` where they fit as they are.
pub fn thin(experiment: &mut Experiment, order: &Order) -> Option<(String, RunWarning)> {
    let before: Vec<Span> = experiment.variants.iter().map(|v| v.scenario.sample).collect();
    let needed = Budget::of(experiment, order).series;
    // The factors are 2, 5, 10, 20, 50, …, so that the interval stays a round number.
    let factors = (0..18).flat_map(|n| [2, 5, 10].map(|f| f * 10u64.pow(n)));
    for factor in factors {
        if Budget::of(experiment, order).series <= MAX_SERIES_BYTES {
            break;
        }
        for (variant, sample) in experiment.variants.iter_mut().zip(&before) {
            variant.scenario.sample = Span::from_nanos(sample.as_nanos().saturating_mul(factor));
        }
    }
    let now = experiment.variants.iter().map(|v| v.scenario.sample);
    let (was, is) = before.iter().zip(now).find(|(was, is)| *was != is)?;
    let gb = |bytes: u64| bytes as f64 / 1e9;
    let (needed, kept) = (gb(needed).ceil(), gb(Budget::of(experiment, order).series));
    let values = [
        ("was", was.to_string()),
        ("is", is.to_string()),
        ("asked", format!("{needed:.0}")),
        ("kept", format!("{kept:.1}")),
    ];
    Some(warning("thinned", "sample", &values))
}

/// Bytes of the series of one run.
fn series(s: &Scenario) -> u64 {
    if s.sample.is_zero() {
        return 0;
    }
    let rows = s.duration.as_nanos() / s.sample.as_nanos() + 2;
    let flows: u64 = s.flows.iter().map(|f| u64::from(f.count)).sum();
    let elements: usize = s.links.iter().map(|l| l.forward.len() + l.backward.len()).sum();
    // Flows that run one at a time each record all elements.
    let times = if s.one_at_a_time { s.flows.len().max(1) as u64 } else { 1 };
    let row =
        flows.saturating_mul(FLOW_ROW_BYTES).saturating_add(elements as u64 * ELEMENT_ROW_BYTES * times);
    row.saturating_mul(rows)
}

/// Number of connections of a run.
fn connections(s: &Scenario) -> u64 {
    s.flows.iter().map(|f| u64::from(f.count).saturating_mul(u64::from(f.app.connections()))).sum()
}

/// Upper bound of the packets queued at one time: the capacity of the queues, or the number of packets sent
/// where that is less.
fn queued(s: &Scenario) -> u64 {
    let stages = s.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
    let limits = stages.filter_map(|named| named.stage.queue()).map(|(_, queue)| queue.limits());
    let room = limits.fold(0u64, |n, l| n.saturating_add(l.packets.min(l.bytes / MIN_PACKET_BYTES)));
    room.min(s.flows.iter().map(|flow| sent(s, flow)).fold(0, u64::saturating_add))
}

/// Upper bound of the packets that a flow's ends send while none arrives: datagrams until the end of the run,
/// TCP segments until the peer's receive buffer is full.
fn sent(s: &Scenario, flow: &Flow) -> u64 {
    let one = match &flow.app {
        App::Udp { rate, size, duration, .. } => {
            let seconds = duration.map_or(s.duration, |d| d.min(s.duration)).as_secs_f64();
            (rate.as_bps() as f64 / 8.0 * seconds / f64::from(size.unwrap_or(1500))) as u64
        }
        App::Bulk { .. } | App::Onoff { .. } | App::Request { .. } | App::Page { .. } => {
            let ends = [flow.from, flow.to].map(|host| s.hosts[host].stack.largest_receive_buffer());
            u64::from(flow.app.connections()).saturating_mul(ends[0].saturating_add(ends[1]) / SEGMENT_BYTES)
        }
        // Voice and probes send tens of packets a second.
        App::Voice { .. } | App::Probe { .. } => 0,
    };
    one.saturating_mul(u64::from(flow.count))
}

/// Upper bound of the packets of one run: what the applications send, limited by the path's rates and by the
/// windows. Loss and congestion control are left out, so a run may send far fewer.
fn packets(s: &Scenario) -> f64 {
    let wanted: Vec<f64> = s.flows.iter().map(|flow| wanted(s, flow)).collect();
    let mbps = if s.one_at_a_time {
        let alone =
            |i: usize| (0..wanted.len()).map(|j| if i == j { wanted[j] } else { 0.0 }).collect::<Vec<_>>();
        (0..wanted.len()).map(|i| max_total_mbps(s, &alone(i))).sum()
    } else {
        max_total_mbps(s, &wanted)
    };
    mbps * 1e6 * s.duration.as_secs_f64() / PACKET_BITS
}

/// Upper bound of the rate at which a flow's connections send if the path does not limit them, in Mbit/s
/// averaged over the run. Small datagrams count as full ones, because the time to simulate a run depends on
/// the number of packets.
fn wanted(s: &Scenario, flow: &Flow) -> f64 {
    let (seconds, rtt) = (s.duration.as_secs_f64(), s.base_rtt(flow).as_secs_f64());
    let datagrams = |per_second: f64, lasts: Option<Span>| {
        let share = lasts.map_or(1.0, |d| d.as_secs_f64().min(seconds) / seconds);
        per_second * share * PACKET_BITS / 1e6
    };
    let window = [flow.from, flow.to].map(|host| s.hosts[host].stack.largest_receive_buffer() as f64 * 8e-6);
    let window = window[0].max(window[1]) * f64::from(flow.app.connections());
    // Each leg of a relayed flow has its own round-trip time.
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
            // An exchange or a page takes at least a round trip and the pause after it.
            let bytes = flow.app.asking().map_or(0, |asking| asking.sizes().into_iter().sum::<u64>());
            let takes = rtt + think.unwrap_or(Span::ZERO).as_secs_f64();
            let max_exchanges = if takes > 0.0 { (seconds / takes).ceil() } else { f64::INFINITY };
            let exchanges = count.map_or(max_exchanges, |n| max_exchanges.min(n as f64));
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
    fn series_above_the_memory_limit_are_thinned_with_a_warning() {
        let mut e = experiment("10ms", 100, "1Gbit/s");
        assert_eq!((thin(&mut e, &order(1)), e.variants[0].scenario.sample), (None, Span::from_millis(10)));
        for (sample, count, repeats) in [("1us", 1000, 1), ("10ms", 100_000, 1), ("10ms", 100, 1000)] {
            let mut e = experiment(sample, count, "1Gbit/s");
            let (warning, _) = thin(&mut e, &order(repeats)).unwrap();
            let is = e.variants[0].scenario.sample;
            assert!(warning.contains(&format!("sampled every {is}")), "{warning}");
            let b = Budget::of(&e, &order(repeats));
            assert!(b.series <= MAX_SERIES_BYTES && b.series > MAX_SERIES_BYTES / 8, "{is}: {}", b.series);
        }
    }

    #[test]
    fn runs_that_would_take_days_are_refused() {
        let budget = |rate: &str, repeats| Budget::of(&experiment("10ms", 1, rate), &order(repeats));
        let b = budget("120Mbit/s", 1);
        assert_eq!(b.packets, 100_000.0);
        assert!(b.check(1).is_ok() && b.notice(1).is_none());
        let summary = budget("120.1Gbit/s", 1).notice(2).unwrap();
        assert!(summary.starts_with("up to 100 million packets, ") && !summary.contains("min"), "{summary}");
        assert_eq!(budget("119Gbit/s", 1).notice(2), None);
        let e = budget("1000Gbit/s", 1000).check(1).unwrap_err().to_string();
        assert!(e.contains("packets") && e.contains("`duration`"), "{e}");
    }

    #[test]
    fn short_runs_repeat_by_default_and_long_runs_do_not() {
        let default_repeats = |rate: &str, sample: &str| repeats(&experiment(sample, 1, rate), &[Clock::Sim]);
        // 10 s at 7.2 Gbit/s are 6 million packets; five repeats are 30 million.
        assert_eq!([default_repeats("7200Mbit/s", "10ms"), default_repeats("7201Mbit/s", "10ms")], [5, 4]);
        assert_eq!([default_repeats("12Gbit/s", "10ms"), default_repeats("12001Mbit/s", "10ms")], [3, 1]);
        // Series of 10 s sampled every 10 us take 304 MB a run: three of them fit into a gigabyte, five do
        // not.
        assert_eq!([default_repeats("1Mbit/s", "10us"), default_repeats("1Mbit/s", "5us")], [3, 1]);
        let quick = experiment("10ms", 1, "1Mbit/s");
        assert_eq!(
            [vec![Clock::Kernel], vec![Clock::Sim, Clock::Kernel]].map(|c| repeats(&quick, &c)),
            [1, 1]
        );
        let (text, warning) = once(&order(1)).unwrap();
        assert!(text.starts_with("one run per variant") && text.contains("`--repeat 3`"), "{text}");
        assert_eq!((warning.kind.as_str(), once(&order(3))), ("once", None));
        assert_eq!(once(&Order { clocks: vec![Clock::Kernel], ..order(1) }), None);
    }

    #[test]
    fn packets_are_bounded_by_demand_shared_limits_and_windows() {
        let packets = |rate: &str, delay: &str, flows: &str| {
            let text = format!(
                "duration = \"10s\"\n[links.a]\nbetween = [\"x\", \"y\"]\nforward = [{{ kind = \"link\", rate = \
                 \"{rate}\", delay = \"{delay}\" }}]\n{flows}"
            );
            Budget::of(&Experiment::parse("a.toml", &text, &[]).unwrap(), &order(1)).packets.round()
        };
        let flow = |name: &str, app: &str| format!("[flows.{name}]\nfrom = \"x\"\nto = \"y\"\n{app}\n");
        let two = flow("f", "") + &flow("g", "");
        assert_eq!(packets("120Mbit/s", "0s", &two), 100_000.0, "both flows share the link");
        let call = "app = { kind = \"voice\", codec = \"g711\" }";
        assert_eq!(packets("120Mbit/s", "0s", &flow("f", call)), 500.0);
        let small = "app = { kind = \"udp\", rate = \"8Mbit/s\", size = 100, duration = \"5s\" }";
        assert_eq!(packets("1200Mbit/s", "0s", &flow("f", small)), 50_000.0);
        // A window of 6 MiB every 100 ms.
        assert_eq!(
            packets("120Gbit/s", "100ms", &flow("f", "")),
            (6.0 * 1048576.0 / 1500.0 * 100.0_f64).round()
        );
        let page =
            "app = { kind = \"page\", objects = 9, size = \"15kB\", request = \"1B\", think = \"900ms\" }";
        assert_eq!(packets("1200Mbit/s", "100ms", &flow("f", page)), 900.0);
        assert_eq!(packets("120Mbit/s", "0s", &flow("f", "max_pacing_rate = \"12Mbit/s\"")), 10_000.0);
        let free =
            "duration = \"10s\"\n[links.a]\nbetween = [\"x\", \"y\"]\n[flows.f]\nfrom = \"x\"\nto = \"y\"\n";
        let free = Budget::of(&Experiment::parse("a.toml", free, &[]).unwrap(), &order(1)).packets.round();
        assert_eq!(free, (1e10_f64 * 10.0 / 12_000.0).round(), "the rate of a network card");
        let bursts = "app = { kind = \"onoff\", on = \"1s\", off = \"3s\", rate = \"12Mbit/s\" }";
        assert_eq!(packets("120Mbit/s", "0s", &flow("f", bursts)), 2500.0);
    }

    #[test]
    fn queued_packets_are_bounded_by_queue_capacity_and_by_what_is_sent() {
        let budget_for = |queue: &str, flow: &str| {
            let text = format!(
                "duration = \"10s\"\n[links.a]\nbetween = [\"x\", \"y\"]\nforward = [{{ kind = \"link\", rate = \
                 \"1Mbit/s\", queue = {{ {queue} }} }}]\n[flows.f]\nfrom = \"x\"\nto = \"y\"\n{flow}\n"
            );
            Budget::of(&Experiment::parse("a.toml", &text, &[]).unwrap(), &order(1))
        };
        let huge = "kind = \"fifo\", packets = 1000000000";
        let flood = "app = { kind = \"udp\", rate = \"12Gbit/s\" }";
        assert_eq!(budget_for(huge, flood).queued, 10_000_000);
        assert_eq!(budget_for("kind = \"codel\"", flood).queued, 1000);
        assert_eq!(budget_for("kind = \"fifo\", bytes = \"40kB\"", flood).queued, 1000);
        assert_eq!(budget_for(huge, "").queued, 2 * (6 << 20) / 1448);
        assert!(budget_for(huge, flood).check(1).is_ok());
        let e = budget_for(huge, &format!("{flood}\ncount = 20")).check(2).unwrap_err().to_string();
        assert!(e.contains("26 GB") && e.contains("`packets`"), "{e}");
    }

    #[test]
    fn connection_memory_counts_running_and_finished_runs() {
        let budget_for = |count, repeats| Budget::of(&experiment("0s", count, "1Mbit/s"), &order(repeats));
        assert_eq!(budget_for(1000, 1).connections(8), 12_000_000, "one run uses one core");
        assert_eq!(budget_for(1000, 10).connections(2), 2 * 9_000_000 + 10 * 3_000_000);
        assert!(budget_for(100_000, 1).check(1).is_ok());
        assert!(budget_for(100_000, 1).notice(1).unwrap().contains("1200 MB of connections"));
        let e = budget_for(100_000, 1000).check(2).unwrap_err().to_string();
        assert!(e.contains("301 GB") && e.contains("`count`"), "{e}");
    }
}
