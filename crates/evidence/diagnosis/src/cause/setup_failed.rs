//! The connection was never set up: SYNs were not answered, or were refused.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::change::{Change, ChangeKind, ChangePlace};
use result::diagnosis::SetupEnd;

pub(super) const RULES: CauseRules =
    CauseRules { bound: CauseBound::Nothing, looks_like: &[], claim, remedies };

/// Claims nothing: the verdict assigns this cause to connections without round trips.
fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let end = a.lead().setup.as_ref().and_then(|s| s.failed);
    match end {
        Some(SetupEnd::Refused) => {
            let why = "an RST means that the host is reachable and nothing listens on the port (RFC 9293 section 3.5.2)";
            vec![Change::new(ChangeKind::Service, ChangePlace::Receiver, why)]
        }
        _ => {
            let why = "no answer from the other end arrived";
            vec![Change::new(ChangeKind::Reachability, ChangePlace::Path, why)]
        }
    }
}
