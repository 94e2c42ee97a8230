//! Statistics of a capture file.

use units::Time;

/// Statistics of what has been read of a capture so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Name of the file as given; `-` for standard input.
    pub name: String,
    /// Format and compression: `pcap`, `pcapng`, `snoop`, `erf`, `pcap (zstd)` ….
    pub format: String,
    /// Link layers of the capture's interfaces: `ethernet`, `raw-ip`, `linux-cooked-v2` ….
    pub links: Vec<String>,
    /// Earliest and latest time of the records; `None` without records.
    pub times: Option<(Time, Time)>,
    /// Number of records; a record with several frames (802.11 A-MSDU) counts once per frame.
    pub records: u64,
    /// Length of all packets on the wire, bytes.
    pub wire_bytes: u64,
    /// Records with TCP.
    pub tcp_packets: u64,
    /// Records with UDP.
    pub udp_packets: u64,
    /// IP fragments other than the first of a packet; they carry no TCP header.
    pub fragments: u64,
    /// Packets found inside tunnels and encapsulations, by kind (`gre`, `vxlan`, `esp-in-udp` …).
    pub tunnels: Vec<NamedCount>,
    /// Records that hold neither TCP nor UDP, by reason (`arp`, `icmp`, `cut before TCP`, `bad header` …).
    pub other: Vec<NamedCount>,
    /// Packets that the capturing program reports as dropped; `None` if the file does not say.
    pub dropped: Option<u64>,
    /// Where and why reading ended early; everything before that place was read.
    pub damage: Option<FileDamage>,
}

/// A name and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedCount {
    pub name: &'static str,
    pub count: u64,
}

/// Damage of a capture file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDamage {
    /// Byte offset of the damage in the decompressed capture.
    pub offset: u64,
    /// Description of the damage.
    pub what: String,
}
