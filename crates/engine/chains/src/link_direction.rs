//! One direction of a link: a chain of elements, and its statistics in the form of the result.

use path::{Body, Chain};
use result::{DelaySummary, ElementPoint, ElementResult, ElementSeries, TooBigPackets};
use scenario::Scenario;
use units::Time;

/// One direction of a link.
pub struct LinkDirection<B> {
    /// `link.forward` or `link.backward`.
    pub name: String,
    /// Names of the elements in results, `link.forward.stage`, in the order in which packets pass them.
    pub elements: Vec<String>,
    /// Kinds of the elements, as scenarios write them.
    pub kinds: Vec<&'static str>,
    pub chain: Chain<B>,
    /// Source and destination host, as indexes of the scenario's hosts.
    pub hosts: [usize; 2],
}

/// Builds the chains of the scenario's links: for each link, in file order, the forward and the backward
/// direction. An element's random stream is determined by the run's `seed` and its name.
pub fn ways<B: Body + Send + 'static>(scenario: &Scenario, seed: u64) -> Vec<LinkDirection<B>> {
    let mut ways = Vec::new();
    for link in &scenario.links {
        let [a, b] = link.between;
        for (direction, stages, hosts) in
            [("forward", &link.forward, [a, b]), ("backward", &link.backward, [b, a])]
        {
            let name = format!("{}.{direction}", link.name);
            let elements: Vec<String> = stages.iter().map(|s| format!("{name}.{}", s.name)).collect();
            let mut chain = Chain::default();
            for (stage, element) in stages.iter().zip(&elements) {
                chain.push(stage.name.clone(), stage.stage.build(seed, element));
            }
            let kinds = stages.iter().map(|s| s.stage.kind()).collect();
            ways.push(LinkDirection { name, elements, kinds, chain, hosts });
        }
    }
    ways
}

/// The statistics of all elements of `directions`, for the summary.
pub fn elements<'a, B: 'a>(directions: impl Iterator<Item = &'a LinkDirection<B>>) -> Vec<ElementResult> {
    directions.flat_map(|direction| (0..direction.chain.len()).map(move |i| element(direction, i))).collect()
}

fn element<B>(direction: &LinkDirection<B>, i: usize) -> ElementResult {
    let a = direction.chain.account(i);
    debug_assert!(a.balances(), "{}: {a:?}", direction.elements[i]);
    ElementResult {
        name: direction.elements[i].clone(),
        kind: direction.kinds[i].into(),
        passed_packets: a.passed,
        dropped_packets: a.dropped,
        too_big_packets: a.too_big,
        too_big: a.refused.map(|r| TooBigPackets {
            mtu_bytes: r.limit.mtu,
            largest_bytes: r.largest,
            icmp_sent: r.limit.icmp,
        }),
        fragmented_packets: a.cut,
        // An element that fragments makes no other copies.
        fragments: if a.cut > 0 { a.cut + a.copies } else { 0 },
        joined_packets: a.joined,
        marked_packets: a.marked,
        max_queue_packets: a.max_queue,
        delay_ms: DelaySummary {
            mean: a.delay_sum.as_millis_f64() / a.passed.max(1) as f64,
            max: a.delay_max.as_millis_f64(),
        },
    }
}

/// Empty time series of all elements of `directions`, in the same order.
pub fn element_series<'a, B: 'a>(
    directions: impl Iterator<Item = &'a LinkDirection<B>>,
) -> Vec<ElementSeries> {
    let named = |name: &String| ElementSeries { name: name.clone(), ..ElementSeries::default() };
    directions.flat_map(|direction| direction.elements.iter().map(named)).collect()
}

/// Appends a sample at time `t` to the series of each element of `directions`. The chains must have been
/// advanced to `now`.
pub fn sample<'a, B: 'a>(
    series: &mut [ElementSeries],
    directions: impl Iterator<Item = &'a LinkDirection<B>>,
    t: Time,
    now: Time,
) {
    let elements =
        directions.flat_map(|direction| (0..direction.chain.len()).map(move |i| (&direction.chain, i)));
    for (series, (chain, i)) in series.iter_mut().zip(elements) {
        let (gauge, account) = (chain.gauge(i, now), chain.account(i));
        series.push(ElementPoint {
            time_s: t.as_secs_f64(),
            queue_packets: gauge.queue_packets,
            queue_bytes: gauge.queue_bytes,
            tokens_bytes: gauge.tokens_bytes.map(|n| n as f64),
            dropped: account.dropped,
            marked: account.marked,
        });
    }
}
