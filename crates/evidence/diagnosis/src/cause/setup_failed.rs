//! The connection was never set up: SYNs were not answered, or were refused.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::change::{Change, ChangeKind, ChangePlace};
use result::diagnosis::SetupEnd;

pub(super) const RULES: CauseRules =
    CauseRules { bound: CauseBound::Nothing, looks_like: &[], claim, remedies };

/// It has no round trips: the verdict gives it to connections that never came to any.
fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let end = a.lead().setup.as_ref().and_then(|s| s.failed);
    match end {
        Some(SetupEnd::Refused) => {
            let why = "an RST says that the host is reached, and that nothing takes the connection (RFC 9293 section 3.5.2)";
            vec![Change::new(ChangeKind::Service, ChangePlace::Receiver, why)]
        }
        _ => {
            let why = "no answer of the other end came back to who asked";
            vec![Change::new(ChangeKind::Reachability, ChangePlace::Path, why)]
        }
    }
}
