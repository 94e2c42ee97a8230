//! Flows with relays: each leg is a connection of its own, and a relay passes the bytes on.

use crate::flows::FlowKind;
use crate::run::SimRun;
use transport::{Segment, Side, pump};

impl SimRun<'_> {
    /// A flow with relays: the ends' application looks, and the relays pass bytes on.
    pub(crate) fn handle_relayed(&mut self, flow_index: u32, end: u32) {
        let now = self.now;
        let FlowKind::Tcp(t) = &mut self.flows.flows[flow_index as usize].kind else { return };
        let (number, legs) = t.connection_of(end / 2);
        let (client, server) = (2 * legs.start, 2 * legs.end - 1);
        let mut out = std::mem::take(&mut self.others);
        let side = if end == client { Some(Side::Client) } else { (end == server).then_some(Side::Server) };
        if let Some(side) = side {
            t.app.handle_progress(now, side, number, &mut self.flows.ends[end as usize], &mut out);
            let wake = t.app.next_wake();
            self.order += 1;
            self.far.set(self.flows.ends.len() as u32 + flow_index, wake, self.order);
            self.emit(end, &mut out);
            self.ask(flow_index, &mut out);
        }
        // The relay next to this end: its two ends are numbered one after the other.
        let connection = end / 2;
        let inner = if end % 2 == 1 { connection + 1 < legs.end } else { connection > legs.start };
        let far_side = if end % 2 == 1 { connection + 1 } else { connection };
        if inner {
            let (here, there) = (2 * far_side - 1, 2 * far_side);
            if self.flows.ends[here as usize].is_established()
                && self.flows.established[far_side as usize].is_none()
            {
                self.open_leg(there);
            }
            let FlowKind::Tcp(t) = &self.flows.flows[flow_index as usize].kind else { return };
            let buffer = t.buffers[(far_side - legs.start - 1) as usize];
            self.relay(buffer, here, there, &mut out);
            self.relay(buffer, there, here, &mut out);
        }
        self.others = out;
    }

    /// Begins a relay's onward connection, once.
    fn open_leg(&mut self, client: u32) {
        if self.far.deadline(client).is_some() || self.flows.ends[client as usize].next_wake().is_some() {
            return;
        }
        let mut out = Vec::new();
        self.flows.ends[client as usize].connect(self.now, &mut out);
        self.emit(client, &mut out);
        self.arm_end(client);
    }

    fn relay(&mut self, buffer: u64, from: u32, to: u32, out: &mut Vec<Segment>) {
        let mut to_out = Vec::new();
        let (low, high) = (from.min(to) as usize, from.max(to) as usize);
        let (a, b) = self.flows.ends.split_at_mut(high);
        let (first, second) = (&mut a[low], &mut b[0]);
        let (source, sink) = if from < to { (first, second) } else { (second, first) };
        if pump(self.now, buffer, source, sink, out, &mut to_out) > 0 {
            self.emit(from, out);
            self.emit(to, &mut to_out);
            self.arm_end(from);
            self.arm_end(to);
        }
    }
}
