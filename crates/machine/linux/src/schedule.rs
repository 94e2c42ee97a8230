//! Scheduling and CPU affinity of threads (sched(7), cpuset(7)).

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::num::NonZeroU64;

/// Minimises the timer slack of the calling thread: by default the kernel delays timers by up to 50 µs to
/// wake up less often (prctl(2), PR_SET_TIMERSLACK). No effect if refused.
pub fn exact_timers() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Sets the finest timers for the calling thread and, if a priority is given, real-time scheduling
/// (sched_setscheduler(2)). Returns `false` if that was refused.
pub fn set_precise_scheduling(priority: Option<i32>) -> bool {
    exact_timers();
    let Some(priority) = priority else { return true };
    // SAFETY: all zeros is a value of `sched_param`, which holds numbers only (musl's has more of them than
    // glibc's).
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority;
    // Called by number, because musl's function always fails; 0 is the calling thread.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads only the parameter's first field, which is its whole `sched_param`, and keeps
    // no address of it.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter) == 0 }
}

/// Lets other threads of the same priority run (sched_yield(2)).
pub fn yield_cpu() {
    rustix::thread::sched_yield();
}

/// Returns the calling thread's id (gettid(2)).
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}

/// A set of CPUs.
pub struct Cpus(CpuSet);

/// Returns the CPUs that the calling thread may use.
pub fn cpus() -> Option<Cpus> {
    sched_getaffinity(None).ok().map(Cpus)
}

/// Returns the CPU that the calling thread runs on.
pub fn own_cpu() -> Cpus {
    let mut set = CpuSet::new();
    match sched_getcpu() {
        cpu if cpu < CpuSet::MAX_CPU => set.set(cpu),
        // Beyond the range of the set: return all CPUs that the thread may use.
        _ => set = sched_getaffinity(None).unwrap_or(set),
    }
    Cpus(set)
}

/// Restricts a thread (0: the calling one) to these CPUs, if permitted (sched_setaffinity(2)).
pub fn assign(thread: i32, cpus: &Cpus) {
    let _ = sched_setaffinity(Pid::from_raw(thread), &cpus.0);
}

/// Returns the numbers of the cores that this process may use; at least one.
pub fn cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let found: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    if found.is_empty() { vec![0] } else { found }
}

/// Restricts the calling thread to one core, if permitted.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    if core < CpuSet::MAX_CPU {
        set.set(core);
    }
    let _ = sched_setaffinity(None, &set);
}
