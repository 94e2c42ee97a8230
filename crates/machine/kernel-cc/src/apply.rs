//! The programs of `longfat apply` (`traffic/apply.bpf.c`): loading, attaching and running them.

use crate::object::{Btf, Code, FUNC, ParsedObject, SectionMap};
use crate::traffic::{DataMaps, load_function, set_selection};
use crate::{ControlError, Loaded, capabilities, diagnose};
use linux::bpf::{self, ProgramKind};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The compiled programs.
const OBJECT: &[u8] = include_bytes!("../traffic/apply.bpf.o");
/// A congestion control that ends the pacing of a socket.
const UNPACE: &[u8] = include_bytes!("../traffic/unpace.bpf.o");
/// Name of the object in messages.
const NAME: &str = "apply";
/// Name of the program for new connections; another longfat recognises it.
const NEW: &str = "longfat_new";
/// Size of the name of a congestion control, with its final zero (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;
/// Maximum number of sockets that are changed at the same time.
const MAX_SOCKETS: u32 = 1 << 16;
/// Sizes of `struct change` and `struct listed`.
const CHANGE_BYTES: usize = 40;
const LISTED_BYTES: usize = 32;

/// Flags of a `struct change`.
const IS_NEW: u32 = 4;
const DONE: u32 = 8;
const KEPT: u32 = 16;
const FAILED: u32 = 32;
const STAYS_PACED: u32 = 64;

/// What to change, and of which connections that are established from now on.
#[derive(Clone, Debug, Default)]
pub struct ApplyConfig {
    /// Congestion control; `None` keeps each connection's own.
    pub control: Option<String>,
    /// Pacing cap, bytes per second, below 2^32 - 1; `None` keeps each connection's own.
    pub pacing: Option<u32>,
    /// Inode of the network namespace that new connections must be in; `None`: any.
    pub namespace: Option<u32>,
    /// Addresses or prefixes (with their lengths in bits), one of which must be at one end; empty: any.
    pub hosts: Vec<(IpAddr, u8)>,
    /// Ports, one of which must be at one end; empty: any.
    pub ports: Vec<u16>,
}

/// What the kernel knows of a socket besides sock_diag(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedSocket {
    pub cookie: u64,
    /// Id of its control group (cgroup v2): the inode of the group's folder.
    pub group: u64,
    /// Pacing cap (`SO_MAX_PACING_RATE`), bytes per second.
    pub pacing: Option<u64>,
    /// Whether TCP itself, or the queueing discipline fq, spreads its packets over time.
    pub is_paced: bool,
}

/// A socket that is changed now, and what it had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSocket {
    pub cookie: u64,
    /// Congestion control before the change.
    pub control: String,
    /// Pacing cap before the change, bytes per second.
    pub pacing: Option<u64>,
    /// Inode of its network namespace.
    pub namespace: u32,
    /// Whether it was established after the change began.
    pub is_new: bool,
}

/// The outcome of putting a socket back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoredSocket {
    pub cookie: u64,
    /// Somebody else had changed the congestion control, or the cap, since; it was left.
    pub is_others: bool,
    /// The kernel refused it.
    pub has_failed: bool,
    /// Its packets were not spread over time before, and still are.
    pub stays_paced: bool,
}

/// The loaded programs. The programs and what they remember leave the kernel when the last process that holds
/// them ends.
pub struct ApplyPrograms {
    list: OwnedFd,
    change: OwnedFd,
    restore: OwnedFd,
    new: OwnedFd,
    wanted: OwnedFd,
    changed: OwnedFd,
    counters: OwnedFd,
    unpace: Option<Loaded>,
}

impl ApplyPrograms {
    /// Loads the programs, which do nothing yet.
    ///
    /// # Errors
    /// Fails without CAP_BPF and CAP_PERFMON, without the kernel's BTF, and if the kernel rejects a program.
    pub fn load(config: &ApplyConfig) -> Result<ApplyPrograms, ControlError> {
        capabilities::check()?;
        let types = fs::read(diagnose::TYPES).map_err(|e| no_btf(&e.to_string()))?;
        let kernel = Btf::read(&types).ok_or_else(|| no_btf("it has an unknown format"))?;
        let mut object = ParsedObject::new(NAME, OBJECT)?;
        // Without it the other programs work all the same; it needs a newer kernel than they do.
        let unpace = Loaded::load_object("unpace", UNPACE, &[]).ok();
        set_constants(&mut object, config, unpace.as_ref().map_or("", Loaded::kernel_name))?;
        let mut maps = DataMaps::create(&object, &[])?;
        let system = |what: &'static str| ControlError::system(what);
        let wanted = bpf::hash_map("apply.wanted", 1, MAX_SOCKETS).map_err(system("creating a map"))?;
        let changed =
            bpf::hash_map("apply.changed", CHANGE_BYTES, MAX_SOCKETS).map_err(system("creating a map"))?;
        let mut placed: BTreeMap<usize, SectionMap> = maps.placed().collect();
        for (name, map) in [("map.wanted", &wanted), ("map.changed", &changed)] {
            let section = object.section(name);
            let section = section.ok_or_else(|| ControlError::object(format!("it has no section {name}")))?;
            placed.insert(section, SectionMap::Whole(map.as_raw_fd()));
        }
        let code = Code::with_maps(&object, &kernel, &placed)?;
        let function = kernel.find("bpf_iter_tcp", FUNC).ok_or_else(|| ControlError::Kernel {
            why: "this kernel cannot go through its TCP sockets with eBPF (iter/tcp); Linux 5.16 or later is needed"
                .into(),
        })?;
        let load = |name, kind| {
            let loaded = load_function(&object, &code, maps.types.as_fd(), name, kind);
            loaded.map_err(|e| explain(e, &code.missing_members))
        };
        let iterator = |name| {
            let program = load(name, ProgramKind::SocketIterator { function })?;
            bpf::iterator(program.as_fd()).map_err(ControlError::system("preparing an iterator"))
        };
        let (list, change) = (iterator("longfat_list")?, iterator("longfat_change")?);
        let restore = iterator("longfat_restore")?;
        let new = load(NEW, ProgramKind::SocketEvents)?;
        let counters = maps.take(".data.counters")?;
        Ok(ApplyPrograms { list, change, restore, new, wanted, changed, counters, unpace })
    }

    /// Whether another process has loaded these programs too; `false` if that cannot be known.
    pub fn are_others_loaded() -> bool {
        let ids = bpf::program_ids().unwrap_or_default();
        ids.into_iter().any(|id| bpf::program_name(id).is_ok_and(|name| name == NEW))
    }

    /// Changes each connection of a control group from now on when it is established, as long as the returned
    /// descriptor or a copy of it exists.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn attach(&self, group: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        bpf::attach_to_group(self.new.as_fd(), group)
    }

    /// Lists the TCP sockets of the calling thread's network namespace, except those in TIME-WAIT.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn list(&self) -> io::Result<Vec<ListedSocket>> {
        let bytes = bpf::iterate(self.list.as_fd())?;
        let row = |b: &[u8]| ListedSocket {
            cookie: word(b, 0),
            group: word(b, 8),
            pacing: rate(word(b, 16)),
            is_paced: half(b, 24) != 0,
        };
        Ok(bytes.chunks_exact(LISTED_BYTES).map(row).collect())
    }

    /// Changes the sockets with these cookies in the calling thread's network namespace. A socket that is
    /// changed already, or has the values already, stays as it is.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn change(&self, cookies: impl Iterator<Item = u64>) -> io::Result<()> {
        let cookies: Vec<u64> = cookies.collect();
        cookies.iter().try_for_each(|cookie| bpf::insert(self.wanted.as_fd(), *cookie, &[1]))?;
        let done = bpf::iterate(self.change.as_fd());
        cookies.iter().try_for_each(|cookie| bpf::remove(self.wanted.as_fd(), *cookie).map(drop))?;
        done.map(drop)
    }

    /// Returns the sockets that are changed. Some may have been closed since.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn changed(&self) -> io::Result<Vec<ChangedSocket>> {
        let all = bpf::entries(self.changed.as_fd())?;
        let all = all.into_iter().filter(|(_, value)| flags(value) & DONE == 0);
        Ok(all.map(|(cookie, value)| changed_socket(cookie, &value)).collect())
    }

    /// Forgets a changed socket that has been closed. Returns whether it was known.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn forget(&self, cookie: u64) -> io::Result<bool> {
        bpf::remove(self.changed.as_fd(), cookie)
    }

    /// Puts the changed sockets of the calling thread's network namespace back.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn restore(&self) -> io::Result<Vec<RestoredSocket>> {
        bpf::iterate(self.restore.as_fd())?;
        let mut done = Vec::new();
        for (cookie, value) in bpf::entries(self.changed.as_fd())? {
            let has = |flag| flags(&value) & flag != 0;
            // Counted by the caller who removes it.
            if has(DONE) && self.forget(cookie)? {
                let (is_others, has_failed) = (has(KEPT), has(FAILED));
                done.push(RestoredSocket { cookie, is_others, has_failed, stays_paced: has(STAYS_PACED) });
            }
        }
        Ok(done)
    }

    /// Whether [`ApplyPrograms::restore`] can end the pacing of a socket that was not paced before (Linux
    /// 6.10).
    pub fn can_end_pacing(&self) -> bool {
        self.unpace.is_some()
    }

    /// Returns the number of changes that the kernel refused, and of sockets that were left because too many
    /// are changed.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn failures(&self) -> io::Result<[u64; 2]> {
        let bytes = bpf::name_and_value(self.counters.as_fd())?.1;
        Ok([word(&bytes, 0), word(&bytes, 8)])
    }
}

fn no_btf(why: &str) -> ControlError {
    ControlError::Kernel {
        why: format!(
            "this kernel's types (BTF, {}) cannot be read: {why}; CONFIG_DEBUG_INFO_BTF is needed",
            diagnose::TYPES
        ),
    }
}

/// A kernel that lacks a member rejects the program with a message that does not say so.
fn explain(e: ControlError, missing: &[String]) -> ControlError {
    match e {
        ControlError::Rejected { .. } if !missing.is_empty() => ControlError::Kernel {
            why: format!(
                "this kernel has no {}; Linux 5.16 or later is needed to change connections",
                missing.join(", ")
            ),
        },
        e => e,
    }
}

fn set_constants(
    object: &mut ParsedObject<'_>,
    config: &ApplyConfig,
    unpaced: &str,
) -> Result<(), ControlError> {
    for (key, value) in [("control", config.control.as_deref().unwrap_or("")), ("unpaced", unpaced)] {
        let mut bytes = value.as_bytes().to_vec();
        if bytes.len() >= NAME_BYTES {
            let why = format!("{value}: the name of a congestion control has at most 15 letters");
            return Err(ControlError::Parameter { why });
        }
        bytes.resize(NAME_BYTES, 0);
        object.set_bytes(key, &bytes)?;
    }
    let number = |n: Option<u32>| u64::from(n.unwrap_or(0));
    object.set(&[("rate", number(config.pacing)), ("namespace_inode", number(config.namespace))])?;
    set_selection(object, &config.hosts, &config.ports)
}

fn changed_socket(cookie: u64, value: &[u8]) -> ChangedSocket {
    let name: Vec<u8> = value.iter().take(NAME_BYTES).copied().take_while(|b| *b != 0).collect();
    ChangedSocket {
        cookie,
        control: String::from_utf8_lossy(&name).into_owned(),
        pacing: rate(word(value, 16)),
        namespace: half(value, 28),
        is_new: flags(value) & IS_NEW != 0,
    }
}

fn flags(change: &[u8]) -> u32 {
    half(change, 32)
}

/// The kernel's largest number stands for no cap.
fn rate(bytes_per_second: u64) -> Option<u64> {
    Some(bytes_per_second).filter(|rate| *rate != u64::MAX)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_has_everything_that_is_set_and_loaded() {
        let mut object = ParsedObject::new(NAME, OBJECT).unwrap();
        let mut config = ApplyConfig {
            control: Some("bbr".into()),
            pacing: Some(1_000_000),
            namespace: Some(7),
            hosts: vec![("10.0.0.0".parse().unwrap(), 8)],
            ports: vec![443],
        };
        set_constants(&mut object, &config, "fifteen_letters").unwrap();
        for name in ["longfat_list", "longfat_change", "longfat_restore", "longfat_new"] {
            assert!(object.function(name).is_some(), "{name}");
        }
        for name in ["map.wanted", "map.changed", ".data.counters"] {
            assert!(object.section(name).is_some(), "{name}");
        }
        config.control = Some("sixteen_letters_".into());
        assert!(set_constants(&mut object, &config, "").is_err(), "too long");
    }

    #[test]
    fn a_changed_socket_is_decoded() {
        let mut value = vec![0; CHANGE_BYTES];
        value[..5].copy_from_slice(b"cubic");
        value[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        value[28] = 9;
        value[32] = 1 | IS_NEW as u8;
        let decoded = changed_socket(4, &value);
        let expected =
            ChangedSocket { cookie: 4, control: "cubic".into(), pacing: None, namespace: 9, is_new: true };
        assert_eq!(decoded, expected);
        value[16..24].copy_from_slice(&5u64.to_le_bytes());
        value[32] = 2;
        let decoded = changed_socket(4, &value);
        assert_eq!((decoded.pacing, decoded.is_new), (Some(5), false));
    }
}
