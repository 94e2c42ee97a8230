//! The models compared with the kernel, call by call: `kernel/*.csv` contain the inputs and decisions of
//! Linux 6.18 (recorded by `kernel/record.py`). Each call is replayed into the model with the kernel's
//! inputs. Its result must be the same number, and so must all results that follow, because the model keeps
//! its own state throughout.
//!
//! Two values that a model cannot know are supplied: the phase of the kernel's jiffies relative to its
//! microseconds, and the random phases of PROBE_BW, for which seeds are tried until one gives
//! the kernel's phases.
use congestion::hsr::{Bound, HsrParameters};
use congestion::{Bbr, CaState, Controller, Event, RateSample, Socket, Window, make};
use units::{Span, Stream, Time};

/// Column names and rows of a recording; names of results begin with `|`.
struct Recording {
    columns: Vec<String>,
    rows: Vec<(String, Vec<i128>)>,
}

impl Recording {
    fn parse(text: &str) -> Recording {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let bar = header.iter().position(|&name| name == "|").unwrap();
        // The inputs end with a rate sample, which shares a field name with the socket.
        let columns = header.iter().enumerate().map(|(i, name)| match i > bar {
            true => format!("|{name}"),
            false => name.to_string(),
        });
        let columns: Vec<String> = columns.collect();
        let mut last: Vec<String> = vec![String::new(); columns.len()];
        let rows = lines.map(|line| {
            for (cell, old) in line.split(',').zip(&mut last) {
                if !cell.is_empty() {
                    *old = cell.to_string();
                }
            }
            let value = |cell: &String| cell.parse().unwrap_or(0);
            (last[0].clone(), last.iter().map(value).collect())
        });
        Recording { rows: rows.collect(), columns }
    }

    fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|c| c == name).unwrap_or_else(|| panic!("no column {name}"))
    }

    fn get(&self, row: usize, name: &str) -> i128 {
        self.rows[row].1[self.column(name)]
    }

    /// Microseconds to add to the kernel's clock so that its jiffies fall on multiples of 4 ms:
    /// the median over all rows, in whole milliseconds.
    fn phase(&self) -> i128 {
        let (now, jiffies) = (self.column("now_us"), self.column("jiffies"));
        let mut offsets: Vec<i128> =
            self.rows.iter().map(|(_, v)| v[jiffies] * 4_000 + 2_000 - v[now]).collect();
        offsets.sort_unstable();
        offsets[offsets.len() / 2] / 1_000 * 1_000
    }

    /// Number of rows, or the index of the first row with a different result and the difference.
    fn replay(&self, mut c: Box<dyn Controller>) -> Result<usize, (usize, String)> {
        let phase = self.phase();
        for row in 0..self.rows.len() {
            let ours = self.call(row, phase, &mut *c);
            let theirs = ["|cwnd", "|ssthresh", "|cwnd_cnt", "|pacing_rate", "|app_limited", "|result"]
                .map(|column| infinite(self.get(row, column), column));
            if ours != theirs {
                let call = &self.rows[row].0;
                return Err((row, format!("{call}: ours {ours:?}, the kernel's {theirs:?}")));
            }
        }
        Ok(self.rows.len())
    }

    fn call(&self, row: usize, phase: i128, c: &mut dyn Controller) -> [i128; 6] {
        let get = |name| self.get(row, name);
        let micros = |name| Time::from_nanos(((get(name) + phase) * 1_000) as u64);
        let ticks = |name| Time::from_nanos((get(name) * 4_000_000) as u64);
        let span = |us: i128| Span::from_micros(us as u64);
        let call = self.rows[row].0.as_str();
        // If only jiffies matter they are exact; HyStart and BBR's epochs need microseconds.
        let in_jiffies = call == "ack" || call == "event" && c.name() == "cubic";
        let now = if in_jiffies { ticks("jiffies") } else { micros("now_us") };
        let s = Socket {
            now,
            mss: get("mss") as u32,
            srtt: Some(span(get("srtt_us"))).filter(|srtt| !srtt.is_zero()),
            min_rtt: Some(span(get("min_rtt_us"))).filter(|&min| min < span(u32::MAX as i128)),
            inflight: get("inflight") as u32,
            delivered: get("tcp_delivered") as u64,
            delivered_time: micros("delivered_us"),
            lost: get("lost") as u64,
            snd_una: get("snd_una") as u64,
            snd_nxt: get("snd_nxt") as u64,
            last_sent: Some(ticks("last_sent")),
            state: STATES[get("state") as usize],
            is_cwnd_limited: get("limited") != 0,
            app_limited: get("app_limited") as u64,
            next_departure: now + Span::from_nanos(get("departs_in_ns") as u64),
            ..Socket::default()
        };
        let mut w = Window {
            cwnd: get("cwnd") as u32,
            ssthresh: infinite(get("ssthresh"), "ssthresh") as u32,
            cwnd_cnt: get("cwnd_cnt") as u32,
            prior_cwnd: get("prior_cwnd") as u32,
            pacing_rate: get("pacing_rate") as u64,
            pacing: get("pacing") != 0,
            ..Window::new(10)
        };
        let rtt = (get("rtt_us") >= 0).then(|| span(get("rtt_us")));
        let arg = get("arg") as u32;
        let mut result = 0;
        match call {
            "init" => c.init(&s, &mut w),
            "acked" => c.pkts_acked(&s, &mut w, rtt, arg),
            "ack" if c.owns_window() => {
                let rs = RateSample {
                    prior_delivered: get("prior_delivered") as u64,
                    delivered: u32::try_from(get("delivered")).ok(),
                    interval: span(get("interval_us").max(0)),
                    rtt,
                    losses: get("losses") as u32,
                    acked_sacked: get("acked_sacked") as u32,
                    prior_in_flight: get("prior_in_flight") as u32,
                    is_app_limited: get("is_app_limited") != 0,
                    is_ack_delayed: get("is_ack_delayed") != 0,
                    ..RateSample::default()
                };
                c.cong_control(&s, &mut w, &rs);
            }
            "ack" => c.cong_avoid(&s, &mut w, arg),
            "ssthresh" => result = c.ssthresh(&s, &mut w),
            "undo" => result = c.undo_cwnd(&s, &mut w),
            "state" => c.set_state(&s, &mut w, STATES[arg as usize]),
            "event" => {
                if let Some(&event) = EVENTS.get(arg as usize) {
                    c.cwnd_event(&s, &mut w, event);
                }
            }
            other => panic!("unknown call {other}"),
        }
        let app_limited = w.app_limited.unwrap_or(s.app_limited);
        [
            w.cwnd.into(),
            w.ssthresh.into(),
            w.cwnd_cnt.into(),
            w.pacing_rate.into(),
            app_limited.into(),
            result.into(),
        ]
    }
}

const STATES: [CaState; 5] =
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];
const EVENTS: [Event; 4] = [Event::TxStart, Event::CwndRestart, Event::CompleteCwr, Event::Loss];

/// The kernel's "infinite" ssthresh is 2^31 - 1.
fn infinite(value: i128, column: &str) -> i128 {
    let is_ssthresh = column.ends_with("ssthresh") || column.ends_with("result");
    if is_ssthresh && value == i32::MAX as i128 { u32::MAX as i128 } else { value }
}

/// 5 Mbit/s, 40 kB of queue, with pauses: slow start, HyStart, losses, timeouts, restarts.
#[test]
fn cubic_equals_the_kernel() {
    let recording = Recording::parse(include_str!("kernel/cubic.csv"));
    assert_eq!(recording.replay(make("cubic", 1, "flow").unwrap()), Ok(recording.rows.len()));
}

#[test]
fn reno_equals_the_kernel() {
    let recording = Recording::parse(include_str!("kernel/reno.csv"));
    assert_eq!(recording.replay(make("reno", 1, "flow").unwrap()), Ok(recording.rows.len()));
}

fn some_seed_replays(text: &str, make: impl Fn(Stream) -> Bbr) {
    let recording = Recording::parse(text);
    let replay = |seed| recording.replay(Box::new(make(Stream::new(seed, "flow"))));
    let best = (0..2_000).map(replay).max_by_key(|r| match r {
        Ok(_) => usize::MAX,
        Err((row, _)) => *row,
    });
    assert_eq!(best, Some(Ok(recording.rows.len())));
}

/// BBR-HSR with an RTT estimate that never exceeds RTprop; these paths have no handovers.
fn degenerate(random: Stream) -> Bbr {
    Bbr::hsr(random, &HsrParameters { t: Bound::At(Span::from_nanos(1)), ..HsrParameters::default() })
}

/// 1 Mbit/s, 20 kB of queue, for 14 s: STARTUP, DRAIN, PROBE_BW, PROBE_RTT.
#[test]
fn bbr_equals_the_kernel() {
    let recording = include_str!("kernel/bbr.csv");
    some_seed_replays(recording, Bbr::new);
    some_seed_replays(recording, degenerate);
}

/// 10 Mbit/s and 9 kB of queue: constant losses, recovery, detection and expiry of the policer's rate.
#[test]
fn bbr_equals_the_kernel_behind_a_policer() {
    let recording = include_str!("kernel/bbr_policed.csv");
    some_seed_replays(recording, Bbr::new);
    some_seed_replays(recording, degenerate);
}
