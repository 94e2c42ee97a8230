//! The system call `bpf` (bpf(2), linux/bpf.h), as far as congestion controls need it.
#![allow(unsafe_code)]

use super::c_string;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Commands (`enum bpf_cmd`).
const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const OBJ_PIN: i32 = 6;
const OBJ_GET: i32 = 7;
const MAP_GET_FD_BY_ID: i32 = 14;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const BTF_LOAD: i32 = 18;
const BTF_GET_FD_BY_ID: i32 = 19;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;
const PROG_BIND_MAP: i32 = 35;

/// Types of maps and programs, and how a control is attached.
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const ATTACH_STRUCT_OPS: u32 = 44;

/// Flags of maps: programs only read it; a link registers it.
const F_RDONLY_PROG: u32 = 1 << 7;
const F_LINK: u32 = 1 << 13;

/// `BPF_OBJ_NAME_LEN` without the final zero.
const LONGEST_NAME: usize = 15;
/// Room for the verifier's words. The kernel (6.4 and later) keeps the last of what is longer.
const LOG: usize = 1 << 20;
/// A program is checked again when a signal came in between.
const TRIES: usize = 5;
/// Bytes of a `struct bpf_line_info`.
const LINE: usize = 16;

/// `union bpf_attr`: the arguments of a command by their offsets. What is not set is zero, which the kernel
/// takes for absent.
struct Arguments([u8; 152]);

impl Arguments {
    fn new() -> Arguments {
        Arguments([0; 152])
    }

    fn bytes(mut self, at: usize, bytes: &[u8]) -> Arguments {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn word(self, at: usize, word: u32) -> Arguments {
        self.bytes(at, &word.to_ne_bytes())
    }

    fn fd(self, at: usize, fd: BorrowedFd<'_>) -> Arguments {
        self.word(at, fd.as_raw_fd() as u32)
    }

    /// A pointer to what the kernel reads, or writes if it is a `&mut`: it has to live until the call.
    fn pointer<T>(self, at: usize, to: *const T) -> Arguments {
        self.bytes(at, &(to as usize as u64).to_ne_bytes())
    }

    /// What is too long is cut off, what the kernel does not allow in names is left out.
    fn name(self, at: usize, name: &str) -> Arguments {
        let allowed = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
        let name: Vec<u8> = name.bytes().filter(allowed).take(LONGEST_NAME).collect();
        self.bytes(at, &name)
    }

    /// # Safety
    /// All pointers are valid for what the command does with them.
    unsafe fn call(mut self, command: i32) -> io::Result<i32> {
        let (at, len) = (self.0.as_mut_ptr(), self.0.len() as u32);
        // SAFETY: the arguments are valid for their length; what they point to, as the caller promises.
        let done = unsafe { libc::syscall(libc::SYS_bpf, command, at, len) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
    }

    /// # Safety
    /// As of [`Self::call`], and the command returns a new descriptor.
    unsafe fn open(self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: as promised by the caller; the descriptor is new, so nobody else's.
        unsafe { Ok(OwnedFd::from_raw_fd(self.call(command)?)) }
    }
}

/// Gives the kernel a description of types (BTF).
pub fn load_types(description: &[u8]) -> io::Result<OwnedFd> {
    let arguments = Arguments::new().pointer(0, description.as_ptr()).word(16, description.len() as u32);
    // SAFETY: the pointer is that of a slice, and so is the length.
    unsafe { arguments.open(BTF_LOAD) }
}

fn map(kind: u32, name: &str, size: usize, flags: u32, types: BorrowedFd<'_>) -> Arguments {
    let key = size_of::<u32>() as u32;
    let arguments = Arguments::new().word(0, kind).word(4, key).word(8, size as u32).word(12, 1);
    arguments.word(16, flags).name(28, name).fd(48, types)
}

/// A map of one value that programs may read; `of`: the type of that value in `types`.
pub fn constants_map(name: &str, size: usize, types: BorrowedFd<'_>, of: Option<u32>) -> io::Result<OwnedFd> {
    let arguments = map(MAP_TYPE_ARRAY, name, size, F_RDONLY_PROG, types).word(56, of.unwrap_or(0));
    // SAFETY: no pointers.
    unsafe { arguments.open(MAP_CREATE) }
}

/// A map whose value is a control; `wrapped`: the type of that value in the kernel's own types.
pub fn control_map(name: &str, size: usize, wrapped: u32, types: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let arguments = map(MAP_TYPE_STRUCT_OPS, name, size, F_LINK, types).word(60, wrapped);
    // SAFETY: no pointers.
    unsafe { arguments.open(MAP_CREATE) }
}

/// Sets a map's one value, which has the map's size.
pub fn set(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = 0u32;
    let arguments = Arguments::new().fd(0, map).pointer(8, &raw const key).pointer(16, value.as_ptr());
    // SAFETY: the key has four bytes, the value the bytes of the map.
    unsafe { arguments.call(MAP_UPDATE_ELEM) }.map(drop)
}

/// From here on nobody changes the map.
pub fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers.
    unsafe { Arguments::new().fd(0, map).call(MAP_FREEZE) }.map(drop)
}

/// A program to be checked.
pub struct ProgramLoad<'a> {
    /// For tools that list programs.
    pub name: &'a str,
    pub code: &'a [u8],
    /// `struct bpf_line_info`, one behind the other.
    pub lines: &'a [u8],
    pub licence: &'a str,
    /// The number of `tcp_congestion_ops` in the kernel's types.
    pub control: u32,
    /// Which of its members.
    pub member: u32,
    /// What the lines refer to.
    pub types: BorrowedFd<'a>,
}

/// A program that the kernel does not take.
pub struct Refused {
    pub error: io::Error,
    /// The verifier's words.
    pub log: String,
}

/// Has the kernel check a program. If it refuses, it is asked again for its reasons.
pub fn load_program(program: &ProgramLoad<'_>) -> Result<OwnedFd, Refused> {
    let refused = |error: io::Error, log: String| Refused { error, log };
    let licence = CString::new(program.licence).unwrap_or_default();
    let arguments = || {
        let counts = (program.code.len() / 8, program.lines.len() / LINE);
        Arguments::new()
            .word(0, PROG_TYPE_STRUCT_OPS)
            .word(4, counts.0 as u32)
            .pointer(8, program.code.as_ptr())
            .pointer(16, licence.as_ptr())
            .name(48, program.name)
            .word(68, program.member)
            .fd(72, program.types)
            .word(92, if counts.1 > 0 { LINE as u32 } else { 0 })
            .pointer(96, program.lines.as_ptr())
            .word(104, counts.1 as u32)
            .word(108, program.control)
    };
    let mut error = io::Error::other("not tried");
    for _ in 0..TRIES {
        // SAFETY: the pointers are those of slices and a string, with their lengths.
        match unsafe { arguments().open(PROG_LOAD) } {
            Ok(fd) => return Ok(fd),
            Err(e) => error = e,
        }
        if error.kind() != io::ErrorKind::WouldBlock {
            break;
        }
    }
    let mut log = vec![0u8; LOG];
    let wanted = arguments().word(24, 1).word(28, LOG as u32).pointer(32, log.as_mut_ptr());
    // SAFETY: as above; the log is as long as it is said to be.
    match unsafe { wanted.open(PROG_LOAD) } {
        Ok(fd) => Ok(fd),
        Err(_) => {
            log.truncate(log.iter().position(|b| *b == 0).unwrap_or(LOG));
            Err(refused(error, String::from_utf8_lossy(&log).into_owned()))
        }
    }
}

/// Has a program keep a map, also one that it does not read.
pub fn bind(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers.
    unsafe { Arguments::new().fd(0, program).fd(4, map).call(PROG_BIND_MAP) }.map(drop)
}

/// Registers the control in this map; the descriptor returned keeps it registered.
pub fn register(control: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    unsafe { Arguments::new().fd(0, control).word(8, ATTACH_STRUCT_OPS).open(LINK_CREATE) }
}

/// Gives an object of the kernel a name in the bpf file system, which keeps it.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_string(path)?;
    // SAFETY: the path ends in zero and lives long enough.
    unsafe { Arguments::new().pointer(0, path.as_ptr()).fd(8, object).call(OBJ_PIN) }.map(drop)
}

/// What has that name.
pub fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_string(path)?;
    // SAFETY: as of `pin`.
    unsafe { Arguments::new().pointer(0, path.as_ptr()).open(OBJ_GET) }
}

/// What the kernel tells of a program, a map or types: `about` holds what is asked for and receives the answer.
fn info(object: BorrowedFd<'_>, about: &mut Arguments) -> io::Result<()> {
    let (at, len) = (about.0.as_mut_ptr(), about.0.len() as u32);
    // SAFETY: the answer has room for as much as is said; what it points to, its caller has made.
    unsafe { Arguments::new().fd(0, object).word(4, len).pointer(8, at).call(OBJ_GET_INFO_BY_FD) }.map(drop)
}

fn word(of: &Arguments, at: usize) -> u32 {
    of.0[at..].first_chunk().map_or(0, |chunk| u32::from_ne_bytes(*chunk))
}

/// A program's maps, and the description that it was loaded with.
pub fn maps_and_types(program: BorrowedFd<'_>) -> io::Result<(Vec<OwnedFd>, OwnedFd)> {
    let mut about = Arguments::new();
    info(program, &mut about)?;
    let mut ids = vec![0u32; word(&about, 52) as usize];
    let mut asked = Arguments::new().word(52, ids.len() as u32).pointer(56, ids.as_mut_ptr());
    info(program, &mut asked)?;
    let open = |id: u32, command| {
        // SAFETY: no pointers.
        unsafe { Arguments::new().word(0, id).open(command) }
    };
    let maps = ids.iter().map(|id| open(*id, MAP_GET_FD_BY_ID)).collect::<io::Result<Vec<_>>>()?;
    Ok((maps, open(word(&asked, 128), BTF_GET_FD_BY_ID)?))
}

/// A map's name, and its first value.
pub fn name_and_value(map: BorrowedFd<'_>) -> io::Result<(String, Vec<u8>)> {
    let mut about = Arguments::new();
    info(map, &mut about)?;
    let name: Vec<u8> = about.0[24..40].iter().copied().take_while(|b| *b != 0).collect();
    let mut value = vec![0u8; word(&about, 12) as usize];
    let key = 0u32;
    let arguments = Arguments::new().fd(0, map).pointer(8, &raw const key).pointer(16, value.as_mut_ptr());
    // SAFETY: the key has four bytes, the value those that the kernel said.
    unsafe { arguments.call(MAP_LOOKUP_ELEM) }?;
    Ok((String::from_utf8_lossy(&name).into_owned(), value))
}

/// A description of types.
pub fn description(types: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut about = Arguments::new();
    info(types, &mut about)?;
    let mut bytes = vec![0u8; word(&about, 8) as usize];
    let mut asked = Arguments::new().pointer(0, bytes.as_mut_ptr()).word(8, bytes.len() as u32);
    info(types, &mut asked)?;
    Ok(bytes)
}
