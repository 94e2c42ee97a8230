//! A packet as path elements see it: size, flow, marks; what it carries is the user's.

/// What a packet carries: a simulated segment, or a buffer of real bytes.
pub trait Body: Clone {
    /// The IP packet was cut into fragments; this body travels with each of them
    /// (a simulated segment is cloned, real bytes are cut). `offset` and `len` count
    /// bytes of the IP payload.
    fn fragment(&self, offset: u32, len: u32) -> Self {
        let _ = (offset, len);
        self.clone()
    }

    /// Undoes [`Body::fragment`]: `next`, the body of the following fragment, is appended
    /// (a simulated segment was cloned and stays as it is; real bytes are put together).
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
    /// Whether a queue may mark instead of drop.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A fragment's place in its IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// This fragment's index, from 0.
    pub index: u8,
    /// How many fragments the packet was cut into.
    pub count: u8,
}

/// A packet under way.
#[derive(Clone, Debug)]
pub struct Packet<B> {
    /// Unique in a run; a duplicate keeps its original's.
    pub id: u64,
    /// Size on the wire in bytes: the IP packet with all tunnel overhead it now has.
    pub size: u32,
    /// Bytes of `size` that tunnels added.
    pub overhead: u32,
    /// The flow it belongs to (what fair queues and per-flow limiters hash).
    pub flow: u32,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// ECN bits.
    pub ecn: Ecn,
    /// Set while the packet is one fragment of several.
    pub fragment: Option<Fragment>,
    /// What it carries.
    pub body: B,
}
