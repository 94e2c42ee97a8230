//! What a reader tells of the file itself.

use units::Time;

/// What was read of a capture so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// The file's name as given; `-` for standard input.
    pub name: String,
    /// Format and compression: `pcap`, `pcapng`, `snoop`, `erf`, `pcap (zstd)` ….
    pub format: String,
    /// Link layers of its interfaces, as `ethernet`, `raw-ip`, `linux-cooked-v2`.
    pub links: Vec<String>,
    /// Earliest and latest time of a record; `None` without records.
    pub times: Option<(Time, Time)>,
    /// Records; of one that holds several frames (802.11's A-MSDU) each.
    pub records: u64,
    /// Bytes of the packets on the wire.
    pub wire_bytes: u64,
    /// Records with TCP.
    pub tcp_packets: u64,
    /// Records with UDP.
    pub udp_packets: u64,
    /// Later fragments of IP packets, without TCP header.
    pub fragments: u64,
    /// Packets found inside tunnels and encapsulations, by kind (`gre`, `vxlan`, `esp-in-udp` …).
    pub tunnels: Vec<NamedCount>,
    /// Records that hold neither TCP nor UDP, by reason (`arp`, `icmp`, `cut before TCP`, `bad header` …).
    pub other: Vec<NamedCount>,
    /// Packets that the capture program says it dropped.
    pub dropped: Option<u64>,
    /// Where and why reading ended early; all before it was read.
    pub damage: Option<FileDamage>,
}

/// A name and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedCount {
    /// Of what.
    pub name: &'static str,
    /// How many.
    pub count: u64,
}

/// Where a file is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDamage {
    /// Byte offset in the (decompressed) capture.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}
