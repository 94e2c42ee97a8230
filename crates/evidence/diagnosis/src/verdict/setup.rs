//! How connections were set up and reset.

use super::display_filter::{back, between, forth, numbers};
use super::proof::first;
use crate::limiter::seconds;
use result::diagnosis::{
    CaptureInfo, Cause, CauseShare, CauseSpan, ConnectionEnd, ConnectionReset, ConnectionSetup,
    FlowDiagnosis, PacketProof, ProofKind, SetupEnd,
};
use track::{Track, Unreachable};

/// Returns how the setup failed; `None` where it did not.
pub(super) fn failed(t: &Track) -> Option<SetupEnd> {
    if t.counts.payload_bytes > 0 || t.setup.syns.total() == 0 || t.setup.complete {
        return None;
    }
    Some(match (&t.reset, t.setup.unreachable) {
        (Some(reset), _) if !reset.by_opener && t.setup.syn_acks.total() == 0 => SetupEnd::Refused,
        (_, Some(_)) => SetupEnd::Unreachable,
        _ if t.setup.syn_acks.total() == 0 => SetupEnd::Unanswered,
        _ => SetupEnd::Unfinished,
    })
}

/// Describes a setup that failed or needed retransmissions; `None` for an ordinary one.
pub(super) fn setup(t: &Track) -> Option<ConnectionSetup> {
    let (s, failed) = (&t.setup, failed(t));
    let refused = t.reset.filter(|_| failed == Some(SetupEnd::Refused));
    let word = |why| match why {
        Unreachable::Network => "network",
        Unreachable::Host => "host",
        Unreachable::Port => "port",
        Unreachable::Prohibited => "prohibited",
        Unreachable::Other => "other",
    };
    let unusual = failed.is_some() || s.syns.total() > 1 || s.syn_acks.total() > 1;
    unusual.then(|| ConnectionSetup {
        syns: s.syns.total(),
        syn_acks: s.syn_acks.total(),
        retried_s: s.retried.as_secs_f64(),
        failed,
        refused_after_ms: refused.map(|r| r.time.since(t.first).as_millis_f64()),
        unreachable: s.unreachable.map(|(why, _)| word(why).to_string()),
    })
}

/// Describes the reset of the connection; `None` where there was none.
pub(super) fn reset(t: &Track, info: &CaptureInfo) -> Option<ConnectionReset> {
    t.reset.map(|r| ConnectionReset {
        by: if r.by_opener { ConnectionEnd::Client } else { ConnectionEnd::Server },
        at_s: seconds(r.time) - info.start_s,
        client_bytes: r.sent[0],
        server_bytes: r.sent[1],
        outstanding: r.outstanding,
        after_fin: r.after_fin,
    })
}

/// Returns the packets that show the setup and the reset.
pub(super) fn proofs(t: &Track) -> Vec<PacketProof> {
    let mut list = Vec::new();
    if let Some(setup) = setup(t) {
        list.extend(
            proof_of_setup(t)
                .map(|p| PacketProof { cause: setup.failed.is_some().then_some(Cause::SetupFailed), ..p }),
        );
    }
    if let Some(reset) = t.reset {
        let from = if reset.by_opener == t.opened { forth(t) } else { back(t) };
        list.extend(first(&reset.packets, ProofKind::Resets, format!("{from} && tcp.flags.reset == 1")));
    }
    list
}

fn proof_of_setup(t: &Track) -> Option<PacketProof> {
    let (s, refusal) = (&t.setup, t.setup.unreachable.map(|(_, number)| number));
    let reset = t.reset.filter(|_| failed(t) == Some(SetupEnd::Refused));
    let lists = [s.syns.numbers(), s.syn_acks.numbers(), reset.as_ref().map_or(&[], |r| r.packets.numbers())];
    let mut packets: Vec<u32> = lists.into_iter().flatten().copied().chain(refusal).collect();
    packets.sort_unstable();
    packets.dedup();
    let total = s.syns.total() + s.syn_acks.total() + reset.map_or(0, |r| r.packets.total());
    let total = total + u64::from(refusal.is_some());
    let flags = "tcp.flags.syn == 1 || tcp.flags.reset == 1";
    let flags = match refusal {
        Some(n) => format!("{flags} || {}", numbers(&[n])),
        None => flags.to_string(),
    };
    let filter = format!("{} && ({flags})", between(t));
    (!packets.is_empty()).then_some(PacketProof {
        kind: ProofKind::Setup,
        packets,
        total,
        filter,
        ..PacketProof::default()
    })
}

/// Returns the diagnosis of a connection that was never set up, which is the cause of its whole time.
pub(super) fn never_set_up(f: FlowDiagnosis, t: &Track) -> FlowDiagnosis {
    let (from_s, took) = (f.start_s, t.last.since(t.first).as_secs_f64());
    let cause = Cause::SetupFailed;
    FlowDiagnosis {
        cause,
        confidence: 1.0,
        causes: vec![CauseShare { cause, share: 1.0, seconds: took }],
        timeline: vec![CauseSpan { from_s, to_s: from_s + took, cause }],
        duration_s: took,
        notes: Vec::new(),
        ..f
    }
}
