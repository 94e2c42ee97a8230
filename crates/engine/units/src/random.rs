//! Named random streams: PCG-XSL-RR 128/64 (O'Neill 2014), seeded by run seed and name, so that adding an
//! element or a flow does not change the draws of others.

use crate::Span;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64;

/// A random stream that belongs to one element or flow.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

/// FNV-1a with 64 bits. Unlike `std`'s hasher it is stable across machines and versions.
pub fn fnv1a(bytes: &[u8], basis: u64) -> u64 {
    bytes.iter().fold(basis, |h, &b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Stream {
    /// The stream `name` of the run with `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        let mut bytes = [0u8; 32];
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            let basis = 0xcbf2_9ce4_8422_2325 ^ (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let h = fnv1a(name.as_bytes(), fnv1a(&seed.to_le_bytes(), basis));
            chunk.copy_from_slice(&h.to_le_bytes());
        }
        Stream(Pcg64::from_seed(bytes))
    }

    /// 64 uniform random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n (n > 0) by widening multiplication; the bias is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.0.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }

    /// Exponentially distributed with the given mean (intervals of a Poisson process), by inversion.
    pub fn exponential(&mut self, mean: Span) -> Span {
        // `libm` instead of the platform's logarithm, for the same result on every machine.
        let u = 1.0 - self.unit();
        Span::from_nanos((-libm::log(u) * mean.as_nanos() as f64 + 0.5) as u64)
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box-Muller, one value of the pair).
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.unit();
        let v = self.unit();
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_differ_by_seed_and_name() {
        let first = |seed, name| Stream::new(seed, name).bits();
        assert_eq!(first(1, "wan.loss"), first(1, "wan.loss"));
        assert_ne!(first(1, "wan.loss"), first(2, "wan.loss"));
        assert_ne!(first(1, "wan.loss"), first(1, "wan.jitter"));
    }

    #[test]
    fn draws_have_the_expected_moments() {
        let mut s = Stream::new(7, "moments");
        let n = 200_000;
        let mean = Span::from_millis(10);
        let sum: f64 = (0..n).map(|_| s.exponential(mean).as_millis_f64()).sum();
        assert!((sum / n as f64 - 10.0).abs() < 0.1);
        let draws: Vec<f64> = (0..n).map(|_| s.normal()).collect();
        let m = draws.iter().sum::<f64>() / n as f64;
        let v = draws.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / n as f64;
        assert!(m.abs() < 0.01 && (v - 1.0).abs() < 0.02);
        let hits = (0..n).filter(|_| s.chance(0.05)).count() as f64 / n as f64;
        assert!((hits - 0.05).abs() < 0.003);
    }
}
