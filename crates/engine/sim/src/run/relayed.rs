//! Flows with relays: each leg between hosts is a connection, and relays pass the bytes on.

use super::SimRun;
use crate::agenda::Owner;
use crate::end_id::EndId;
use crate::flows::FlowKind;
use transport::{Segment, Side, pump};

impl SimRun<'_> {
    /// Handles progress of an end of a flow with relays: at an outer end the application acts, at an inner
    /// end the relay passes bytes on.
    pub(super) fn handle_relayed(&mut self, flow_index: u32, end: EndId) {
        let now = self.now;
        let FlowKind::Tcp(t) = &mut self.flows.flows[flow_index as usize].kind else { return };
        let (number, legs) = t.connection_of(end.connection());
        let mut out = std::mem::take(&mut self.others);
        let (connection, side) = (end.connection(), end.side());
        // The connection on the other side of the relay at this end; `None` at an outer end of the flow.
        let beyond = match side {
            Side::Client => (connection > legs.start).then(|| connection - 1),
            Side::Server => Some(connection + 1).filter(|next| legs.contains(next)),
        };
        let Some(beyond) = beyond else {
            t.app.handle_progress(now, side, number, &mut self.flows.ends[end.index()], &mut out);
            let wake = t.app.next_wake();
            self.agenda.set(Owner::Flow(flow_index), wake);
            self.emit(end, &mut out);
            self.write_requests(flow_index);
            self.others = out;
            return;
        };
        let buffer = t.buffers[(connection.min(beyond) - legs.start) as usize];
        let onward = connection.max(beyond);
        let (here, there) = (EndId::new(onward - 1, Side::Server), EndId::new(onward, Side::Client));
        if self.flows.ends[here.index()].is_established() && self.flows.established[onward as usize].is_none()
        {
            self.open_leg(there);
        }
        self.relay(buffer, here, there, &mut out);
        self.relay(buffer, there, here, &mut out);
        self.others = out;
    }

    /// Opens the onward connection of a relay, once.
    fn open_leg(&mut self, client: EndId) {
        let armed = self.agenda.deadline(Owner::End(client)).is_some();
        if armed || self.flows.ends[client.index()].next_wake().is_some() {
            return;
        }
        let mut out = Vec::new();
        self.flows.ends[client.index()].connect(self.now, &mut out);
        self.emit(client, &mut out);
        self.arm_end(client);
    }

    fn relay(&mut self, buffer: u64, from: EndId, to: EndId, out: &mut Vec<Segment>) {
        let mut to_out = Vec::new();
        let Ok([source, sink]) = self.flows.ends.get_disjoint_mut([from.index(), to.index()]) else { return };
        if pump(self.now, buffer, source, sink, out, &mut to_out) > 0 {
            self.emit(from, out);
            self.emit(to, &mut to_out);
            self.arm_end(from);
            self.arm_end(to);
        }
    }
}
