//! Restricts a program, whichever user it runs as: system calls (seccomp(2)), and writes, signals and local
//! sockets outside of what it is granted (landlock(7)). Both apply to all its descendants and cannot be
//! undone.

use crate::check;
use rustix::fs::{Mode, OFlags};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null;

/// Whether this kernel can reject system calls with an error by a filter (SECCOMP_RET_ERRNO).
pub fn filters_calls() -> bool {
    let refuse = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads the number whose address it is given, which outlives the call, and changes
    // nothing.
    let code =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const refuse) };
    code == 0
}

/// Applies a system call filter to the calling thread and its descendants (PR_SET_SECCOMP); does nothing on a
/// kernel without seccomp. `no_new_privs` must be set. May be called between `clone` and `execve`.
pub fn filter_calls(filter: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the number of instructions that `program` states, which is the filter's
    // length, and writes to none. A filter makes calls fail or ends the process: it cannot change what a call
    // does to memory.
    let code = unsafe {
        let (mode, unused) = (libc::SECCOMP_MODE_FILTER as libc::c_ulong, 0 as libc::c_ulong);
        libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, unused, unused)
    };
    match check(code.into()) {
        // The kernel lacks seccomp.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        done => done.map(drop),
    }
}

/// Number of fchmodat2(2), which libc lacks on some systems.
pub const SYS_FCHMODAT2: libc::c_long = 452;

/// System calls that change the machine or lead out of a confinement, and that no program needs to measure a
/// network.
pub const KERNEL_CALLS: &[libc::c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// `struct landlock_ruleset_attr` (linux/landlock.h).
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr` (linux/landlock.h).
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

const CREATE_RULESET_VERSION: libc::c_uint = 1;
const RULE_PATH_BENEATH: libc::c_uint = 1;
/// WRITE_FILE, and bits 4 to 12: remove and create files of every kind.
const WRITES: u64 = 1 << 1 | 0x1ff0;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// Abstract local sockets, signals.
const SCOPES: u64 = 0b11;

/// Returns the kernel's Landlock ABI version; 0: not supported. May be called between `clone` and `execve`.
pub fn landlock_version() -> i64 {
    let nothing: *const libc::c_void = null();
    // SAFETY: with this flag the kernel reads no attributes and makes no descriptor.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, CREATE_RULESET_VERSION) };
    version.max(0)
}

/// Limits the calling thread and its descendants to writing beneath `writable` and `/dev` (`None`: no limit),
/// and to sending signals and messages to abstract sockets among themselves. Omits what the kernel does not
/// support. May be called between `clone` and `execve`.
pub fn limit_writes(writable: Option<&[&CStr]>) -> io::Result<()> {
    let version = landlock_version();
    let from_version = |first: i64, right: u64| if version >= first { right } else { 0 };
    let rights = WRITES | from_version(2, REFER) | from_version(3, TRUNCATE) | from_version(5, IOCTL_DEV);
    let files = if writable.is_some() { rights } else { 0 };
    let attributes = RulesetAttributes { files, net: 0, scoped: from_version(6, SCOPES) };
    if version < 1 || files | attributes.scoped == 0 {
        return Ok(());
    }
    let ruleset = create(&attributes)?;
    if files != 0 {
        for path in writable.unwrap_or_default().iter().chain(&[c"/dev"]) {
            allow_beneath(&ruleset, path, files);
        }
    }
    // SAFETY: the call takes numbers, and only removes rights.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0u32) }).map(drop)
}

fn create(attributes: &RulesetAttributes) -> io::Result<OwnedFd> {
    // Older kernels know fewer fields, and accept more if those are 0.
    let size = size_of::<RulesetAttributes>();
    // SAFETY: the kernel reads the given number of bytes of the structure.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const *attributes, size, 0u32)
    })?;
    // SAFETY: the descriptor was just made and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds a rule; a missing folder needs none.
fn allow_beneath(ruleset: &OwnedFd, path: &CStr, allowed: u64) {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let Ok(parent) = rustix::fs::open(path, flags, Mode::empty()) else { return };
    let rule = PathBeneath { allowed, parent: parent.as_raw_fd() };
    let (ruleset, kind) = (ruleset.as_raw_fd(), RULE_PATH_BENEATH);
    // SAFETY: the kernel reads a structure of this kind, which outlives the call.
    unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, kind, &raw const rule, 0u32) };
}
