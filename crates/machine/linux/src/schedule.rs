//! When and where threads run (sched(7), cpuset).

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::num::NonZeroU64;

/// Makes timers of the calling thread late by no more than they must be: the kernel defers others by up to 50 µs to wake up
/// less often (prctl(2), PR_SET_TIMERSLACK). Where it is refused timers stay as they are.
pub fn exact_timers() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Gives the calling thread the finest timers and, where a priority is given, real-time scheduling (sched_setscheduler(2));
/// `false` where that was refused.
pub fn be_punctual(priority: Option<i32>) -> bool {
    exact_timers();
    let Some(priority) = priority else { return true };
    // SAFETY: all zeros is a value of `sched_param`, which holds numbers only (musl's has more of them than glibc's).
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority;
    // By number, since musl's own function refuses always; 0 is the calling thread.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads the parameter, whose first field is all of its `sched_param`, and keeps no address of it.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter) == 0 }
}

/// Lets other threads of the same priority run (sched_yield(2)).
pub fn give_way() {
    rustix::thread::sched_yield();
}

/// The calling thread's number (gettid(2)).
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}

/// A set of CPUs.
pub struct Cpus(CpuSet);

/// The CPUs that the calling thread may use.
pub fn cpus() -> Option<Cpus> {
    sched_getaffinity(None).ok().map(Cpus)
}

/// The CPU that the calling thread is on.
pub fn own_cpu() -> Cpus {
    let mut set = CpuSet::new();
    match sched_getcpu() {
        cpu if cpu < CpuSet::MAX_CPU => set.set(cpu),
        // Beyond what the set can name: all that the thread may use.
        _ => set = sched_getaffinity(None).unwrap_or(set),
    }
    Cpus(set)
}

/// Lets a thread (0: the calling one) run only there, where that is permitted (sched_setaffinity(2)).
pub fn assign(thread: i32, cpus: &Cpus) {
    let _ = sched_setaffinity(Pid::from_raw(thread), &cpus.0);
}

/// The cores that this process may use, by number; at least one.
pub fn cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let found: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    if found.is_empty() { vec![0] } else { found }
}

/// Lets the calling thread run on this core alone, where that is permitted.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    if core < CpuSet::MAX_CPU {
        set.set(core);
    }
    let _ = sched_setaffinity(None, &set);
}
