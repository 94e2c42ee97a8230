//! The connection was never set up: SYNs were not answered, or were refused.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::diagnosis::SetupEnd;
use result::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const RULES: CauseRules =
    CauseRules { bound: CauseBound::Nothing, looks_like: &[], claim, remedies };

/// It has no round trips: the verdict gives it to connections that never came to any.
fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let end = a.lead().setup.as_ref().and_then(|s| s.failed);
    match end {
        Some(SetupEnd::Refused) => {
            let why = "an RST says that the host is reached, and that nothing takes the connection (RFC 9293 section 3.5.2)";
            vec![Remedy::new(RemedyKind::Service, RemedyPlace::Receiver, why)]
        }
        _ => {
            let why = "no answer of the other end came back to who asked";
            vec![Remedy::new(RemedyKind::Reachability, RemedyPlace::Path, why)]
        }
    }
}
