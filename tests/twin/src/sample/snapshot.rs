//! A snapshot of a connection: the fields of `TCP_INFO` that kernel and model both have.

use transport::Info;

/// Tolerance between a field of the model and the kernel's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Within {
    /// Must be equal.
    Exact,
    /// A time, µs: the kernel reads its clock within the call, whose duration is measured from outside.
    Clock,
    /// The timeout, µs, which the kernel stores and doubles in ticks.
    Ticks,
    /// A rate, computed from the smoothed round trip.
    Rate,
}

/// Tolerance of a time, µs, in addition to the share below.
const CLOCK_US: u64 = 40;
/// Tolerance as a fraction of the smoothed round trip, which deviations of a sample enter.
const CLOCK_SHARE: u64 = 100;
/// Duration of a kernel tick, µs.
const TICK_US: u64 = 4_000;

/// Name, offset in `struct tcp_info` (linux/tcp.h), size in bytes, and tolerance. The first field that
/// differs, in this order, names the difference.
const FIELDS: [(&str, usize, usize, Within); 23] = [
    ("ca_state", 1, 1, Within::Exact),
    ("snd_mss", 16, 4, Within::Exact),
    ("unacked", 24, 4, Within::Exact),
    ("sacked", 28, 4, Within::Exact),
    ("lost", 32, 4, Within::Exact),
    ("retrans", 36, 4, Within::Exact),
    ("snd_cwnd", 80, 4, Within::Exact),
    ("snd_ssthresh", 76, 4, Within::Exact),
    ("reordering", 88, 4, Within::Exact),
    ("reord_seen", 220, 4, Within::Exact),
    ("dsack_dups", 216, 4, Within::Exact),
    ("delivered", 192, 4, Within::Exact),
    ("retransmits", 2, 1, Within::Exact),
    ("backoff", 4, 1, Within::Exact),
    ("total_retrans", 100, 4, Within::Exact),
    ("total_rto", 240, 2, Within::Exact),
    ("data_segs_out", 156, 4, Within::Exact),
    ("bytes_acked", 120, 8, Within::Exact),
    ("notsent_bytes", 144, 4, Within::Exact),
    ("min_rtt", 148, 4, Within::Clock),
    ("rtt", 68, 4, Within::Clock),
    ("rto", 8, 4, Within::Ticks),
    ("pacing_rate", 104, 8, Within::Rate),
];

/// A snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Snapshot(pub [u64; FIELDS.len()]);

impl Snapshot {
    /// Number of fields.
    pub const FIELDS: usize = FIELDS.len();

    /// Reads the bytes of a `tcp_info`; `None` if a kernel's is too short.
    pub fn of_kernel(bytes: &[u8]) -> Option<Snapshot> {
        let mut snapshot = Snapshot::default();
        for (value, &(name, at, size, _)) in snapshot.0.iter_mut().zip(&FIELDS) {
            let mut b = [0; 8];
            b[..size].copy_from_slice(bytes.get(at..at + size)?);
            *value = u64::from_le_bytes(b);
            match name {
                "snd_ssthresh" if *value >= i32::MAX as u64 => *value = u32::MAX as u64,
                "reord_seen" => *value = (*value).min(1),
                // The kernel counts the SYN in this field.
                "bytes_acked" => *value = value.saturating_sub(1),
                _ => {}
            }
        }
        Some(snapshot)
    }

    /// Takes a snapshot of the model.
    pub fn of_model(info: &Info) -> Snapshot {
        Snapshot([
            info.ca_state as u64,
            info.snd_mss as u64,
            info.unacked as u64,
            info.sacked as u64,
            info.lost as u64,
            info.retrans as u64,
            info.snd_cwnd as u64,
            info.snd_ssthresh as u64,
            info.reordering as u64,
            info.reord_seen as u64,
            info.dsack_dups as u64,
            info.delivered as u64,
            (info.retransmits & 255) as u64,
            info.backoff as u64,
            info.total_retrans as u64,
            info.total_rto as u64,
            info.data_segs_out as u64,
            info.bytes_acked,
            info.notsent_bytes as u64,
            info.min_rtt as u64,
            info.rtt as u64,
            info.rto as u64,
            info.pacing_rate,
        ])
    }

    fn get(&self, name: &str) -> u64 {
        FIELDS.iter().position(|f| f.0 == name).map_or(0, |i| self.0[i])
    }

    /// Returns the first field in which the model differs: its name, the kernel's value, the model's.
    /// `slack_us`: uncertainty of the times of the last packets.
    pub fn difference(&self, model: &Snapshot, slack_us: u64) -> Option<(&'static str, u64, u64)> {
        let rtt = self.get("rtt");
        let clock = CLOCK_US + slack_us + rtt / CLOCK_SHARE;
        FIELDS.iter().zip(self.0.iter().zip(&model.0)).find_map(|(&(name, _, _, within), (&k, &m))| {
            let off = k.abs_diff(m);
            let fine = match within {
                Within::Exact => off == 0,
                Within::Clock => off <= clock,
                Within::Ticks => off <= (TICK_US << self.get("backoff").min(16)) + 8 * clock,
                Within::Rate => off <= k / 1000 + (k as u128 * clock as u128 / rtt.max(1) as u128) as u64,
            };
            (!fine).then_some((name, k, m))
        })
    }

    /// The fields that changed since `before`, as `index:value`.
    pub fn changes(&self, before: &Snapshot) -> String {
        let changed = self.0.iter().zip(&before.0).enumerate().filter(|(_, (new, old))| new != old);
        changed.map(|(i, (new, _))| format!(" {i}:{new}")).collect()
    }

    /// Applies the text written by [`Snapshot::changes`].
    pub fn change(&mut self, text: &str) -> Option<()> {
        for pair in text.split_whitespace() {
            let (i, value) = pair.split_once(':')?;
            *self.0.get_mut(i.parse::<usize>().ok()?)? = value.parse().ok()?;
        }
        Some(())
    }
}

/// Prints `name=value` of all fields.
impl std::fmt::Display for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        FIELDS.iter().zip(&self.0).try_for_each(|((name, ..), value)| write!(f, " {name}={value}"))
    }
}

impl Snapshot {
    /// The smoothed round trip in eighths of a microsecond, as implied by the pacing rate
    /// (`tcp_update_pacing_rate`); `None` if it disagrees with the reported one.
    pub fn eighths_of_rtt(&self, before: &Snapshot) -> Option<u64> {
        let [cwnd, ssthresh, rate, rtt] =
            ["snd_cwnd", "snd_ssthresh", "pacing_rate", "rtt"].map(|f| self.get(f));
        let more = |name: &str| self.get(name).saturating_sub(before.get(name));
        // The rate was set before new packets were sent.
        let new = more("data_segs_out").saturating_sub(more("total_retrans"));
        let window = cwnd.max(self.get("unacked").saturating_sub(new));
        let percent = if cwnd < ssthresh / 2 { 200 } else { 120 };
        let eighths = (self.get("snd_mss") * 80_000 * percent * window).checked_div(rate)?;
        (eighths / 8 == rtt).then_some(eighths)
    }

    /// Round trip of the handshake, µs, if nothing else was measured yet.
    pub fn first_rtt(&self) -> Option<u64> {
        Some(self.get("min_rtt")).filter(|&us| us < u32::MAX as u64)
    }

    /// Returns whether nothing is outstanding and nothing waits.
    pub fn is_quiet(&self) -> bool {
        self.get("unacked") == 0 && self.get("notsent_bytes") == 0
    }
}
