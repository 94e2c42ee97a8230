//! The network device that `attach` leads through a path, and how to notice that it has gone.

use super::AttachError;
use crate::LabError;
use linux::device::{DeviceFacts, facts};
use linux::namespace::{own_network, within};
use linux::netlink::{NetlinkSocket, Service, attribute, u32_at};
use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a target's device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachPlace {
    /// In longfat's own network namespace.
    Own,
    /// In a namespace that `ip netns` has named.
    Named(String),
    /// In the namespace of a process.
    Process(u32),
}

/// What to lead through a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachTarget {
    /// As the user named it.
    pub name: String,
    pub place: AttachPlace,
    /// Name of the device; `None`: the one with the default route, or the only one.
    pub device: Option<String>,
}

/// How the names of longfat's devices begin.
pub const TAP_PREFIX: &str = "longfat-";

/// Folder of the namespaces that `ip netns` has named (ip-netns(8)).
const NAMED: &str = "/run/netns";

/// A target that exists.
pub struct FoundTarget {
    /// Name of the device.
    pub device: String,
    pub facts: DeviceFacts,
    /// The file that is the namespace, and its inode; `None` for longfat's own.
    file: Option<(PathBuf, u64)>,
}

impl AttachTarget {
    fn file(&self) -> Option<PathBuf> {
        match &self.place {
            AttachPlace::Own => None,
            AttachPlace::Named(name) => Some(Path::new(NAMED).join(name)),
            AttachPlace::Process(pid) => Some(format!("/proc/{pid}/ns/net").into()),
        }
    }

    fn bad(&self, why: impl Into<String>) -> AttachError {
        AttachError::Target { target: self.name.clone(), why: why.into() }
    }

    /// Finds the device.
    ///
    /// # Errors
    /// Fails if namespace or device do not exist, or if the device is not an Ethernet device that is up.
    pub fn find(&self) -> Result<FoundTarget, AttachError> {
        let path = self.file();
        let inode = |path: &PathBuf| fs::metadata(path).map(|m| m.ino());
        let file = match path {
            None => None,
            Some(path) => {
                let inode = inode(&path).map_err(|e| self.bad(missing(&self.place, &e)))?;
                Some((path, inode))
            }
        };
        let found = FoundTarget { device: String::new(), facts: DeviceFacts::default(), file };
        let namespace = found.namespace().map_err(|e| self.bad(format!("its network namespace: {e}")))?;
        let wanted = self.device.as_deref();
        let look = || {
            let device = wanted.map_or_else(default_device, |name| Ok(name.to_string()))?;
            let facts = facts(&device).map_err(|e| match e.raw_os_error() {
                Some(libc::ENODEV) => {
                    format!("there is no device {device}; there are {}", devices().join(", "))
                }
                _ => format!("device {device}: {e}"),
            })?;
            Ok((device, facts))
        };
        let (device, facts) = within(namespace.as_fd(), look)
            .map_err(|e| self.bad(format!("entering its network namespace: {e}")))?
            .map_err(|why: String| self.bad(why))?;
        if !facts.is_ethernet {
            return Err(self.bad(format!(
                "{device} is not an Ethernet device (loopback and tunnel devices have no Ethernet header)"
            )));
        }
        if !facts.is_up {
            return Err(self.bad(format!("{device} is down; bring it up with `ip link set {device} up`")));
        }
        Ok(FoundTarget { device, facts, ..found })
    }
}

fn missing(place: &AttachPlace, e: &io::Error) -> String {
    match (place, e.kind()) {
        (AttachPlace::Named(name), io::ErrorKind::NotFound) => {
            format!("there is no network namespace {name} (`ip netns` lists them)")
        }
        (AttachPlace::Process(pid), io::ErrorKind::NotFound) => format!("there is no process {pid}"),
        (_, _) => format!("its network namespace: {e}"),
    }
}

impl FoundTarget {
    /// Opens the target's namespace. It must be closed soon, because an open descriptor keeps a namespace
    /// alive whose last process has ended.
    pub fn namespace(&self) -> io::Result<OwnedFd> {
        match &self.file {
            None => own_network(),
            Some((path, _)) => File::open(path).map(OwnedFd::from),
        }
    }

    /// Whether the namespace still exists and has the same name or process.
    pub fn exists(&self) -> bool {
        self.file.as_ref().is_none_or(|(path, inode)| fs::metadata(path).is_ok_and(|m| m.ino() == *inode))
    }

    /// Whether this address is one of the device's.
    pub fn has_address(&self, address: IpAddr) -> io::Result<bool> {
        let index = self.facts.index;
        within(self.namespace()?.as_fd(), || addresses(index))?.map(|all| all.contains(&address))
    }
}

/// Returns the name of the device with the IPv4 default route, otherwise of the only device.
fn default_device() -> Result<String, String> {
    let routes = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    // Columns: device, destination, gateway, flags, …, mask as the eighth.
    let lines = routes.lines().skip(1).map(|l| l.split_ascii_whitespace().collect::<Vec<_>>());
    let mut defaults = lines.filter(|l| l.get(1) == Some(&"00000000") && l.get(7) == Some(&"00000000"));
    if let Some(name) = defaults.next().and_then(|l| l.first().map(|name| name.to_string())) {
        return Ok(name);
    }
    match &devices()[..] {
        [one] => Ok(one.clone()),
        [] => Err("it has no network device".into()),
        several => Err(format!(
            "no device has the default route; add the name of one: {}",
            several.iter().map(|d| format!(":{d}")).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// Returns the names of the devices of the calling thread's namespace, without loopback and devices of
/// longfat.
fn devices() -> Vec<String> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_string()));
    names.filter(|name| name != "lo" && !name.starts_with(TAP_PREFIX)).collect()
}

/// Lists an interface's addresses (rtnetlink(7), RTM_GETADDR).
const RTM_GETADDR: u16 = 22;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// Size of `ifaddrmsg`; its last field is the device's number.
const IFADDRMSG: usize = 8;

fn addresses(index: u32) -> io::Result<Vec<IpAddr>> {
    let mut found = Vec::new();
    NetlinkSocket::new(Service::Route)?.list(RTM_GETADDR, &[0; IFADDRMSG], &mut |body| {
        let Some(rest) = body.get(IFADDRMSG..).filter(|_| u32_at(body, 4) == index) else { return };
        // The local address of a point-to-point device is not its IFA_ADDRESS.
        let value = attribute(rest, IFA_LOCAL).or_else(|| attribute(rest, IFA_ADDRESS));
        let v4 = value.and_then(|v| <[u8; 4]>::try_from(v).ok()).map(IpAddr::from);
        found.extend(v4.or_else(|| value.and_then(|v| <[u8; 16]>::try_from(v).ok()).map(IpAddr::from)));
    })?;
    Ok(found)
}

/// Returns the address of this host that a login session over SSH uses, from the environment of this process
/// or of one that started it (sudo removes `SSH_CONNECTION`).
pub fn login_address() -> Option<IpAddr> {
    let own = std::env::var("SSH_CONNECTION").ok();
    own.as_deref().and_then(server_address).or_else(|| {
        let mut pid = std::process::id();
        for _ in 0..MAX_ANCESTORS {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            pid = status.lines().find_map(|l| l.strip_prefix("PPid:"))?.trim().parse().ok()?;
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let texts = environment.split(|b| *b == 0).filter_map(|v| std::str::from_utf8(v).ok());
            if let Some(found) =
                texts.filter_map(|v| v.strip_prefix("SSH_CONNECTION=")).find_map(server_address)
            {
                return Some(found);
            }
        }
        None
    })
}

/// Longest chain of parents to search.
const MAX_ANCESTORS: usize = 64;

/// Parses `CLIENT PORT SERVER PORT` (sshd(8)) and returns the server's address.
fn server_address(text: &str) -> Option<IpAddr> {
    text.split(' ').nth(2)?.parse().ok()
}

/// Runs work in a namespace, on a temporary thread.
pub fn inside<T: Send, E: From<LabError> + Send>(
    namespace: BorrowedFd<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, E> {
    within(namespace, work).map_err(LabError::system("entering the target's namespace"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_address_of_a_login_is_the_third_word() {
        assert_eq!(server_address("192.0.2.1 50000 10.0.0.2 22"), Some("10.0.0.2".parse().unwrap()));
        assert_eq!(server_address("2001:db8::1 50000 2001:db8::2 22"), Some("2001:db8::2".parse().unwrap()));
        assert_eq!(server_address(""), None);
    }

    #[test]
    fn missing_targets_are_named() {
        let target = |place| AttachTarget { name: "x".into(), place, device: None };
        let why = |place| target(place).find().err().unwrap().to_string();
        assert!(
            why(AttachPlace::Named("no-such-namespace".into()))
                .contains("no network namespace no-such-namespace")
        );
        assert!(why(AttachPlace::Process(u32::MAX)).contains("no process"));
    }
}
