//! The system call `bpf` (bpf(2), linux/bpf.h), as far as congestion controls, traffic programs and `longfat
//! apply` need it.

use crate::check;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Commands (`enum bpf_cmd`).
const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const MAP_GET_NEXT_KEY: i32 = 4;
const PROG_LOAD: i32 = 5;
const OBJ_PIN: i32 = 6;
const OBJ_GET: i32 = 7;
const PROG_GET_NEXT_ID: i32 = 11;
const PROG_GET_FD_BY_ID: i32 = 13;
const MAP_GET_FD_BY_ID: i32 = 14;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const PROG_QUERY: i32 = 16;
const BTF_LOAD: i32 = 18;
const BTF_GET_FD_BY_ID: i32 = 19;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;
const ITER_CREATE: i32 = 33;
const PROG_BIND_MAP: i32 = 35;

/// Types of maps and programs, and attach types.
const MAP_TYPE_HASH: u32 = 1;
const MAP_TYPE_ARRAY: u32 = 2;
const PROG_TYPE_SCHED_CLS: u32 = 3;
const PROG_TYPE_SOCK_OPS: u32 = 13;
const PROG_TYPE_TRACING: u32 = 26;
const ATTACH_CGROUP_SOCK_OPS: u32 = 3;
const ATTACH_TRACE_ITER: u32 = 28;
const ATTACH_TCX_INGRESS: u32 = 46;
const ATTACH_TCX_EGRESS: u32 = 47;
const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const ATTACH_STRUCT_OPS: u32 = 44;

/// Flags of maps: memory only for existing entries; read-only for programs; registered through a link.
const F_NO_PREALLOC: u32 = 1 << 0;
const F_RDONLY_PROG: u32 = 1 << 7;
const F_LINK: u32 = 1 << 13;

/// Flag of a link: before all other programs, if no other program is named (`BPF_F_BEFORE`).
const F_BEFORE: u32 = 1 << 3;
/// Maximum number of programs on one side of a device (`BPF_MPROG_MAX`).
const MAX_ON_DEVICE: usize = 64;

/// `BPF_OBJ_NAME_LEN` without the terminating zero.
const MAX_NAME: usize = 15;
/// Size of the verifier's log. The kernel (6.4 and later) keeps the end of a longer log.
const LOG_BYTES: usize = 1 << 20;
/// Attempts to load a program: a signal may interrupt the verifier.
const MAX_ATTEMPTS: usize = 5;
/// Size of a `struct bpf_line_info`.
const LINE_INFO_BYTES: usize = 16;

/// Size of `union bpf_attr`, the arguments of a command by offset. Unset arguments are zero, which the kernel
/// treats as absent.
const ARGUMENTS: usize = 152;

/// Arguments without memory addresses.
struct Numbers([u8; ARGUMENTS]);

/// Arguments with addresses of memory that lives for `'a`.
struct Addresses<'a>([u8; ARGUMENTS], PhantomData<&'a mut [u8]>);

/// # Safety
/// Addresses in the arguments must be valid for what the command reads and writes there.
unsafe fn call(mut arguments: [u8; ARGUMENTS], command: i32) -> io::Result<i32> {
    let (at, len) = (arguments.as_mut_ptr(), ARGUMENTS as u32);
    // SAFETY: the kernel reads and writes at most `len` bytes of the arguments; for the addresses in them, as
    // the caller promises.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, at, len) })
}

/// # Safety
/// As for [`call`], and the command must return a new descriptor.
unsafe fn open(arguments: [u8; ARGUMENTS], command: i32) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises; a new descriptor has no other owner.
    unsafe { Ok(OwnedFd::from_raw_fd(call(arguments, command)?)) }
}

impl Numbers {
    fn new() -> Numbers {
        Numbers([0; ARGUMENTS])
    }

    fn bytes(mut self, at: usize, bytes: &[u8]) -> Numbers {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn word(self, at: usize, word: u32) -> Numbers {
        self.bytes(at, &word.to_ne_bytes())
    }

    fn fd(self, at: usize, fd: BorrowedFd<'_>) -> Numbers {
        self.word(at, fd.as_raw_fd() as u32)
    }

    /// Sets a name: truncates it, and removes characters that the kernel does not allow.
    fn name(self, at: usize, name: &str) -> Numbers {
        let allowed = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
        let name: Vec<u8> = name.bytes().filter(allowed).take(MAX_NAME).collect();
        self.bytes(at, &name)
    }

    /// Adds memory that the command reads.
    fn reads<'a>(self, at: usize, bytes: &'a [u8]) -> Addresses<'a> {
        Addresses(self.0, PhantomData).reads(at, bytes)
    }

    /// Adds memory that the command writes.
    fn writes<'a>(self, at: usize, bytes: &'a mut [u8]) -> Addresses<'a> {
        Addresses(self.0, PhantomData).writes(at, bytes)
    }

    fn text<'a>(self, at: usize, text: &'a CStr) -> Addresses<'a> {
        self.reads(at, text.to_bytes_with_nul())
    }

    /// Runs a command without addresses.
    fn call(self, command: i32) -> io::Result<i32> {
        // SAFETY: descriptors, numbers, flags and names; every address is zero, which the commands take for
        // absent.
        unsafe { call(self.0, command) }
    }

    /// Runs a command without addresses that returns a new descriptor.
    fn open(self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: as in `Numbers::call`; MAP_CREATE, LINK_CREATE and the commands that find by number return
        // descriptors.
        unsafe { open(self.0, command) }
    }
}

impl<'a> Addresses<'a> {
    fn address(mut self, at: usize, address: usize) -> Addresses<'a> {
        self.0[at..at + 8].copy_from_slice(&(address as u64).to_ne_bytes());
        self
    }

    fn reads(self, at: usize, bytes: &'a [u8]) -> Addresses<'a> {
        self.address(at, bytes.as_ptr().expose_provenance())
    }

    fn writes(self, at: usize, bytes: &'a mut [u8]) -> Addresses<'a> {
        self.address(at, bytes.as_mut_ptr().expose_provenance())
    }
}

/// Converts a path to a C string.
fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Loads a description of types (BTF) into the kernel.
pub fn load_types(description: &[u8]) -> io::Result<OwnedFd> {
    let arguments = Numbers::new().word(16, description.len() as u32).reads(0, description);
    // SAFETY: the kernel reads as many bytes of the description as there are; BTF_LOAD returns a descriptor.
    unsafe { open(arguments.0, BTF_LOAD) }
}

fn map(kind: u32, name: &str, size: usize, flags: u32, types: BorrowedFd<'_>) -> Numbers {
    let key = size_of::<u32>() as u32;
    let arguments = Numbers::new().word(0, kind).word(4, key).word(8, size as u32).word(12, 1);
    arguments.word(16, flags).name(28, name).fd(48, types)
}

/// Creates a map with one value that programs may read; `of`: the type of that value in `types`.
pub fn constants_map(name: &str, size: usize, types: BorrowedFd<'_>, of: Option<u32>) -> io::Result<OwnedFd> {
    map(MAP_TYPE_ARRAY, name, size, F_RDONLY_PROG, types).word(56, of.unwrap_or(0)).open(MAP_CREATE)
}

/// Creates a map with one value of `size` bytes that programs may read and, unless it is `read_only`, write.
pub fn variables_map(name: &str, size: usize, read_only: bool) -> io::Result<OwnedFd> {
    let flags = if read_only { F_RDONLY_PROG } else { 0 };
    let arguments =
        Numbers::new().word(0, MAP_TYPE_ARRAY).word(4, ONLY_KEY.len() as u32).word(8, size as u32);
    arguments.word(12, 1).word(16, flags).name(28, name).open(MAP_CREATE)
}

/// Size of the keys of [`hash_map`].
const HASH_KEY: usize = size_of::<u64>();

/// Creates a map from 64-bit keys to values of `size` bytes, with at most `max` entries.
pub fn hash_map(name: &str, size: usize, max: u32) -> io::Result<OwnedFd> {
    let arguments = Numbers::new().word(0, MAP_TYPE_HASH).word(4, HASH_KEY as u32).word(8, size as u32);
    arguments.word(12, max).word(16, F_NO_PREALLOC).name(28, name).open(MAP_CREATE)
}

/// Checks that a map is one of [`hash_map`]. Returns the size of its values.
fn hash_value_size(map: BorrowedFd<'_>) -> io::Result<usize> {
    let info_bytes = info(map)?;
    match (info_bytes.word(0), info_bytes.word(8) as usize) {
        (MAP_TYPE_HASH, HASH_KEY) => Ok(info_bytes.word(12) as usize),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Sets the value of a key in a map of [`hash_map`]; the value must have the map's value size.
///
/// # Errors
/// Fails with E2BIG if the map is full.
pub fn insert(map: BorrowedFd<'_>, key: u64, value: &[u8]) -> io::Result<()> {
    if value.len() != hash_value_size(map)? {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let key = key.to_ne_bytes();
    let arguments = Numbers::new().fd(0, map).reads(8, &key).reads(16, value);
    // SAFETY: the key has the size of the map's keys and the value that of its values.
    unsafe { call(arguments.0, MAP_UPDATE_ELEM) }.map(drop)
}

/// Removes a key from a map of [`hash_map`]. Returns whether it was there.
pub fn remove(map: BorrowedFd<'_>, key: u64) -> io::Result<bool> {
    hash_value_size(map)?;
    let key = key.to_ne_bytes();
    let arguments = Numbers::new().fd(0, map).reads(8, &key);
    // SAFETY: the key has the size of the map's keys.
    match unsafe { call(arguments.0, MAP_DELETE_ELEM) } {
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        done => done.map(|_| true),
    }
}

/// Returns the entries of a map of [`hash_map`]. An entry that changes meanwhile may be missing, or be there
/// twice.
pub fn entries(map: BorrowedFd<'_>) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let size = hash_value_size(map)?;
    let (mut found, mut last) = (Vec::new(), None::<[u8; HASH_KEY]>);
    loop {
        let mut next = [0; HASH_KEY];
        let arguments = Numbers::new().fd(0, map);
        let arguments = match &last {
            Some(last) => arguments.reads(8, last).writes(16, &mut next),
            None => arguments.writes(16, &mut next),
        };
        // SAFETY: both keys have the size of the map's keys; without a key the kernel returns the first.
        match unsafe { call(arguments.0, MAP_GET_NEXT_KEY) } {
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(found),
            done => done.map(drop)?,
        }
        let mut value = vec![0; size];
        let arguments = Numbers::new().fd(0, map).reads(8, &next).writes(16, &mut value);
        // SAFETY: the key has the size of the map's keys and the value that of its values.
        match unsafe { call(arguments.0, MAP_LOOKUP_ELEM) } {
            // Removed since.
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => {}
            done => {
                done?;
                found.push((u64::from_ne_bytes(next), value));
            }
        }
        last = Some(next);
    }
}

/// Creates a map whose value is a congestion control; `wrapped`: the type of that value in the kernel's BTF.
pub fn control_map(name: &str, size: usize, wrapped: u32, types: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    map(MAP_TYPE_STRUCT_OPS, name, size, F_LINK, types).word(60, wrapped).open(MAP_CREATE)
}

/// The key of a map's only value.
const ONLY_KEY: [u8; 4] = [0; 4];

/// Sets a map's only value, which must have the map's value size.
pub fn set(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    if value.len() != value_size(map)? {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let arguments = Numbers::new().fd(0, map).reads(8, &ONLY_KEY).reads(16, value);
    // SAFETY: the maps of this module have keys of four bytes, and the kernel reads a value of the map's
    // value size, which is the length of `value`.
    unsafe { call(arguments.0, MAP_UPDATE_ELEM) }.map(drop)
}

/// Makes a map immutable from user space.
pub fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    Numbers::new().fd(0, map).call(MAP_FREEZE).map(drop)
}

/// A program to load.
pub struct ProgramLoad<'a> {
    /// Name shown by tools that list programs.
    pub name: &'a str,
    /// Instructions, eight bytes each.
    pub code: &'a [u8],
    /// `struct bpf_line_info` records.
    pub lines: &'a [u8],
    /// The program's declared licence.
    pub licence: &'a str,
    pub kind: ProgramKind,
    /// The BTF that the lines refer to.
    pub types: BorrowedFd<'a>,
}

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// An operation of a congestion control.
    Operation {
        /// Type id of `tcp_congestion_ops` in the kernel's BTF.
        control: u32,
        /// Index of the implemented member.
        member: u32,
    },
    /// Packets of a network device, for [`attach_to_device`].
    Traffic,
    /// Runs for each TCP socket of a namespace, for [`iterator`].
    SocketIterator {
        /// Type id of the function `bpf_iter_tcp` in the kernel's BTF.
        function: u32,
    },
    /// Events of the TCP connections of a control group, for [`attach_to_group`].
    SocketEvents,
}

/// A program that the kernel rejected.
pub struct Refused {
    /// The error of the first attempt.
    pub error: io::Error,
    /// The verifier's log.
    pub log: String,
}

/// Loads a program. If the kernel rejects it, loads it again with a log to get the reasons.
pub fn load_program(program: &ProgramLoad<'_>) -> Result<OwnedFd, Refused> {
    let refused = |error: io::Error, log: String| Refused { error, log };
    let licence = CString::new(program.licence).unwrap_or_default();
    let numbers = || {
        let counts = (program.code.len() / 8, program.lines.len() / LINE_INFO_BYTES);
        // The attached type, and the member of a control or the attach type.
        let (kind, control, member) = match program.kind {
            ProgramKind::Operation { control, member } => (PROG_TYPE_STRUCT_OPS, control, member),
            ProgramKind::Traffic => (PROG_TYPE_SCHED_CLS, 0, 0),
            ProgramKind::SocketIterator { function } => (PROG_TYPE_TRACING, function, ATTACH_TRACE_ITER),
            ProgramKind::SocketEvents => (PROG_TYPE_SOCK_OPS, 0, ATTACH_CGROUP_SOCK_OPS),
        };
        Numbers::new()
            .word(0, kind)
            .word(4, counts.0 as u32)
            .name(48, program.name)
            .word(68, member)
            .fd(72, program.types)
            .word(92, if counts.1 > 0 { LINE_INFO_BYTES as u32 } else { 0 })
            .word(104, counts.1 as u32)
            .word(108, control)
    };
    let load = |numbers: Numbers, log: &mut [u8]| {
        let numbers = if log.is_empty() { numbers } else { numbers.word(24, 1).word(28, log.len() as u32) };
        let arguments = numbers.text(16, &licence).reads(8, program.code).reads(96, program.lines);
        let arguments = if log.is_empty() { arguments } else { arguments.writes(32, log) };
        // SAFETY: the kernel reads the stated numbers of instructions and lines, and the licence up to its
        // final zero; it writes at most the stated number of bytes to the log. PROG_LOAD returns a
        // descriptor.
        unsafe { open(arguments.0, PROG_LOAD) }
    };
    let mut error = io::Error::other("not tried");
    for _ in 0..MAX_ATTEMPTS {
        match load(numbers(), &mut []) {
            Ok(fd) => return Ok(fd),
            Err(e) => error = e,
        }
        if error.kind() != io::ErrorKind::WouldBlock {
            break;
        }
    }
    let mut log = vec![0u8; LOG_BYTES];
    match load(numbers(), &mut log) {
        Ok(fd) => Ok(fd),
        Err(_) => {
            log.truncate(log.iter().position(|b| *b == 0).unwrap_or(LOG_BYTES));
            Err(refused(error, String::from_utf8_lossy(&log).into_owned()))
        }
    }
}

/// Binds a map to a program, which keeps the map even if it does not read it.
pub fn bind(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    Numbers::new().fd(0, program).fd(4, map).call(PROG_BIND_MAP).map(drop)
}

/// Registers the congestion control in a map; the returned descriptor keeps it registered.
pub fn register(control: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Numbers::new().fd(0, control).word(8, ATTACH_STRUCT_OPS).open(LINK_CREATE)
}

/// Prepares an iterator for [`iterate`]; `program` is a [`ProgramKind::SocketIterator`].
pub fn iterator(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Numbers::new().fd(0, program).word(8, ATTACH_TRACE_ITER).open(LINK_CREATE)
}

/// Runs an iterator over the sockets of the calling thread's network namespace. Returns what its program
/// wrote.
pub fn iterate(link: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let file = Numbers::new().fd(0, link).open(ITER_CREATE)?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Attaches a program to the events of the TCP connections of a control group (cgroup v2) and of the groups
/// below it, together with the programs of others. It is detached when the returned descriptor, and every
/// copy of it, is closed (Linux 5.7).
pub fn attach_to_group(program: BorrowedFd<'_>, group: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Numbers::new().fd(0, program).fd(4, group).word(8, ATTACH_CGROUP_SOCK_OPS).open(LINK_CREATE)
}

/// A side of a network device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSide {
    /// Packets that the device has received.
    Ingress,
    /// Packets that the device is to send.
    Egress,
}

impl DeviceSide {
    fn attach_type(self) -> u32 {
        match self {
            DeviceSide::Ingress => ATTACH_TCX_INGRESS,
            DeviceSide::Egress => ATTACH_TCX_EGRESS,
        }
    }
}

/// Returns the ids of the programs on a side of a device of the calling thread's namespace, in their order,
/// and the number of the list's revision, which changes with the list (tcx; Linux 6.6 and later).
pub fn device_programs(device: u32, side: DeviceSide) -> io::Result<(Vec<u32>, u64)> {
    let mut ids = [0u8; MAX_ON_DEVICE * size_of::<u32>()];
    let request = Numbers::new().word(0, device).word(4, side.attach_type()).word(24, MAX_ON_DEVICE as u32);
    let mut arguments = request.writes(16, &mut ids).0;
    let (at, len) = (arguments.as_mut_ptr(), ARGUMENTS as u32);
    // SAFETY: the kernel writes at most the stated number of ids of four bytes, for which there is room, and
    // numbers into the arguments, of which it knows the size.
    let done = check(unsafe { libc::syscall(libc::SYS_bpf, PROG_QUERY, at, len) });
    match done {
        // No program was ever attached: the list will start with revision 1 (`bpf_mprog_bundle_init`).
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok((Vec::new(), 1)),
        other => other.map(drop)?,
    }
    let count = arguments[24..].first_chunk().map_or(0, |b| u32::from_ne_bytes(*b)) as usize;
    let revision = arguments[56..].first_chunk().map_or(0, |b| u64::from_ne_bytes(*b));
    let ids = ids.chunks_exact(4).take(count).map(|id| u32::from_ne_bytes([id[0], id[1], id[2], id[3]]));
    Ok((ids.collect(), revision))
}

/// Attaches a program to a side of a device of the calling thread's namespace, before all others, if the
/// list of programs still has this revision. The program is detached when the returned descriptor is closed.
///
/// # Errors
/// Fails with ESTALE if the list has changed.
pub fn attach_to_device(
    program: BorrowedFd<'_>,
    device: u32,
    side: DeviceSide,
    revision: u64,
) -> io::Result<OwnedFd> {
    let arguments = Numbers::new().fd(0, program).word(4, device).word(8, side.attach_type());
    arguments.word(12, F_BEFORE).bytes(24, &revision.to_ne_bytes()).open(LINK_CREATE)
}

/// Returns the device that a link of [`attach_to_device`] belongs to; 0 once the device has gone.
pub fn attached_device(link: BorrowedFd<'_>) -> io::Result<u32> {
    Ok(info(link)?.word(16))
}

/// Returns the name of a loaded program.
pub fn program_name(id: u32) -> io::Result<String> {
    let program = Numbers::new().word(0, id).open(PROG_GET_FD_BY_ID)?;
    let info_bytes = info(program.as_fd())?;
    let name: Vec<u8> = info_bytes.0[64..80].iter().copied().take_while(|b| *b != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// Returns the ids of all loaded programs, in ascending order (CAP_SYS_ADMIN or CAP_BPF).
pub fn program_ids() -> io::Result<Vec<u32>> {
    let (mut ids, mut last) = (Vec::new(), 0);
    loop {
        let mut arguments = Numbers::new().word(0, last).0;
        let (at, len) = (arguments.as_mut_ptr(), ARGUMENTS as u32);
        // SAFETY: the arguments hold a number, next to which the kernel writes another; it knows their size.
        match check(unsafe { libc::syscall(libc::SYS_bpf, PROG_GET_NEXT_ID, at, len) }) {
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => return Ok(ids),
            done => done.map(drop)?,
        }
        last = arguments[4..].first_chunk().map_or(0, |b| u32::from_ne_bytes(*b));
        ids.push(last);
    }
}

/// Pins a kernel object to a path in a bpffs, which keeps it alive.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_string(path)?;
    let arguments = Numbers::new().fd(8, object).text(0, &path);
    // SAFETY: the kernel reads the path to its final zero.
    unsafe { call(arguments.0, OBJ_PIN) }.map(drop)
}

/// Opens a pinned object.
pub fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_string(path)?;
    let arguments = Numbers::new().text(0, &path);
    // SAFETY: the kernel reads the path to its final zero; OBJ_GET returns a descriptor.
    unsafe { open(arguments.0, OBJ_GET) }
}

/// Information about a kernel object (`struct bpf_prog_info`, `bpf_map_info`, `bpf_btf_info`).
struct Info([u8; ARGUMENTS]);

impl Info {
    fn word(&self, at: usize) -> u32 {
        self.0[at..].first_chunk().map_or(0, |chunk| u32::from_ne_bytes(*chunk))
    }
}

/// Returns information about a program, map or BTF, without lists.
fn info(object: BorrowedFd<'_>) -> io::Result<Info> {
    // SAFETY: the request contains no address.
    unsafe { detailed_info(object, Numbers::new().0) }
}

/// Returns information about a program, map or BTF; `request` says which lists to write to which memory.
///
/// # Safety
/// Addresses in the request must point to memory of the size that the request states.
unsafe fn detailed_info(object: BorrowedFd<'_>, request: [u8; ARGUMENTS]) -> io::Result<Info> {
    let mut info_bytes = request;
    let arguments = Numbers::new().fd(0, object).word(4, ARGUMENTS as u32).writes(8, &mut info_bytes);
    // SAFETY: the kernel reads and writes at most as many bytes of `info_bytes` as it has; for the addresses
    // in it, as the caller promises.
    unsafe { call(arguments.0, OBJ_GET_INFO_BY_FD) }?;
    Ok(Info(info_bytes))
}

/// Returns a program's maps, and the BTF that it was loaded with.
pub fn maps_and_types(program: BorrowedFd<'_>) -> io::Result<(Vec<OwnedFd>, OwnedFd)> {
    let count = info(program)?.word(52);
    let mut ids = vec![0u8; count as usize * size_of::<u32>()];
    let request = Numbers::new().word(52, count).writes(56, &mut ids);
    // SAFETY: the list has room for as many numbers of four bytes as the request says.
    let info_bytes = unsafe { detailed_info(program, request.0) }?;
    let open = |id: u32, command| Numbers::new().word(0, id).open(command);
    let ids = ids.chunks_exact(4).map(|id| u32::from_ne_bytes([id[0], id[1], id[2], id[3]]));
    let maps = ids.map(|id| open(id, MAP_GET_FD_BY_ID)).collect::<io::Result<Vec<_>>>()?;
    Ok((maps, open(info_bytes.word(128), BTF_GET_FD_BY_ID)?))
}

/// Returns the size of a map's values, bytes.
fn value_size(map: BorrowedFd<'_>) -> io::Result<usize> {
    Ok(info(map)?.word(12) as usize)
}

/// Returns a map's name and its first value.
pub fn name_and_value(map: BorrowedFd<'_>) -> io::Result<(String, Vec<u8>)> {
    let info_bytes = info(map)?;
    let name: Vec<u8> = info_bytes.0[24..40].iter().copied().take_while(|b| *b != 0).collect();
    if info_bytes.word(8) as usize != ONLY_KEY.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut value = vec![0u8; info_bytes.word(12) as usize];
    let arguments = Numbers::new().fd(0, map).reads(8, &ONLY_KEY).writes(16, &mut value);
    // SAFETY: the key has the size of this map's keys, the value that of its values. Per-CPU maps would need
    // more space, but this crate creates none.
    unsafe { call(arguments.0, MAP_LOOKUP_ELEM) }?;
    Ok((String::from_utf8_lossy(&name).into_owned(), value))
}

/// Reads a BTF.
pub fn description(types: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let size = info(types)?.word(8);
    let mut bytes = vec![0u8; size as usize];
    let request = Numbers::new().word(8, size).writes(0, &mut bytes);
    // SAFETY: the description has room for as many bytes as the request says.
    unsafe { detailed_info(types, request.0) }?;
    Ok(bytes)
}
