//! The diagnosis of one flow: its round trips, the facts about it as a whole, and the causes of its time.

use super::evidence::{self, FlowFacts};
use super::full_link::LinkFills;
use super::limiters::FlowLimiter;
use super::round_trips::{self, rounds};
use super::socket::SocketFacts;
use super::too_big::SizeStall;
use super::vantage::{are_waits_unseen, receiver_side, sender_side, vantage, waits_before_capture};
use super::{
    PathContext, UNKNOWN_RTT, between, bounds, cc, few_packets, gaps, losses, measures, number, outages,
    proof, responses, setup, timeline,
};
use crate::cause::RoundPart;
use crate::limiter;
use result::FlowDiagnosis;
use result::diagnosis::{CaptureInfo, Cause, LimiterKind, Measures, PacketProof};
use track::Track;

/// Least number of held segments that cannot come by chance: once or twice a small write follows a delayed
/// ACK by accident. As many as the duplicate ACKs that show a loss (RFC 5681 section 3.2).
const HELD_AGAIN: u64 = 3;

/// Whether the application waits for room in the send buffer: whenever all written data was sent, new data
/// mostly follows an ACK at once, and always before all of it is acknowledged.
fn is_send_buffer_full(t: &Track, rounds: &[round_trips::RoundTripSpan]) -> bool {
    let idle = round_trips::total(rounds, |r| r.idle);
    let ended = t.counts.app_limited.as_secs_f64();
    t.counts.app_limited_until_ack.as_secs_f64() > 0.5 * ended && idle <= 0.0
}

/// A flow's round trips and the facts about it as a whole.
struct FlowView {
    rounds: Vec<round_trips::RoundTripSpan>,
    facts: FlowFacts,
    /// Median RTT, seconds.
    median: f64,
}

impl FlowView {
    fn new(t: &Track, through: Option<&FlowLimiter>, context: &PathContext) -> FlowView {
        let base = context.base.or(t.handshake.rtt.map(|r| r.as_secs_f64())).unwrap_or(UNKNOWN_RTT);
        let mean = t.rtt.mean().map_or(base, |rtt| rtt.as_secs_f64());
        let rtt = mean.max(base);
        let rounds = rounds(t, rtt);
        // A capture at the sender has no limiter before it.
        let limiter = through.map(|l| l.found);
        let limiter =
            limiter.filter(|l| l.behind || l.delay_fit.is_some() || l.bucket.is_some() || !sender_side(t));
        let others: Vec<&Track> = match t.too_big.is_empty() {
            true => Vec::new(),
            false => context
                .same_direction
                .iter()
                .map(|i| &context.tracks[*i])
                .filter(|o| !std::ptr::eq(*o, t))
                .collect(),
        };
        let stalls = SizeStall::all(t, &others);
        let mut outages = outages::outages(t, rtt, context.silences);
        // The path carried smaller packets.
        outages.retain(|o| !stalls.iter().any(|s| s.meets(*o)));
        let policer = limiter.is_some_and(|l| l.kind == LimiterKind::Policer);
        let by = if policer { Cause::Policed } else { Cause::Congestion };
        let dropped = (through.map_or(&[][..], |l| &l.dropped), by);
        let losses = losses::losses(t, base, rtt, dropped, (&outages, &stalls), context.full);
        let since = |f: &(f64, f64)| (f.0 - limiter::seconds(t.first), f.1 - limiter::seconds(t.first));
        let facts = FlowFacts {
            full: through.iter().flat_map(|l| l.full.iter()).map(since).collect(),
            reverse_full: context.reverse_full.iter().flat_map(|f| f.iter()).map(since).collect(),
            base,
            min_rtt: t.rtt.min().map_or(base, |rtt| rtt.as_secs_f64()),
            mss: t.mss.unwrap_or(1) as f64,
            limiter,
            share: through.map_or(1.0, |l| l.share),
            fills: LinkFills::of(&round_trips::rounds_without_waits(t, base)),
            losses,
            stalls,
            outages,
            quiet: context.silences.iter().map(|s| s.since(limiter::seconds(t.first))).collect(),
            bursts: outages::bursts(t, rtt).iter().map(|b| b - limiter::seconds(t.first)).collect(),
            near_receiver: receiver_side(t),
            waits_before_capture: waits_before_capture(t),
            inflight_unknown: are_waits_unseen(t),
            one_way: measures::is_one_way(t) && !outages::is_unanswered(t),
            begun_late: !t.handshake.syn && !t.handshake.syn_ack,
            window_unknown: t.handshake.wscale.is_none(),
            bidirectional_data: context.bidirectional_data,
            send_buffer_full: is_send_buffer_full(t, &rounds),
            nagle_waits: t.held.total() >= HELD_AGAIN,
            unanswered: cc::are_losses_unanswered(&rounds, t.mss.unwrap_or(1) as f64),
        };
        let median = t.rtt.quantile(0.5).map_or(base, |rtt| rtt.as_secs_f64());
        FlowView { rounds, facts, median }
    }

    /// Returns the causes of each round trip's parts, without those that measurements refute.
    fn splits(&self, t: &Track, socket: Option<&SocketFacts>) -> Vec<evidence::RoundSplit> {
        let mut measured = evidence::measured(&self.rounds, &self.facts);
        let refuted = socket.map(|s| s.correct(t, &self.rounds, &mut measured)).unwrap_or_default();
        bounds::consistent_split(&self.rounds, &measured, &self.facts, self.median, refuted)
    }
}

/// Diagnoses one flow.
pub(super) fn flow(
    t: &Track,
    through: Option<&FlowLimiter>,
    context: &PathContext,
    info: &CaptureInfo,
) -> FlowDiagnosis {
    let view = FlowView::new(t, through, context);
    let splits = view.splits(t, context.socket);
    let FlowView { rounds, facts, .. } = view;
    let causes = timeline::shares(&splits);
    let silence_s = splits.iter().fold(0.0, |sum, split| sum + split[RoundPart::Silence as usize].1);
    let measures = Measures { silence_s, ..measures::measures(t, &rounds) };
    let start = limiter::seconds(t.first) - info.start_s;
    let mut proofs = proof::of_causes(t, &causes, (&rounds, &splits), &facts.losses);
    proofs.extend(event_proofs(t));
    let duration = round_trips::total(&rounds, |r| r.width);
    let cause = causes.first().map_or(Cause::Unknown, |c| c.cause);
    let f = FlowDiagnosis {
        id: number(t),
        connection: t.connection,
        from: t.sender.to_string(),
        to: t.receiver.to_string(),
        start_s: start,
        duration_s: duration,
        vantage: vantage(t),
        cause,
        confidence: 0.0,
        alternatives: Vec::new(),
        needs: None,
        timeline: timeline::timeline(&rounds, &splits, start),
        remedies: Vec::new(),
        limiter: through.map(|l| l.index),
        rejected_limiter: None,
        cc: context
            .socket
            .and_then(SocketFacts::control)
            .unwrap_or_else(|| cc::guess(t, &rounds, &facts, cause)),
        responses: responses::responses(t, duration),
        setup: setup::setup(t),
        reset: setup::reset(t, info),
        proofs,
        notes: [
            measures::notes(t),
            losses::notes(t, cause, &facts.losses, context.full),
            evidence::notes(&rounds, &facts, cause),
        ]
        .concat(),
        between_ends: between::between_ends(t, info.start_s),
        qlog: None,
        socket: context.socket.map(SocketFacts::account),
        measures,
        causes,
    };
    match setup::failed(t) {
        Some(_) => setup::never_set_up(f, t),
        None if gaps::has_too_many(t) => gaps::cannot_tell(f),
        None if few_packets::are_too_few(t, f.cause, f.duration_s) => {
            let mut f = gaps::cannot_tell(f);
            f.proofs = event_proofs(t);
            f.notes.push(few_packets::NOTE.into());
            f
        }
        None => f,
    }
}

/// Returns the packets of the flow's setup, its resets and its longest response, which show no cause.
fn event_proofs(t: &Track) -> Vec<PacketProof> {
    setup::proofs(t).into_iter().chain(responses::proof(t)).collect()
}
