//! The registry of causes: what can limit a flow. A line of the list below gives a cause its name and its meaning; the type,
//! the JSON Schema, the column of `flows.parquet` and the reference follow from it.
//!
//! When a cause is the right one and what helps is in `crates/evidence/diagnosis/src/cause`; its words are the block
//! `cause.NAME` of `crates/answers/report/strings.json`.

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
    /// Whether the limiter of a flow is what holds it: such flows are described together, by limiter, and a limiter that holds
    /// no flow is left out.
    pub const fn is_of_limiter(self) -> bool {
        matches!(self, Cause::Congestion | Cause::Bottleneck | Cause::Policed | Cause::Shaped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_cause_has_a_name_a_meaning_and_a_column() {
        assert_eq!(Cause::ALL.map(Cause::name).into_iter().collect::<BTreeSet<_>>().len(), Cause::ALL.len());
        for cause in Cause::ALL {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
            assert_eq!(cause.share_column().0, format!("share_{}", cause.name().replace('-', "_")));
            assert!(cause.meaning().ends_with('.') && cause.meaning().len() > 20, "{}", cause.meaning());
        }
    }
}
