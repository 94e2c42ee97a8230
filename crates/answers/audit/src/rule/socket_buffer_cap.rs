//! Limits of the buffers that programs set themselves.

use super::{RuleEntry, RuleInput};
use crate::change::sysctl;
use crate::finding::{AuditFinding, FindingLevel::Note};
use crate::path::size;
use crate::trial::{CostTrial, TrialEnds, TrialLoad};
use result::sizes;
use units::Bytes;

pub(super) const RULE: RuleEntry = RuleEntry {
    name: "socket-buffer-cap",
    looks_for: "rmem_max or wmem_max below the path's bandwidth-delay product, for programs that set SO_RCVBUF or SO_SNDBUF",
    source: "socket(7): SO_RCVBUF, SO_SNDBUF; admin-guide/sysctl/net: rmem_max, wmem_max",
    find,
};

/// The limit of one kind of buffer.
struct Cap {
    /// Name of the sysctl.
    name: &'static str,
    /// The socket option that it limits.
    option: &'static str,
    load: TrialLoad,
    /// Gives an end of a trial a fixed buffer of this many bytes.
    fix: fn(&mut TrialEnds, Option<Bytes>),
}

const CAPS: [Cap; 2] = [
    Cap {
        name: "net.core.rmem_max",
        option: "SO_RCVBUF",
        load: TrialLoad::Receive,
        fix: |ends, bytes| {
            ends.here.receive_buffer = bytes;
            ends.here.initial_receive_buffer = bytes;
        },
    },
    Cap {
        name: "net.core.wmem_max",
        option: "SO_SNDBUF",
        load: TrialLoad::Send,
        fix: |ends, bytes| ends.here.send_buffer = bytes,
    },
];

/// Both sysctls apply to the whole host, so each is reported once.
fn find(q: &RuleInput) -> Vec<AuditFinding> {
    CAPS.iter().filter_map(|cap| finding(q, cap)).collect()
}

fn finding(q: &RuleInput, cap: &Cap) -> Option<AuditFinding> {
    let (path, limit) = (q.reachable()?, q.ns.settings.number(cap.name)?.max(0) as u64);
    if !q.ns.initial || limit >= path.bdp() {
        return None;
    }
    let seen = format!(
        "{} is {}; the path's bandwidth-delay product is {}",
        cap.name,
        size(limit),
        size(path.bdp())
    );
    let why = format!(
        "A program that sets {} gets at most this size, and its buffer no longer grows automatically. Other programs are \
         not affected.",
        cap.option
    );
    let wanted = sizes::whole_mib(2 * path.bdp());
    let change = [sysctl(q.ns, cap.name, wanted)];
    let mut trial = CostTrial::of(q.ns, path, cap.load, &change);
    // The kernel doubles the number that a program sets; about half of the result is payload.
    let fixed = |requested: u64| Some(Bytes::new((2 * requested).clamp(1, (1 << 30) - 1)));
    (cap.fix)(&mut trial.now, fixed(limit));
    (cap.fix)(&mut trial.then, fixed(wanted));
    Some(AuditFinding::new(Note, q.ns, seen, &why).with_settings(q.ns, &change).if_it_gains(1.05, trial))
}
