//! The quantity types and their arithmetic.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time: nanoseconds since the start of the run.
//
// Not a `NonZeroU64`, with which `Option<Time>` would take one word: rustc 1.95 (LLVM) compiles
// `option.map(|t| t.max(u))` of such a type to code that treats `None` as a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A non-negative duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// A speed in millimetres per hour, which represents both km/h and m/s exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Speed(u64);

/// A distance in millimetres.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Length(u64);

/// A frequency in hertz.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frequency(u64);

const NANOS: u64 = 1_000_000_000;

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The latest representable time, 2^64 - 1 nanoseconds.
    pub const MAX: Time = Time(u64::MAX);
    /// The time `ns` nanoseconds after the start of the run.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }
    /// Nanoseconds since the start of the run.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds since the start of the run.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.as_nanos() / 1_000
    }
    /// Seconds since the start of the run, for display and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }
    /// The span since `earlier`; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    pub const ZERO: Span = Span(0);
    /// The longest representable span.
    pub const MAX: Span = Span(u64::MAX);
    #[inline]
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns)
    }
    #[inline]
    pub const fn from_micros(us: u64) -> Span {
        Span(us * 1_000)
    }
    #[inline]
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }
    #[inline]
    pub const fn from_secs(s: u64) -> Span {
        Span(s * NANOS)
    }
    /// From fractional seconds, rounded to the nearest nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * 1e9 + 0.5) as u64)
    }
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Milliseconds, for display and plots.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Seconds, for display and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// `self - other`, or zero.
    #[inline]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Bytes {
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    pub const fn get(self) -> u64 {
        self.0
    }
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Rate {
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Megabits per second, for display and plots.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The time that `bytes` take at this rate, rounded up to the next nanosecond; [`Span::MAX`] for a rate
    /// of zero.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // 8e9 * bytes fits into 64 bits up to 2.3 GB, which no packet exceeds.
        if bytes < 2_000_000_000 {
            Span((bytes * 8 * NANOS).div_ceil(self.0))
        } else {
            Span((bytes as u128 * 8 * NANOS as u128).div_ceil(self.0 as u128) as u64)
        }
    }
    /// The number of whole bytes that this rate carries in `span`.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes((self.0 as u128 * span.0 as u128 / (8 * NANOS as u128)) as u64)
    }
    /// The rate of `bytes` per `span`, rounded down; zero for an empty span.
    pub const fn of(bytes: u64, span: Span) -> Rate {
        if span.0 == 0 {
            return Rate(0);
        }
        Rate((bytes as u128 * 8 * NANOS as u128 / span.0 as u128) as u64)
    }
}

impl Speed {
    pub const fn from_kmh(kmh: u64) -> Speed {
        Speed(kmh * 1_000_000)
    }
    pub const fn from_mm_per_hour(n: u64) -> Speed {
        Speed(n)
    }
    /// Metres per second.
    pub fn as_mps(self) -> f64 {
        self.0 as f64 / 3.6e6
    }
    /// The time that `distance` takes at this speed, rounded up to the next nanosecond; [`Span::MAX`] for a
    /// speed of zero.
    pub fn time_for(self, distance: Length) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        let ns = (distance.0 as u128 * 3600 * NANOS as u128).div_ceil(self.0 as u128);
        Span(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

impl Length {
    pub const fn from_mm(mm: u64) -> Length {
        Length(mm)
    }
    pub const fn from_m(m: u64) -> Length {
        Length(m * 1_000)
    }
    pub fn as_m(self) -> f64 {
        self.0 as f64 / 1e3
    }
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Frequency {
    pub const fn from_hz(hz: u64) -> Frequency {
        Frequency(hz)
    }
    pub const fn as_hz(self) -> u64 {
        self.0
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, s: Span) -> Time {
        Time(self.0.saturating_add(s.0))
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, s: Span) {
        *self = *self + s;
    }
}
impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, s: Span) -> Time {
        Time(self.0.saturating_sub(s.0))
    }
}
impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, o: Span) -> Span {
        Span(self.0.saturating_add(o.0))
    }
}
impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, o: Span) {
        *self = *self + o;
    }
}
impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, o: Span) -> Span {
        Span(self.0 - o.0)
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}
impl Add for Bytes {
    type Output = Bytes;
    fn add(self, o: Bytes) -> Bytes {
        Bytes(self.0 + o.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Bytes) {
        self.0 += o.0;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, o: Bytes) -> Bytes {
        Bytes(self.0 - o.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Bytes) {
        self.0 -= o.0;
    }
}

/// Writes `n` in the largest unit that keeps it a whole number.
fn whole(f: &mut fmt::Formatter<'_>, n: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (scale, name) =
        units.iter().find(|(scale, _)| n != 0 && n.is_multiple_of(*scale)).unwrap_or(&units[units.len() - 1]);
    write!(f, "{}{}", n / scale, name)
}

/// Writes `n` in the largest unit in which it needs at most three decimals: `2.5ms`, `19.4Mbit/s`.
fn short(f: &mut fmt::Formatter<'_>, n: u64, units: &[(u64, &str)]) -> fmt::Result {
    let fits = |&&(scale, _): &&(u64, &str)| n >= scale && (n % scale * 1000).is_multiple_of(scale);
    let Some((scale, name)) = units.iter().find(fits) else { return whole(f, n, units) };
    let decimals = format!("{:03}", n % scale * 1000 / scale);
    match decimals.trim_end_matches('0') {
        "" => write!(f, "{}{name}", n / scale),
        decimals => write!(f, "{}.{decimals}{name}", n / scale),
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short(f, self.0, &[(NANOS, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(f, self.0, &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"), (1, "B")])
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short(f, self.0, &[(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s"), (1_000, "kbit/s"), (1, "bit/s")])
    }
}
impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(f, self.0, &[(1_000_000, "km/h"), (3_600, "mm/s"), (1, "mm/h")])
    }
}
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(f, self.0, &[(1_000_000, "km"), (1_000, "m"), (1, "mm")])
    }
}
impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whole(f, self.0, &[(1_000_000_000, "GHz"), (1_000_000, "MHz"), (1_000, "kHz"), (1, "Hz")])
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={:.9}s", self.as_secs_f64())
    }
}
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_are_rounded_up() {
        assert_eq!(Rate::from_bps(200_000_000).time_for(1514), Span::from_nanos(60_560));
        // 1 B at 3 bit/s takes 2.666… s: rounded up, so that it is never faster than the rate.
        assert_eq!(Rate::from_bps(3).time_for(1), Span::from_nanos(2_666_666_667));
        assert_eq!(Rate::from_bps(0).time_for(1), Span::MAX);
        // The intermediate product exceeds 64 bits.
        assert_eq!(Rate::from_bps(8).time_for(4_000_000_000), Span::from_secs(4_000_000_000));
    }

    #[test]
    fn display_is_exact_and_short() {
        assert_eq!(Span::from_micros(2_500).to_string(), "2.5ms");
        assert_eq!(Span::from_nanos(60_560).to_string(), "60.56us");
        assert_eq!(Span::from_nanos(1_000_000_001).to_string(), "1000000.001us");
        assert_eq!(Rate::from_bps(19_400_000).to_string(), "19.4Mbit/s");
        assert_eq!(Bytes::new(625_000).to_string(), "625kB");
        assert_eq!(Rate::from_bps(20_000_000).to_string(), "20Mbit/s");
        assert_eq!(Span::ZERO.to_string(), "0ns");
    }

    #[test]
    fn a_distance_takes_its_length_divided_by_the_speed() {
        // 800 m at 300 km/h (83.333 m/s): 9.6 s.
        assert_eq!(Speed::from_kmh(300).time_for(Length::from_m(800)), Span::from_millis(9_600));
        assert_eq!(Speed::default().time_for(Length::from_m(1)), Span::MAX);
        assert!((Speed::from_kmh(300).as_mps() - 83.333_333).abs() < 1e-6);
    }
}
