//! Where the hosts' threads run: on the engine's CPU, as a program does on the CPU whose soft
//! interrupt receives for it. There it runs when a burst has been taken in, not in its midst, so who
//! acknowledges what does not hang on how fast one CPU wakes another. Under load beyond one CPU
//! they, and the engine, may use all. Hosts that only send or receive datagrams need none of this.

use crate::sys::{self, Cpus};
use std::sync::{Mutex, PoisonError};

/// Packets in a window of 10 ms that are too many for one CPU to move, send and receive …
const CROWDED: u32 = 300;
/// … when it is so for that many windows in a row; after as many with less than half they gather again.
const LASTING: u32 = 4;

/// The threads of a run.
pub struct Crew {
    members: Mutex<Vec<i32>>,
    all: Option<Cpus>,
}

/// What the engine knows of them.
pub struct Muster<'a> {
    crew: &'a Crew,
    gathered: bool,
    /// Windows in a row that speak for a change.
    pressing: u32,
}

impl Crew {
    /// Of no thread yet.
    pub fn new() -> Crew {
        Crew { members: Mutex::default(), all: sys::cpus_of(0) }
    }

    /// The calling thread belongs to it.
    pub fn join(&self) {
        self.members.lock().unwrap_or_else(PoisonError::into_inner).push(sys::thread_id());
    }

    fn assign(&self, cpus: &Cpus) {
        for &thread in self.members.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // One that has ended needs none.
            sys::assign(thread, cpus);
        }
        sys::assign(0, cpus);
    }
}

impl<'a> Muster<'a> {
    /// Called by the engine; `None` where it cannot be sure to go first on its CPU.
    pub fn new(crew: &'a Crew, real_time: bool) -> Option<Muster<'a>> {
        (real_time && crew.all.is_some()).then_some(Muster { crew, gathered: false, pressing: LASTING })
    }

    /// Whether they run on the engine's CPU now.
    pub fn is_gathered(&self) -> bool {
        self.gathered
    }

    /// A window has ended in which so many packets left.
    pub fn window(&mut self, packets: u32) {
        let change = if self.gathered { packets >= CROWDED } else { packets < CROWDED / 2 };
        self.pressing = if change { self.pressing + 1 } else { 0 };
        if self.pressing < LASTING {
            return;
        }
        self.pressing = 0;
        self.gathered = !self.gathered;
        match (&self.crew.all, self.gathered) {
            (_, true) => self.crew.assign(&sys::own_cpu()),
            (Some(all), false) => self.crew.assign(all),
            (None, false) => {}
        }
    }
}
