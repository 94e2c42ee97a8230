//! A packet as path elements see it: size, flow, DSCP and ECN; the content is generic.

/// The content of a packet: a simulated segment, or a buffer of real bytes.
pub trait Body: Clone {
    /// The body of a fragment of the IP packet: a simulated segment is cloned, real bytes are cut. `offset`
    /// and `len` count bytes of the IP payload.
    fn fragment(&self, offset: u32, len: u32) -> Self {
        let _ = (offset, len);
        self.clone()
    }

    /// Undoes [`Body::fragment`] by appending `next`, the body of the following fragment: a simulated segment
    /// was cloned and stays as it is, real bytes are concatenated.
    fn join(&mut self, next: Self) {
        let _ = next;
    }
}

impl Body for () {}

/// The two ECN bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 1.
    Ect1 = 1,
    /// ECN-capable, codepoint 0: what senders use.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Whether a queue may mark the packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// The position of a fragment in its IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Index of the fragment, from 0.
    pub index: u8,
    /// Number of fragments of the packet.
    pub count: u8,
}

/// A packet on the path. Elements and queues hold packets in boxes: a packet is written once and stays where
/// it is while its box, the size of a pointer, moves from queue to queue.
#[derive(Clone, Debug)]
pub struct Packet<B> {
    /// Unique in a run; a duplicate has the id of its original.
    pub id: u64,
    /// Size on the wire in bytes: the IP packet with its current tunnel overhead.
    pub size: u32,
    /// Bytes of `size` that tunnels added.
    pub overhead: u32,
    /// The packet's flow, by which fair queues and per-flow limiters classify.
    pub flow: u32,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    pub ecn: Ecn,
    /// Set if the packet is a fragment.
    pub fragment: Option<Fragment>,
    pub body: B,
}
