//! The programs of `longfat attach` (`traffic/attach.bpf.c`): loading, attaching and reading them.

mod attachment;
mod lock;

pub use attachment::{AttachMethod, remove_filters};

use crate::object::{Code, ParsedObject, SectionMap, describe, link};
use crate::{ControlError, capabilities};
use attachment::{Attachment, Place};
use linux::bpf::{self, DeviceSide, ProgramKind, Refused};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The compiled programs.
const OBJECT: &[u8] = include_bytes!("../traffic/attach.bpf.o");
/// Name of the object in messages.
const NAME: &str = "attach";

/// Maximum number of hosts and of ports to select (`MAX_TERMS` of `traffic/select.h`).
const MAX_TERMS: usize = 16;
/// Size of `struct host`: family, address and mask.
const HOST_BYTES: usize = 4 + 16 + 16;
/// Number of packets of a self-test in each direction whose times are kept (`PROBES`).
pub const PROBES: usize = 16_384;

/// Names of the programs that lead packets into the path; another longfat recognises them.
const LEADERS: [&str; 2] = ["longfat_out", "longfat_in"];
/// Programs on the devices' ingress.
const RETURNERS: [&str; 2] = ["longfat_back_out", "longfat_back_in"];
const GUARD: &str = "longfat_guard";

/// What to lead through a path. Devices are numbers in the target's namespace; arrays are by direction: out,
/// in.
#[derive(Clone, Debug)]
pub struct AttachConfig {
    pub target: u32,
    /// The TAP devices.
    pub devices: [u32; 2],
    /// Name of one of the TAP devices, which exists as long as this longfat.
    pub owner: String,
    /// Which directions have a path.
    pub directions: [bool; 2],
    /// Addresses or prefixes (with their lengths in bits), one of which must be at one end; empty: any.
    pub hosts: Vec<(IpAddr, u8)>,
    /// TCP or UDP ports, one of which must be at one end; empty: any.
    pub ports: Vec<u16>,
    /// Random numbers that a packet of the target cannot know: mark, index and the self-test's secret. The
    /// first two are not zero.
    pub secrets: (u32, u16, u64),
}

/// What the programs do with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachMode {
    /// Everything passes untouched.
    Off = 0,
    /// Only packets of the self-test are led through the path, and dropped at its end.
    Probing = 1,
    On = 2,
}

/// Counters of packets, by direction where there are two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachCounters {
    /// Super-packets and packets that were led into the path.
    pub led: [u64; 2],
    /// Packets that came back and went on.
    pub returned: [u64; 2],
    /// Packets that passed because the engine did not run.
    pub stalled: [u64; 2],
    /// Packets that carried the mark, but did not come from the path; treated as any other packet.
    pub forged: u64,
    /// Packets that others sent into a device of ours, dropped.
    pub intruded: u64,
}

/// Times (`CLOCK_MONOTONIC`, ns) at which the self-test's packets of one direction entered and left, by
/// number; 0 if never.
pub struct ProbeTimes {
    pub sent: Vec<u64>,
    pub arrived: Vec<u64>,
}

/// The payload of a packet of the self-test, after an IPv4 header without options of protocol 253.
pub struct ProbeWords;

impl ProbeWords {
    /// `enters`: the packet is to be handed to the target's ingress as a new one.
    pub fn bytes(secret: u64, number: u32, enters: bool) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&secret.to_le_bytes());
        bytes[8..12].copy_from_slice(&number.to_le_bytes());
        bytes[12] = enters.into();
        bytes
    }
}

/// The loaded programs. They leave the kernel when this is dropped or the process ends, for whatever reason;
/// packets then pass as before. Only programs that are attached with [`AttachMethod::Classic`] stay; they let
/// packets pass a second later, until [`remove_filters`].
pub struct AttachPrograms {
    config: AttachConfig,
    programs: Vec<(String, OwnedFd)>,
    control: OwnedFd,
    counters: OwnedFd,
    probes: OwnedFd,
    attachment: Option<Attachment>,
}

impl AttachPrograms {
    /// Loads the programs, which do nothing yet.
    ///
    /// # Errors
    /// Fails without CAP_BPF and CAP_NET_ADMIN, and if the kernel rejects a program.
    pub fn load(config: AttachConfig) -> Result<AttachPrograms, ControlError> {
        capabilities::check()?;
        let mut object = ParsedObject::new(NAME, OBJECT)?;
        set_constants(&mut object, &config)?;
        let mut maps = DataMaps::create(&object, &[".data.control"])?;
        // The programs use no type of the kernel, so their own types stand for it.
        let code = Code::with_maps(&object, &object.types, &maps.placed().collect())?;
        let mut programs = Vec::new();
        for name in LEADERS.into_iter().chain(RETURNERS).chain([GUARD]) {
            let loaded = load_function(&object, &code, maps.types.as_fd(), name, ProgramKind::Traffic)?;
            programs.push((name.to_string(), loaded));
        }
        let (control, counters, probes) =
            (maps.take(".data.control")?, maps.take(".data.counters")?, maps.take(".bss")?);
        Ok(AttachPrograms { config, programs, control, counters, probes, attachment: None })
    }

    fn program(&self, name: &str) -> BorrowedFd<'_> {
        // All names are constants of this file, and `load` has loaded each.
        let found = self.programs.iter().find(|(n, _)| n == name);
        found.map_or(self.control.as_fd(), |(_, program)| program.as_fd())
    }

    /// Attaches the programs to the TAP devices and to the target. The calling thread must be in the
    /// target's namespace. Returns whether classic filters of a longfat that no longer runs were removed.
    ///
    /// # Errors
    /// Fails if another longfat is attached to the target, with [`ControlError::Taken`], and if the kernel
    /// lacks the method.
    pub fn attach(&mut self, method: AttachMethod) -> Result<bool, ControlError> {
        let place = |name, device, side| Place { name, program: self.program(name), device, side };
        let mut places = Vec::new();
        for (device, returner) in self.config.devices.into_iter().zip(RETURNERS) {
            places.push(place(GUARD, device, DeviceSide::Egress));
            places.push(place(returner, device, DeviceSide::Ingress));
        }
        let sides = [DeviceSide::Egress, DeviceSide::Ingress];
        for (leader, side) in LEADERS.into_iter().zip(sides) {
            places.push(place(leader, self.config.target, side));
        }
        let (attachment, removed) = Attachment::new(method, self.config.target, &self.config.owner, &places)?;
        self.attachment = Some(attachment);
        Ok(removed)
    }

    /// Whether the target still exists with the programs on it. With [`AttachMethod::Classic`] the calling
    /// thread must be in the target's namespace.
    pub fn is_attached(&self) -> bool {
        self.attachment.as_ref().is_some_and(Attachment::is_complete)
    }

    /// Sets the mode, and the time at which the engine last ran (`CLOCK_MONOTONIC`, ns).
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn set(&self, mode: AttachMode, alive: u64) -> io::Result<()> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&alive.to_le_bytes());
        bytes[8..].copy_from_slice(&(mode as u64).to_le_bytes());
        bpf::set(self.control.as_fd(), &bytes)
    }

    /// Returns the counters.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn counters(&self) -> io::Result<AttachCounters> {
        let bytes = bpf::name_and_value(self.counters.as_fd())?.1;
        let n = words(&bytes);
        let n = |i: usize| n.get(i).copied().unwrap_or(0);
        Ok(AttachCounters {
            led: [n(0), n(1)],
            returned: [n(2), n(3)],
            stalled: [n(4), n(5)],
            forged: n(6),
            intruded: n(7),
        })
    }

    /// Returns the times of the self-test's packets, by direction.
    ///
    /// # Errors
    /// Fails with the kernel's error.
    pub fn probe_times(&self) -> io::Result<[ProbeTimes; 2]> {
        let bytes = bpf::name_and_value(self.probes.as_fd())?.1;
        let all = words(&bytes);
        let part = |n: usize| all.get(n * PROBES..(n + 1) * PROBES).unwrap_or_default().to_vec();
        Ok([0, 1].map(|way| ProbeTimes { sent: part(way), arrived: part(2 + way) }))
    }
}

/// The maps that hold an object's variables and constants, and the BTF for its programs.
pub(crate) struct DataMaps {
    pub types: OwnedFd,
    constants: Option<(usize, OwnedFd)>,
    variables: Vec<(usize, String, OwnedFd)>,
}

impl DataMaps {
    /// Creates the maps, with the object's constants. Programs can only read sections in `read_only`.
    pub fn create(object: &ParsedObject<'_>, read_only: &[&str]) -> Result<DataMaps, ControlError> {
        let failed = |doing: &str, e: &io::Error| rejected(&object.name, format!("{doing}: {e}"));
        let types = describe(object.texts(), object.constants.len(), &object.parameters());
        let types = bpf::load_types(&types.bytes).map_err(|e| failed("loading its BTF", &e))?;
        let map = |section: &str, size, read_only| {
            let created = bpf::variables_map(&format!("{}{section}", object.name), size, read_only);
            created.map_err(|e| failed("creating a map", &e))
        };
        let (sections, constants) = object.data_sections();
        let constants = constants.map(|section| {
            let constants = map(".rodata", object.constants.len(), true)?;
            let keep = |e: io::Error| failed("keeping its constants", &e);
            bpf::set(constants.as_fd(), &object.constants).map_err(keep)?;
            bpf::freeze(constants.as_fd()).map_err(keep)?;
            Ok((section, constants))
        });
        let constants = constants.transpose()?;
        let mut variables = Vec::new();
        for (section, name, size) in sections {
            variables.push((section, name.to_string(), map(name, size, read_only.contains(&name))?));
        }
        Ok(DataMaps { types, constants, variables })
    }

    /// Returns the map that stands for each section.
    pub fn placed(&self) -> impl Iterator<Item = (usize, SectionMap)> {
        let variables = self.variables.iter().map(|(section, _, fd)| (*section, fd));
        let all = variables.chain(self.constants.iter().map(|(section, fd)| (*section, fd)));
        all.map(|(section, fd)| (section, SectionMap::Data(fd.as_raw_fd())))
    }

    /// Removes the map of a section with variables.
    pub fn take(&mut self, name: &str) -> Result<OwnedFd, ControlError> {
        let at = self.variables.iter().position(|(_, n, _)| n == name);
        let at = at.ok_or_else(|| ControlError::object(format!("it has no section {name}")))?;
        Ok(self.variables.swap_remove(at).2)
    }
}

fn rejected(name: &str, why: String) -> ControlError {
    ControlError::Rejected { name: name.into(), why, log: String::new() }
}

/// Links and loads a function of an object.
pub(crate) fn load_function(
    object: &ParsedObject<'_>,
    code: &Code,
    types: BorrowedFd<'_>,
    name: &str,
    kind: ProgramKind,
) -> Result<OwnedFd, ControlError> {
    let at = object.function(name);
    let at = at.ok_or_else(|| ControlError::object(format!("it has no function {name}")))?;
    let linked = link(object, code, at)?;
    let loaded = bpf::load_program(&bpf::ProgramLoad {
        name,
        code: &linked.code,
        lines: &linked.lines,
        licence: object.licence(),
        kind,
        types,
    });
    loaded.map_err(|Refused { error, log }| ControlError::Rejected {
        name: object.name.clone(),
        why: format!("{name}: {error}"),
        log: log.trim_end().into(),
    })
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|b| b.try_into().map_or(0, u64::from_le_bytes)).collect()
}

fn set_constants(object: &mut ParsedObject<'_>, config: &AttachConfig) -> Result<(), ControlError> {
    let (mark, index, probe) = config.secrets;
    let [out, inward] = config.directions.map(u64::from);
    object.set(&[
        ("target", config.target.into()),
        ("device_out", config.devices[0].into()),
        ("device_in", config.devices[1].into()),
        ("secret_mark", mark.into()),
        ("secret_index", index.into()),
        ("secret_probe", probe),
        ("directions", out | inward << 1),
    ])?;
    set_selection(object, &config.hosts, &config.ports)
}

/// Sets the hosts and ports to select (`traffic/select.h`).
pub(crate) fn set_selection(
    object: &mut ParsedObject<'_>,
    hosts: &[(IpAddr, u8)],
    ports: &[u16],
) -> Result<(), ControlError> {
    if hosts.len() > MAX_TERMS || ports.len() > MAX_TERMS {
        return Err(ControlError::Parameter { why: format!("more than {MAX_TERMS} hosts or ports") });
    }
    object.set(&[("host_count", hosts.len() as u64), ("port_count", ports.len() as u64)])?;
    let mut hosts = hosts.iter().flat_map(|(ip, bits)| host(*ip, *bits)).collect::<Vec<u8>>();
    hosts.resize(MAX_TERMS * HOST_BYTES, 0);
    object.set_bytes("hosts", &hosts)?;
    let mut ports: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    ports.resize(MAX_TERMS * size_of::<u16>(), 0);
    object.set_bytes("ports", &ports)
}

/// Encodes a `struct host`; address and mask are in network order.
fn host(ip: IpAddr, bits: u8) -> Vec<u8> {
    let (family, mut address) = match ip {
        IpAddr::V4(ip) => (4u32, ip.octets().to_vec()),
        IpAddr::V6(ip) => (6, ip.octets().to_vec()),
    };
    let len = address.len();
    address.resize(16, 0);
    let mask = (0..16).map(|i| match usize::from(bits).saturating_sub(8 * i).min(8) {
        n if i < len && n > 0 => 0xffu8 << (8 - n),
        _ => 0,
    });
    family.to_le_bytes().into_iter().chain(address.iter().copied()).chain(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_encoded_with_their_masks() {
        let v4 = host("10.1.128.0".parse().unwrap(), 17);
        assert_eq!(v4.len(), HOST_BYTES);
        assert_eq!(v4[..8], [4, 0, 0, 0, 10, 1, 128, 0]);
        assert_eq!(v4[20..25], [0xff, 0xff, 0x80, 0, 0]);
        let v6 = host("2001:db8::".parse().unwrap(), 128);
        assert_eq!((v6[0], v6[4], v6[20], v6[35]), (6, 0x20, 0xff, 0xff));
        assert!(host("0.0.0.0".parse().unwrap(), 0)[20..].iter().all(|b| *b == 0));
    }

    #[test]
    fn the_object_has_everything_that_is_set_and_loaded() {
        let mut object = ParsedObject::new(NAME, OBJECT).unwrap();
        let mut config = AttachConfig {
            target: 1,
            devices: [2, 3],
            owner: "longfat-o".into(),
            directions: [true; 2],
            hosts: vec![("10.0.0.0".parse().unwrap(), 8); MAX_TERMS],
            ports: vec![443; MAX_TERMS],
            secrets: (1, 2, 3),
        };
        set_constants(&mut object, &config).unwrap();
        for name in LEADERS.into_iter().chain(RETURNERS).chain([GUARD]) {
            assert!(object.function(name).is_some(), "{name}");
        }
        let (sections, constants) = object.data_sections();
        let probes = sections.iter().find(|s| s.1 == ".bss").map(|s| s.2);
        assert_eq!((probes, constants.is_some()), (Some(4 * PROBES * 8), true));
        config.ports.push(1);
        assert!(set_constants(&mut object, &config).is_err(), "too many");
    }
}
