//! How programs are attached to devices: by tcx links, which end with their descriptors, or, before Linux
//! 6.6, as classic filters, which stay until they are removed.

use super::LEADERS;
use super::lock::DeviceLock;
use crate::ControlError;
use linux::bpf::{self, DeviceSide};
use linux::device;
use linux::traffic_control::{DeviceFilter, TrafficControl};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How programs are attached to devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachMethod {
    /// tcx links (Linux 6.6): gone with the process, however it ends.
    Tcx,
    /// Filters of the queueing discipline `clsact`: they stay until [`remove_filters`].
    Classic,
}

impl AttachMethod {
    /// Returns the best method that the kernel has. The calling thread must be in the device's namespace.
    ///
    /// # Errors
    /// Fails with the kernel's error, for instance without the device.
    pub fn of_kernel(device: u32) -> Result<AttachMethod, ControlError> {
        tcx_programs(device, DeviceSide::Egress)
            .map(|found| if found.is_some() { AttachMethod::Tcx } else { AttachMethod::Classic })
            .map_err(ControlError::system("the programs of the device"))
    }
}

/// A program and where it belongs.
pub struct Place<'a> {
    pub name: &'static str,
    pub program: BorrowedFd<'a>,
    pub device: u32,
    pub side: DeviceSide,
}

/// Attached programs.
pub enum Attachment {
    /// Closing them detaches the programs.
    Links(Vec<OwnedFd>),
    /// Device, side and name of each filter.
    Filters(Vec<(u32, DeviceSide, String)>),
}

const SIDES: [DeviceSide; 2] = [DeviceSide::Egress, DeviceSide::Ingress];
/// Attempts to attach while others change the list of programs.
const MAX_ATTEMPTS: usize = 20;
/// Handle of longfat's filters ("lfat"): the kernel accepts one filter of this number on each side of a
/// device.
const HANDLE: u32 = 0x6c66_6174;

/// No such object, it exists, no such device, invalid argument, unsupported, and a list that has changed
/// (errno.h).
const ENOENT: i32 = 2;
const EEXIST: i32 = 17;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;
const ESTALE: i32 = 116;

impl Attachment {
    /// Attaches programs, the target's last, so that nothing is led anywhere before the rest is there.
    /// `owner` is a device that exists as long as this longfat. The calling thread must be in the devices'
    /// namespace. Also returns whether filters of a longfat that no longer runs were removed.
    ///
    /// # Errors
    /// Fails with [`ControlError::Taken`] if another longfat is attached to the target, and with the reason
    /// if the kernel cannot attach programs with this method. Nothing stays on the target then.
    pub fn new(
        method: AttachMethod,
        target: u32,
        owner: &str,
        places: &[Place<'_>],
    ) -> Result<(Attachment, bool), ControlError> {
        // Two that start at the same time would otherwise not see each other.
        let _lock = DeviceLock::take(target)?;
        let removed = exclude_others(target)?;
        let attached = match method {
            AttachMethod::Tcx => {
                places.iter().map(attach_link).collect::<Result<_, _>>().map(Attachment::Links)
            }
            AttachMethod::Classic => add_filters(target, owner, places).map(Attachment::Filters),
        };
        if attached.is_err() && method == AttachMethod::Classic {
            // The first error counts.
            let _ = remove_marked(target, |by| by == owner);
        }
        Ok((attached?, removed))
    }

    /// Whether all devices still exist with the programs on them. With classic filters the calling thread
    /// must be in the devices' namespace.
    pub fn is_complete(&self) -> bool {
        match self {
            Attachment::Links(links) => {
                links.iter().all(|link| bpf::attached_device(link.as_fd()).is_ok_and(|device| device != 0))
            }
            Attachment::Filters(added) => TrafficControl::new().is_ok_and(|control| {
                added.iter().all(|(device, side, name)| {
                    let listed = control.filters(*device, *side);
                    listed.is_ok_and(|all| all.iter().any(|f| f.handle == HANDLE && f.name == *name))
                })
            }),
        }
    }
}

/// Removes the classic filters that the longfat with this device, which may have ended, has added to a
/// target, and `clsact` if that longfat has added it and nobody else uses it. The calling thread must be in
/// the target's namespace. Without the target there is nothing to do.
///
/// # Errors
/// Fails with the kernel's error.
pub fn remove_filters(target: u32, owner: &str) -> Result<(), ControlError> {
    // A longfat that attaches now must not see half of it. Filters are removed also without the lock.
    let _lock = DeviceLock::take(target);
    let removed = remove_marked(target, |by| by == owner);
    removed.map(drop).map_err(ControlError::system("removing the filters"))
}

/// Returns the ids of a device's tcx programs and the revision of their list; `None` if the kernel lacks tcx.
fn tcx_programs(device: u32, side: DeviceSide) -> io::Result<Option<(Vec<u32>, u64)>> {
    match bpf::device_programs(device, side) {
        Err(e) if e.raw_os_error() == Some(EINVAL) => Ok(None),
        found => found.map(Some),
    }
}

/// Fails if another longfat is attached to the target, with either method. Removes the filters of a longfat
/// that no longer runs; returns whether there were any.
fn exclude_others(target: u32) -> Result<bool, ControlError> {
    let taken = || ControlError::Taken { name: LEADERS[0].into() };
    for side in SIDES {
        let programs =
            tcx_programs(target, side).map_err(ControlError::system("the programs of the device"))?;
        // A program that ends in this moment is not a reason to fail.
        let names = programs.into_iter().flat_map(|(ids, _)| ids).filter_map(|id| bpf::program_name(id).ok());
        if names.into_iter().any(|name| LEADERS.contains(&name.as_str())) {
            return Err(taken());
        }
    }
    let failed = ControlError::system("the filters of the device");
    let filters = TrafficControl::new().and_then(|control| marked(&control, target)).map_err(failed)?;
    if filters.iter().any(|(_, _, mark)| device::index(&mark.owner).is_ok()) {
        return Err(taken());
    }
    let removed = remove_marked(target, |owner| device::index(owner).is_err());
    removed.map_err(ControlError::system("removing the filters of a longfat that has ended"))
}

fn attach_link(place: &Place<'_>) -> Result<OwnedFd, ControlError> {
    let failed = |e: io::Error| match e.raw_os_error() {
        Some(EINVAL) => ControlError::Kernel {
            why: "this kernel cannot attach programs to a network device with tcx; Linux 6.6 or later can"
                .into(),
        },
        _ => ControlError::System { what: format!("attaching {}", place.name), source: e },
    };
    for _ in 0..MAX_ATTEMPTS {
        let (_, revision) = bpf::device_programs(place.device, place.side).map_err(failed)?;
        match bpf::attach_to_device(place.program, place.device, place.side, revision) {
            // Somebody else has changed the list since.
            Err(e) if e.raw_os_error() == Some(ESTALE) => {}
            done => return done.map_err(failed),
        }
    }
    Err(failed(io::Error::from_raw_os_error(ESTALE)))
}

fn add_filters(
    target: u32,
    owner: &str,
    places: &[Place<'_>],
) -> Result<Vec<(u32, DeviceSide, String)>, ControlError> {
    let control = TrafficControl::new().map_err(ControlError::system("rtnetlink"))?;
    let (mut added, mut added_clsact) = (Vec::new(), Vec::new());
    for place in places {
        let failed = |e: io::Error| match e.raw_os_error() {
            Some(ENOENT) => lacking(),
            _ => ControlError::System { what: format!("attaching {}", place.name), source: e },
        };
        let without_clsact = |e: io::Error| match e.raw_os_error() {
            // Without queueing disciplines the kernel does not know the request at all.
            Some(EOPNOTSUPP) => lacking(),
            _ => failed(e),
        };
        if control.add_clsact(place.device).map_err(without_clsact)? {
            added_clsact.push(place.device);
        } else if control.ingress_kind(place.device).map_err(failed)?.as_deref() == Some("ingress") {
            return Err(ControlError::Device {
                why: "it has the queueing discipline `ingress`, which has no filters for packets that the device sends; \
                      use `clsact` in its place, which serves the same filters"
                    .into(),
            });
        }
        let name = match place.device == target {
            true => {
                let added_clsact = added_clsact.contains(&target);
                FilterMark { leader: place.name.into(), owner: owner.into(), added_clsact }.to_string()
            }
            // Its device ends with this longfat.
            false => place.name.into(),
        };
        match control.add_filter(place.device, place.side, HANDLE, &name, place.program) {
            Err(e) => {
                let others = control.filters(place.device, place.side).map_err(failed)?;
                return Err(refusal(&e, &others).unwrap_or_else(|| failed(e)));
            }
            Ok(()) => added.push((place.device, place.side, name)),
        }
    }
    Ok(added)
}

fn lacking() -> ControlError {
    ControlError::Kernel {
        why: "this kernel can attach programs to a network device neither with tcx (Linux 6.6) nor with the classic \
              filters of clsact (kernel modules sch_ingress and cls_bpf)"
            .into(),
    }
}

/// Explains why the kernel did not accept a filter next to others.
fn refusal(e: &io::Error, others: &[DeviceFilter]) -> Option<ControlError> {
    let why = match e.raw_os_error()? {
        EEXIST => return Some(ControlError::Taken { name: LEADERS[0].into() }),
        EINVAL => {
            let first = others.iter().find(|other| other.priority == 1)?;
            format!(
                "its filter of kind {} has preference 1, which longfat needs to be the first; give that filter a \
                 higher one (`tc filter … pref 2`)",
                first.kind
            )
        }
        EOPNOTSUPP => {
            "its filters are a block that it shares with other devices (`tc filter show block`)".into()
        }
        _ => return None,
    };
    Some(ControlError::Device { why })
}

/// What the name of a filter on a target records: enough to remove it, also for another longfat.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilterMark {
    leader: String,
    /// A device that exists as long as the longfat that has added the filter.
    owner: String,
    /// Whether that longfat has added `clsact`.
    added_clsact: bool,
}

impl fmt::Display for FilterMark {
    /// Device names contain no colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clsact = if self.added_clsact { ":clsact" } else { "" };
        write!(f, "{}:{}{clsact}", self.leader, self.owner)
    }
}

impl FilterMark {
    fn parse(name: &str) -> Option<FilterMark> {
        let mut parts = name.split(':');
        let (leader, owner, clsact) = (parts.next()?, parts.next()?, parts.next());
        let known = LEADERS.contains(&leader) && !owner.is_empty() && matches!(clsact, None | Some("clsact"));
        known.then(|| FilterMark {
            leader: leader.into(),
            owner: owner.into(),
            added_clsact: clsact.is_some(),
        })
    }
}

/// Lists longfat's filters on a target.
fn marked(control: &TrafficControl, target: u32) -> io::Result<Vec<(DeviceSide, u32, FilterMark)>> {
    let mut found = Vec::new();
    for side in SIDES {
        let filters = control.filters(target, side)?;
        found.extend(filters.iter().filter_map(|f| Some((side, f.handle, FilterMark::parse(&f.name)?))));
    }
    Ok(found)
}

/// Removes longfat's filters of these owners from a target, and `clsact` if one of them has added it and no
/// filter is left. Returns whether there was anything to remove.
fn remove_marked(target: u32, belongs: impl Fn(&str) -> bool) -> io::Result<bool> {
    let control = TrafficControl::new()?;
    let ours = || Ok::<_, io::Error>(marked(&control, target)?.into_iter().filter(|m| belongs(&m.2.owner)));
    let filters: Vec<_> = ours()?.collect();
    let mut failed = None;
    for (side, handle, _) in &filters {
        failed = control.remove_filter(target, *side, *handle).err().or(failed);
    }
    if let Some(e) = failed {
        // What has gone with its device, or was removed by somebody else, is not missed.
        return if ours()?.next().is_some() { Err(e) } else { Ok(true) };
    }
    if filters.iter().any(|(_, _, mark)| mark.added_clsact) {
        let mut left = 0;
        for side in SIDES {
            left += control.filters(target, side)?.len();
        }
        if left == 0 {
            control.remove_clsact(target)?;
        }
    }
    Ok(!filters.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_filter_says_whose_it_is() {
        for added_clsact in [false, true] {
            let mark =
                FilterMark { leader: LEADERS[1].into(), owner: "longfat-0a1b2co".into(), added_clsact };
            assert_eq!(FilterMark::parse(&mark.to_string()), Some(mark));
        }
        assert_eq!(
            FilterMark::parse("longfat_out:longfat-1o:clsact").map(|m| (m.owner, m.added_clsact)),
            Some(("longfat-1o".into(), true))
        );
        for other in ["", "longfat_out", "longfat_guard:x", "cilium:x", "longfat_in:", "longfat_in:x:other"] {
            assert_eq!(FilterMark::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_refused_filter_has_a_reason() {
        let others = [DeviceFilter { kind: "u32".into(), priority: 1, handle: 0, name: String::new() }];
        let why = |code: i32, others: &[DeviceFilter]| {
            refusal(&io::Error::from_raw_os_error(code), others).map(|e| e.to_string())
        };
        assert!(why(EINVAL, &others).is_some_and(|why| why.contains("kind u32")));
        assert_eq!(why(EINVAL, &[]), None, "the kernel's error says more");
        assert!(why(EOPNOTSUPP, &[]).is_some_and(|why| why.contains("shares")));
        assert!(matches!(
            refusal(&io::Error::from_raw_os_error(EEXIST), &others),
            Some(ControlError::Taken { .. })
        ));
        assert!(lacking().to_string().contains("neither"));
    }
}
