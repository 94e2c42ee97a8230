//! Confines the thread that parses packets, which anybody on the network may have made.
//!
//! | what it cannot do | by |
//! |---|---|
//! | capture or send packets, change the host's network, act as another user | capabilities (capabilities(7)): it keeps those that show other users' processes, if longfat had them |
//! | start programs, open sockets or connections, open files for writing, create, rename or remove files, trace processes, mount, load kernel code | a system call filter (seccomp(2)): such calls return EPERM |
//!
//! What was opened before stays usable: the ring of packets, the socket of sock_diag, and output files. The
//! other threads of the process are not confined.

use linux::packet::FilterStep;
use linux::sandbox::{KERNEL_CALLS, SYS_FCHMODAT2, filter_calls};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;

/// System calls that are refused besides those of [`KERNEL_CALLS`].
const REFUSED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_truncate,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    // A filter cannot see the flags of this one.
    libc::SYS_openat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    SYS_RENAMEAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
];

/// Number of renameat(2), which libc lacks on some systems.
const SYS_RENAMEAT: libc::c_long = if cfg!(target_arch = "x86_64") { 264 } else { 38 };

/// System calls that open a file, and the index of their flags.
const OPENS: &[(libc::c_long, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];
/// Flags with which a file can be changed or created.
const WRITES: [libc::c_int; 4] = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

/// Confines the calling thread and the threads that it starts, permanently. Where the kernel or longfat has
/// no system call filter for this architecture, only capabilities are dropped.
///
/// # Errors
/// Fails with an error of capset(2) or prctl(2).
pub fn confine_parser() -> io::Result<()> {
    linux::privilege::keep_only_inspection_capabilities()?;
    let Some(filter) = filter() else { return Ok(()) };
    filter_calls(&filter)
}

/// Returns the filter; `None` if this architecture is not supported.
fn filter() -> Option<Vec<FilterStep>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        KERNEL_CALLS.iter().chain(REFUSED).map(|n| (*n, Vec::new())).collect();
    for &(number, flags) in OPENS {
        for flag in WRITES {
            let bits = flag as u32 as u64;
            let has = SeccompCondition::new(flags, Dword, SeccompCmpOp::MaskedEq(bits), bits).ok()?;
            rules.entry(number).or_default().push(SeccompRule::new(vec![has]).ok()?);
        }
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).ok()?;
    let program = BpfProgram::try_from(filter).ok()?;
    Some(program.into_iter().map(|s| FilterStep { code: s.code, jt: s.jt, jf: s.jf, k: s.k }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::net::UdpSocket;
    use std::process::Command;

    #[test]
    fn a_confined_thread_reads_and_starts_threads_but_changes_nothing() {
        let path = std::env::temp_dir().join(format!("longfat-confine-{}", std::process::id()));
        fs::write(&path, "kept").unwrap();
        let confined = std::thread::spawn({
            let path = path.clone();
            move || {
                confine_parser().unwrap();
                let refused = |done: io::Result<()>| done.unwrap_err().raw_os_error() == Some(libc::EPERM);
                assert!(refused(UdpSocket::bind("127.0.0.1:0").map(drop)), "a socket");
                assert!(refused(Command::new("/bin/true").status().map(drop)), "a program");
                assert!(refused(File::create(&path).map(drop)), "a file for writing");
                assert!(refused(fs::remove_file(&path)), "a file's end");
                assert!(refused(fs::rename(&path, "/tmp/x")) && refused(fs::create_dir("/tmp/y")));
                assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
                fs::read_dir("/proc/self/fd").unwrap().next().unwrap().unwrap();
                std::thread::spawn(|| fs::read("/proc/self/status").unwrap()).join().unwrap()
            }
        });
        assert!(!confined.join().unwrap().is_empty());
        fs::remove_file(&path).expect("only the thread is confined");
    }
}
