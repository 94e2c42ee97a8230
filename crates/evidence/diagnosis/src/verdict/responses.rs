//! The server's response time without the network's.

use super::display_filter::{between, range};
use result::RttSummary;
use result::diagnosis::{PacketProof, ProofKind, ResponseTimes};
use track::Track;
use units::Span;

/// Returns the response times of the track's sender, for a flow that lasts `seconds`; `None` where it
/// answered no request.
pub(super) fn responses(t: &Track, seconds: f64) -> Option<ResponseTimes> {
    let e = t.exchanges.as_deref()?;
    let (waits, way) = (&e.waits, e.way.unwrap_or_default());
    let ms = |wait: Option<Span>| wait.unwrap_or_default().saturating_sub(way).as_millis_f64();
    let exchanges = waits.samples();
    let server = Span::from_nanos(waits.sum_nanos() as u64).saturating_sub(way * exchanges).as_secs_f64();
    Some(ResponseTimes {
        exchanges,
        server_ms: RttSummary::with(
            (ms(waits.min()), ms(waits.max())),
            server * 1e3 / exchanges.max(1) as f64,
            |q| ms(waits.quantile(q)),
        ),
        network_ms: t.handshake.rtt.or(t.rtt.min()).map(|rtt| rtt.as_millis_f64()),
        server_s: server,
        share: if seconds > 0.0 { (server / seconds).min(1.0) } else { 0.0 },
    })
}

/// Returns the packets of the longest response.
pub(super) fn proof(t: &Track) -> Option<PacketProof> {
    let e = t.exchanges.as_deref()?;
    let [request, response] = e.longest?.1;
    let filter = format!("{} && tcp.len > 0 && {}", between(t), range(request, response));
    let (packets, total) = (vec![request, response], 2 * e.waits.samples());
    Some(PacketProof { kind: ProofKind::Response, packets, total, filter, ..PacketProof::default() })
}
