//! The hosts that links name, and their indexes.

use crate::file::{LinkTable, Named};
use crate::model::Host;
use document::{Fault, Node, RefusalCause, check_name};
use std::collections::BTreeMap;

/// The error that both ends of a link, flow or relayed connection are the same host.
pub(crate) fn same_host(host: &str) -> RefusalCause {
    RefusalCause::Conflict { message: format!("both ends are the host `{host}`") }
}

/// The hosts in the order in which links first name them, with an index by name.
pub(crate) struct Hosts {
    pub list: Vec<Host>,
    index: BTreeMap<String, usize>,
}

impl Hosts {
    pub(crate) fn from_links(root: &Node, links: &Named<LinkTable>) -> Result<Hosts, Fault> {
        let mut hosts = Hosts { list: Vec::new(), index: BTreeMap::new() };
        for (link, table) in &links.0 {
            for (end, host) in table.between.iter().enumerate() {
                let at = root.place(&["links", link, "between", &end.to_string()]);
                check_name(host, at)?;
                hosts.index.entry(host.clone()).or_insert_with(|| {
                    hosts.list.push(Host::plain(host.clone()));
                    hosts.list.len() - 1
                });
            }
            if table.between[0] == table.between[1] {
                return Err(root.fault(&["links", link, "between"], same_host(&table.between[0])));
            }
        }
        Ok(hosts)
    }
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
    pub(crate) fn names(&self) -> Vec<String> {
        self.list.iter().map(|h| h.name.clone()).collect()
    }
    pub(crate) fn find(&self, root: &Node, path: &[&str], name: &str) -> Result<usize, Fault> {
        let unknown = || RefusalCause::UnknownName { what: "host", name: name.into(), known: self.names() };
        self.get(name).ok_or_else(|| root.fault(path, unknown()))
    }
}
