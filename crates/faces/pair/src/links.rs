//! All links of one end: which have been touched since they were last driven, and when each is due.
//!
//! A turn of the loop only handles those. Getting a link to change it touches it; nothing else changes what
//! the library may do next (report events, send packets, set timers).

use crate::link::PairLink;
use noq_proto::ConnectionHandle;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// Links by the library's handle.
#[derive(Default)]
pub struct PairLinks {
    links: HashMap<ConnectionHandle, (PairLink, Option<Instant>)>,
    touched: BTreeSet<ConnectionHandle>,
    due: BTreeSet<(Instant, ConnectionHandle)>,
}

impl PairLinks {
    /// Adds a link and touches it.
    pub fn insert(&mut self, handle: ConnectionHandle, link: PairLink) {
        self.remove(handle);
        self.links.insert(handle, (link, None));
        self.touched.insert(handle);
    }

    /// Removes a link.
    pub fn remove(&mut self, handle: ConnectionHandle) {
        self.touched.remove(&handle);
        if let Some((_, Some(at))) = self.links.remove(&handle) {
            self.due.remove(&(at, handle));
        }
    }

    /// A link to be changed; this touches it.
    pub fn get_mut(&mut self, handle: ConnectionHandle) -> Option<&mut PairLink> {
        let (link, _) = self.links.get_mut(&handle)?;
        self.touched.insert(handle);
        Some(link)
    }

    /// A link, read only.
    pub fn get(&self, handle: ConnectionHandle) -> Option<&PairLink> {
        self.links.get(&handle).map(|(link, _)| link)
    }

    /// All links, read only.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionHandle, &PairLink)> {
        self.links.iter().map(|(handle, (link, _))| (*handle, link))
    }

    /// All links, without touching them: only change what does not affect the library.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ConnectionHandle, &mut PairLink)> {
        self.links.iter_mut().map(|(handle, (link, _))| (*handle, link))
    }

    /// Touches the links that are due.
    pub fn touch_due(&mut self, now: Instant) {
        while let Some((at, handle)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, handle));
            if let Some((_, deadline)) = self.links.get_mut(&handle) {
                *deadline = None;
            }
            self.touched.insert(handle);
        }
    }

    /// The links that were touched.
    pub fn touched(&self) -> Vec<ConnectionHandle> {
        self.touched.iter().copied().collect()
    }

    /// A link has been driven: there is nothing to do until its deadline or a touch.
    pub fn settle(&mut self, handle: ConnectionHandle) {
        let Some((link, deadline)) = self.links.get_mut(&handle) else { return };
        self.touched.remove(&handle);
        let next = link.deadline();
        if *deadline == next {
            return;
        }
        if let Some(at) = std::mem::replace(deadline, next) {
            self.due.remove(&(at, handle));
        }
        self.due.extend(next.map(|at| (at, handle)));
    }

    /// When the next link is due; now if one is touched.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.touched.is_empty() { self.due.first().map(|(at, _)| *at) } else { Some(now) }
    }
}
