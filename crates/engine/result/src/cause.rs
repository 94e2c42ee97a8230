//! The registry of causes: what can limit a flow. Each line of the list below defines a cause's name and
//! meaning; the type, the JSON Schema, the column of `flows.parquet` and the reference documentation follow
//! from it.
//!
//! The evidence for a cause and its remedies are in `crates/evidence/diagnosis/src/cause`; its texts are the
//! block `cause.NAME` of `crates/answers/report/strings.json`.

use serde::{Deserialize, Serialize};

macro_rules! causes {
    ($($variant:ident $module:ident $name:literal $meaning:literal,)*) => {
        /// What can limit a flow.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Cause {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)*
            /// No cause could be established.
            #[default]
            #[serde(rename = "unknown")]
            Unknown,
        }

        impl Cause {
            /// All causes, in the order of the registry.
            pub const ALL: [Cause; [$($name),*].len() + 1] = [$(Cause::$variant,)* Cause::Unknown];

            /// The name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Cause::$variant => $name,)*
                    Cause::Unknown => "unknown",
                }
            }

            /// The meaning, one sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Cause::$variant => $meaning,)*
                    Cause::Unknown => "No cause could be established.",
                }
            }

            /// Name and description of the column of `flows.parquet` that holds the cause's share.
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
    ReceiveWindow receive_window "receive-window" "The receive window was full.",
    ReceiverStalled receiver_stalled "receiver-stalled" "The receiving application did not read: the receive window stayed closed, or more than half of the receive buffer held unread data.",
    SendBuffer send_buffer "send-buffer" "The send buffer or another limit of the sender: a constant amount of data in flight, without loss, queueing or a full receive window.",
    SlowStart slow_start "slow-start" "The congestion window was still growing exponentially.",
    RandomLoss random_loss "random-loss" "The congestion control had reduced its window after losses that neither a queue nor a limiter explains.",
    Congestion congestion "congestion" "The congestion control had reduced its window after losses at a full queue.",
    Bottleneck bottleneck "bottleneck" "The bottleneck's rate: the link was full and packets queued in front of it.",
    Policed policed "policed" "A policer dropped packets above its rate.",
    Shaped shaped "shaped" "A shaper delayed packets above its rate.",
    Outage outage "outage" "No packet passed for some time: an outage or a handover.",
    PacketTooBig packet_too_big "packet-too-big" "Packets exceeded the path MTU; ICMP reported it, and the sender retransmitted them in smaller segments.",
    BlackHole black_hole "black-hole" "Packets exceeded the path MTU and no ICMP error reached the sender (black hole): full-sized segments were lost, timeout after timeout.",
    Fragmented fragmented "fragmented" "Packets were fragmented, and lost as a whole with any fragment.",
    SetupFailed setup_failed "setup-failed" "The connection was not established: its SYNs were not answered, or were refused.",
    Nagle nagle "nagle" "Small segments waited for the ACK of earlier data (Nagle's algorithm), which the receiver delayed.",
    AckPath ack_path "ack-path" "The return path: ACKs were thinned out, bunched or congested.",
}

impl Cause {
    /// Whether a flow with this cause is limited by a rate limiter. Such flows are described together, per
    /// limiter; a limiter without such a flow is omitted.
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
