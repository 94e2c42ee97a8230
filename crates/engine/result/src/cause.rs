//! The registry of causes: what can limit a flow. A cause is one file in `cause/`, its `mod` line and a line in the list below.
//!
//! The line gives the cause its name and its meaning; the type, the JSON Schema, the column of `flows.parquet` and the
//! reference follow from it. The file ([`CauseEntry`]) says when a part of a round trip is the cause's, what is said of it
//! in each language, its colours, and what would help. It stands in this crate because both who judges (`diagnosis`) and
//! who tells (`report`) read it.

mod ack_path;
mod application;
mod black_hole;
mod bottleneck;
mod congestion;
mod entry;
mod evidence;
mod fragmented;
mod nagle;
mod outage;
mod packet_too_big;
mod policed;
mod random_loss;
mod receive_window;
mod receiver_stalled;
mod remedies;
mod send_buffer;
mod setup_failed;
mod shaped;
mod slow_start;
mod unknown;

pub use entry::{AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry};
pub use evidence::{ClaimOrder, RoundEvidence, RoundPart};

use serde::{Deserialize, Serialize};

macro_rules! causes {
    ($($variant:ident $module:ident $name:literal $meaning:literal,)*) => {
        /// What can limit a flow.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Cause {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)*
            /// None of these could be shown.
            #[default]
            #[serde(rename = "unknown")]
            Unknown,
        }

        impl Cause {
            /// All of them, in the order of the registry.
            pub const ALL: [Cause; [$($name),*].len() + 1] = [$(Cause::$variant,)* Cause::Unknown];

            /// As JSON spells it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Cause::$variant => $name,)*
                    Cause::Unknown => "unknown",
                }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Cause::$variant => $meaning,)*
                    Cause::Unknown => "None of these could be shown.",
                }
            }

            /// The column of `flows.parquet` that holds its share, and what that says.
            pub const fn share_column(self) -> (&'static str, &'static str) {
                match self {
                    $(Cause::$variant => (
                        concat!("share_", stringify!($module)),
                        concat!("share of the flow's time, 0 to 1, with the cause `", $name, "`"),
                    ),)*
                    Cause::Unknown => {
                        ("share_unknown", "share of the flow's time, 0 to 1, with the cause `unknown`")
                    }
                }
            }

            /// What its file says of it.
            pub const fn entry(self) -> &'static CauseEntry {
                match self {
                    $(Cause::$variant => &$module::ENTRY,)*
                    Cause::Unknown => &unknown::ENTRY,
                }
            }
        }
    };
}

causes! {
    Application application "application" "The sending application had nothing to send.",
    ReceiveWindow receive_window "receive-window" "The receiver's window was full.",
    ReceiverStalled receiver_stalled "receiver-stalled" "The receiver did not read: its window stayed shut, or by more than half full of what it had not read.",
    SendBuffer send_buffer "send-buffer" "The sender's own buffer or window: it keeps the same amount in flight without loss, queue or full window.",
    SlowStart slow_start "slow-start" "The congestion window was still growing exponentially.",
    RandomLoss random_loss "random-loss" "Congestion control after losses that no queue and no limiter explain.",
    Congestion congestion "congestion" "Congestion control after losses at a full queue.",
    Bottleneck bottleneck "bottleneck" "The bottleneck's rate: it was full, packets queued before it.",
    Policed policed "policed" "A policer dropped what came above its rate.",
    Shaped shaped "shaped" "A shaper delayed what came above its rate.",
    Outage outage "outage" "Nothing passed for a while: handover or outage.",
    PacketTooBig packet_too_big "packet-too-big" "Packets were too big for the path; the sender was told, and sent them again in smaller ones.",
    BlackHole black_hole "black-hole" "Packets were too big for the path, and nobody told the sender: full segments vanished, one timeout after the other.",
    Fragmented fragmented "fragmented" "Packets were cut into IP fragments, and lost with any of them.",
    SetupFailed setup_failed "setup-failed" "The connection was never set up: its SYNs were not answered, or refused.",
    Nagle nagle "nagle" "Small segments waited for the ACK of what was before them (Nagle), which the receiver delayed.",
    AckPath ack_path "ack-path" "The way of the ACKs: thinned out, bunched or congested.",
}

impl Cause {
    /// The cause of a part of a round trip: the first of those that claim it, [`Cause::Unknown`] where none does.
    pub fn of_part(part: RoundPart, evidence: &RoundEvidence) -> Cause {
        Cause::of_part_but(part, evidence, &[])
    }

    /// The same without those that were `refuted`.
    pub fn of_part_but(part: RoundPart, evidence: &RoundEvidence, refuted: &[Cause]) -> Cause {
        let claims = Cause::ALL.into_iter().filter(|c| !refuted.contains(c));
        let claims = claims.filter_map(|c| Some(((c.entry().claim)(part, evidence)?, c)));
        claims.min_by_key(|(order, _)| *order).map_or(Cause::Unknown, |(_, cause)| cause)
    }
}

#[cfg(test)]
mod tests;
