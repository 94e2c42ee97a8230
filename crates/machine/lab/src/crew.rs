//! Where the hosts' threads run: on the engine's CPU, as a program does on the CPU whose soft
//! interrupt receives for it. There it runs when a burst has been taken in, not in its midst, so who
//! acknowledges what does not hang on how fast one CPU wakes another. Under load beyond one CPU
//! they, and the engine, may use all: one that moves bursts at such a rate would leave who reads no
//! time, the window would not open and no ACK would go (`__tcp_ack_snd_check`) until the burst is over,
//! and then the whole window at once. So a single burst counts, not the mean. Hosts that only send or
//! receive datagrams need none of this.

use linux::schedule::{self, Cpus};
use std::sync::{Mutex, PoisonError};

/// Packets in a window of 10 ms that are too many for one CPU to move, send and receive.
const CROWDED: u32 = 300;
/// They gather when no burst has come for that many windows of less than half: longer than there are round trips, each of
/// which may bring a burst.
const CALM: u32 = 100;

/// The threads of a run.
pub struct Crew {
    members: Mutex<Vec<i32>>,
    all: Option<Cpus>,
}

/// What the engine knows of them.
pub struct Muster<'a> {
    crew: &'a Crew,
    gathered: bool,
    /// Windows in a row that were calm.
    calm: u32,
}

impl Crew {
    /// Of no thread yet.
    pub fn new() -> Crew {
        Crew { members: Mutex::default(), all: schedule::cpus() }
    }

    /// The calling thread belongs to it.
    pub fn join(&self) {
        self.admit(schedule::thread_id());
    }

    /// So does this one.
    pub fn admit(&self, thread: i32) {
        self.members.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    fn assign(&self, cpus: &Cpus) {
        for &thread in self.members.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // One that has ended needs none.
            schedule::assign(thread, cpus);
        }
        schedule::assign(0, cpus);
    }
}

impl<'a> Muster<'a> {
    /// Called by the engine; `None` where it cannot be sure to go first on its CPU.
    pub fn new(crew: &'a Crew, real_time: bool) -> Option<Muster<'a>> {
        (real_time && crew.all.is_some()).then_some(Muster { crew, gathered: false, calm: CALM })
    }

    /// Whether they run on the engine's CPU now.
    pub fn is_gathered(&self) -> bool {
        self.gathered
    }

    /// A window has ended in which so many packets left.
    pub fn window(&mut self, packets: u32) {
        self.calm = if packets < CROWDED / 2 { self.calm + 1 } else { 0 };
        let gather = self.calm > CALM || self.gathered && packets < CROWDED;
        if gather == self.gathered {
            return;
        }
        self.gathered = gather;
        match (&self.crew.all, self.gathered) {
            (_, true) => self.crew.assign(&schedule::own_cpu()),
            (Some(all), false) => self.crew.assign(all),
            (None, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_a_round_trip_is_load_as_well() {
        let crew = Crew::new();
        let Some(mut muster) = Muster::new(&crew, true) else { return };
        let mut over = |windows: &[u32]| {
            windows.iter().for_each(|&packets| muster.window(packets));
            muster.is_gathered()
        };
        assert!(over(&[100]), "together from the start");
        assert!(over(&[200; 50]), "and as long as there is room");
        // A window of 1800 packets each 40 ms at 1 Gbit/s: 22 ms without a pause, and then a pause.
        assert!(!over(&[830]));
        assert!((0..100).all(|_| !over(&[830, 830, 140, 4])));
        assert!(!over(&[100; 98]));
        assert!(over(&[100]), "calm for a second");
    }
}
