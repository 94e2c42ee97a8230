//! System calls (seccomp(2)) and writes (landlock(7)) that the kernel refuses to a program, whichever user it
//! runs as. Both restrictions apply to all its descendants and cannot be undone.
//!
//! | refused with EPERM | reason |
//! |---|---|
//! | mounts, new namespaces, entering others, files by handle | they lead out of the confinement, or to capabilities over more of the kernel |
//! | bpf, perf_event_open, userfaultfd, io_uring, keyrings, modules, kexec, swap, reboot, clocks, accounting | network measurements do not need them, and most kernel escapes use one of them. A filter cannot see the operations of io_uring; programs that support it work without |
//! | sockets other than Internet, netlink, packet and local | AF_VSOCK reaches the machine's host, whatever the network namespace |
//! | TIOCSTI, TIOCLINUX | they type into the terminal of the user who started the program |
//! | set-user-id and set-group-id files | left behind, they would give root's rights to every user who finds them |
//!
//! `clone3` and `openat2`, whose arguments a filter cannot see, return ENOSYS, so that the C library uses
//! `clone` and `openat`; so does the x32 ABI. Programs for another architecture (32 bit) are killed.
//! ptrace(2) is allowed: a program sees only processes of its pid namespace, and Landlock refuses the rest.
//!
//! Landlock: nothing is written outside the granted folders and `/dev`, if writes are limited at all; no
//! signal and no connection to an abstract local socket leaves the command's processes (Linux 6.12). An older
//! kernel supports only part of this; mounts, user and namespaces still apply.

use linux::packet::FilterStep;
use linux::sandbox::{KERNEL_CALLS, SYS_FCHMODAT2};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;

const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

const SET_ID: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// System calls that create a file or set its mode: index of the mode argument, and of the flags of those
/// that create a file only if a flag says so.
const MODE_CALLS: &[(libc::c_long, u8, Option<u8>)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, None),
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (SYS_FCHMODAT2, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, None),
    (libc::SYS_mknodat, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_openat, 3, Some(2)),
];

/// Requests that type into a terminal; musl declares them as `int`.
const TERMINAL_INPUT_REQUESTS: [u64; 2] = [libc::TIOCSTI as _, libc::TIOCLINUX as _];

/// System calls that return ENOSYS, and the first number of the x32 ABI.
const ENOSYS_CALLS: [libc::c_long; 2] = [libc::SYS_clone3, libc::SYS_openat2];
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Returns the filter, the same for every program; `None` if this architecture is not supported.
pub fn filter() -> Option<&'static [FilterStep]> {
    static FILTER: OnceLock<Option<Vec<FilterStep>>> = OnceLock::new();
    FILTER.get_or_init(|| build().ok()).as_deref()
}

fn build() -> Result<Vec<FilterStep>, seccompiler::Error> {
    let compare = |argument, op, value: u64| SeccompCondition::new(argument, Dword, op, value);
    let has_bits = |argument, bits: u64| compare(argument, SeccompCmpOp::MaskedEq(bits), bits);
    let all = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = KERNEL_CALLS.iter().map(|n| (*n, Vec::new())).collect();
    let mut add = |number: libc::c_long, rule| rules.entry(number).or_default().push(rule);
    for flag in NEW_NAMESPACES {
        add(libc::SYS_clone, all(vec![has_bits(0, flag as u32 as u64)?])?);
    }
    for request in TERMINAL_INPUT_REQUESTS {
        add(libc::SYS_ioctl, all(vec![compare(1, SeccompCmpOp::Eq, request)?])?);
    }
    let known = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET];
    let other = known.map(|family| compare(0, SeccompCmpOp::Ne, family as u64));
    add(libc::SYS_socket, all(other.into_iter().collect::<Result<_, _>>()?)?);
    for &(number, mode, flags) in MODE_CALLS {
        for bit in SET_ID {
            match flags {
                None => add(number, all(vec![has_bits(mode, bit.into())?])?),
                // Without one of these flags the mode argument is undefined: the register's old value.
                Some(flags) => {
                    for makes in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
                        add(number, all(vec![has_bits(flags, makes as u64)?, has_bits(mode, bit.into())?])?);
                    }
                }
            }
        }
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let rest: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()?;
    let step = |s: seccompiler::sock_filter| FilterStep { code: s.code, jt: s.jt, jf: s.jf, k: s.k };
    Ok(enosys_rules().into_iter().chain(rest.into_iter().map(step)).collect())
}

/// Builds the instructions before the rules: system calls that return ENOSYS.
fn enosys_rules() -> Vec<FilterStep> {
    let op = |code: u32, jt, jf, k| FilterStep { code: code as u16, jt, jf, k };
    let return_enosys =
        || op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    // The number is the first word of `struct seccomp_data`.
    let mut program = vec![op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for number in ENOSYS_CALLS {
        program.push(op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number as u32));
        program.push(return_enosys());
    }
    #[cfg(target_arch = "x86_64")]
    {
        program.push(op(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32));
        program.push(return_enosys());
    }
    program
}

/// Whether this kernel and architecture support the filter.
pub fn filters_calls() -> bool {
    linux::sandbox::filters_calls() && filter().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates the filter for a system call (classic BPF with the few operations that seccompiler emits).
    fn verdict(number: u32, args: [u64; 6]) -> u32 {
        let arch = if cfg!(target_arch = "x86_64") { 0xc000_003e_u32 } else { 0xc000_00b7 };
        let mut data = Vec::new();
        data.extend(number.to_ne_bytes());
        data.extend(arch.to_ne_bytes());
        data.extend([0; 8]);
        args.iter().for_each(|a| data.extend(a.to_ne_bytes()));
        let program = filter().expect("an architecture with a filter");
        let (mut at, mut a) = (0, 0u32);
        loop {
            let op = &program[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { op.jt } else { op.jf });
            match u32::from(op.code) {
                0x20 => a = u32::from_ne_bytes(data[op.k as usize..][..4].try_into().unwrap()),
                0x54 => a &= op.k,
                0x05 => at += op.k as usize,
                0x15 => at += jump(a == op.k),
                0x25 => at += jump(a > op.k),
                0x35 => at += jump(a >= op.k),
                0x06 => return op.k,
                code => panic!("unknown BPF operation {code:#x}"),
            }
        }
    }

    const ALLOW: u32 = 0x7fff_0000;
    const EPERM: u32 = 0x0005_0001;

    #[test]
    fn calls_are_judged_by_their_arguments() {
        let verdict_of = |number: libc::c_long, args: &[u64]| {
            let mut all = [0xdead_beef_0000_0000; 6];
            all.iter_mut().zip(args).for_each(|(to, from)| *to = *from);
            verdict(number as u32, all)
        };
        assert_eq!(verdict_of(libc::SYS_read, &[0]), ALLOW);
        assert_eq!(verdict_of(libc::SYS_mount, &[]), EPERM);
        // A thread, and a namespace.
        assert_eq!(verdict_of(libc::SYS_clone, &[0x003d_0f00]), ALLOW);
        assert_eq!(verdict_of(libc::SYS_clone, &[0x1000_0011]), EPERM);
        assert_eq!(verdict_of(libc::SYS_clone3, &[]), 0x0005_0000 | libc::ENOSYS as u32);
        // The kernel uses only 32 bits of a request.
        assert_eq!(verdict_of(libc::SYS_ioctl, &[0, TERMINAL_INPUT_REQUESTS[0] | 1 << 40]), EPERM);
        assert_eq!(verdict_of(libc::SYS_ioctl, &[0, libc::TIOCGWINSZ as _]), ALLOW);
        for (family, allowed) in
            [(1, true), (2, true), (10, true), (16, true), (17, true), (40, false), (38, false)]
        {
            assert_eq!(verdict_of(libc::SYS_socket, &[family]) == ALLOW, allowed, "{family}");
        }
        assert_eq!(verdict_of(libc::SYS_fchmodat, &[0, 0, 0o755]), ALLOW);
        assert_eq!(verdict_of(libc::SYS_fchmodat, &[0, 0, 0o4755]), EPERM);
        let (create, read) = (libc::O_CREAT as u64 | 1, 0);
        assert_eq!(verdict_of(libc::SYS_openat, &[0, 0, create, 0o2755]), EPERM);
        assert_eq!(verdict_of(libc::SYS_openat, &[0, 0, create, 0o644]), ALLOW);
        assert_eq!(verdict_of(libc::SYS_openat, &[0, 0, read, 0o4755]), ALLOW);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(verdict_of(libc::SYS_mount + 0x4000_0000, &[]), 0x0005_0000 | libc::ENOSYS as u32);
    }
}
