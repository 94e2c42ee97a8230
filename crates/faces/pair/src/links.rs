//! All links of one end: which were touched since they were driven last, and when each is due.
//!
//! A turn of the loop looks at these and at no others. Whoever asks for a link to change it touches it: what the library
//! may do next (events to be told, packets to be sent, its timers) changes by that alone.

use crate::link::PairLink;
use noq_proto::ConnectionHandle;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// Links, by the library's number.
#[derive(Default)]
pub struct PairLinks {
    links: HashMap<ConnectionHandle, (PairLink, Option<Instant>)>,
    touched: BTreeSet<ConnectionHandle>,
    due: BTreeSet<(Instant, ConnectionHandle)>,
}

impl PairLinks {
    /// Adds one, which is touched.
    pub fn insert(&mut self, handle: ConnectionHandle, link: PairLink) {
        self.remove(handle);
        self.links.insert(handle, (link, None));
        self.touched.insert(handle);
    }

    /// Takes one away.
    pub fn remove(&mut self, handle: ConnectionHandle) {
        self.touched.remove(&handle);
        if let Some((_, Some(at))) = self.links.remove(&handle) {
            self.due.remove(&(at, handle));
        }
    }

    /// One, to be changed: it is touched.
    pub fn get_mut(&mut self, handle: ConnectionHandle) -> Option<&mut PairLink> {
        let (link, _) = self.links.get_mut(&handle)?;
        self.touched.insert(handle);
        Some(link)
    }

    /// One, to be looked at.
    pub fn get(&self, handle: ConnectionHandle) -> Option<&PairLink> {
        self.links.get(&handle).map(|(link, _)| link)
    }

    /// All of them, to be looked at.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionHandle, &PairLink)> {
        self.links.iter().map(|(handle, (link, _))| (*handle, link))
    }

    /// All of them; nobody is touched: what is changed must be nothing that the library acts upon.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ConnectionHandle, &mut PairLink)> {
        self.links.iter_mut().map(|(handle, (link, _))| (*handle, link))
    }

    /// Touches those that are due.
    pub fn touch_due(&mut self, now: Instant) {
        while let Some((at, handle)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, handle));
            if let Some((_, deadline)) = self.links.get_mut(&handle) {
                *deadline = None;
            }
            self.touched.insert(handle);
        }
    }

    /// Who was touched.
    pub fn touched(&self) -> Vec<ConnectionHandle> {
        self.touched.iter().copied().collect()
    }

    /// One has been driven: until its deadline, or a touch, nothing is to be done about it.
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

    /// When the next is due; at once when somebody is touched.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.touched.is_empty() { self.due.first().map(|(at, _)| *at) } else { Some(now) }
    }
}
