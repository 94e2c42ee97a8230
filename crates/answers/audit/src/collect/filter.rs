//! Whether the packet filter of the calling thread's namespace changes the MSS of forwarded connections.
//!
//! | rule | how it is detected |
//! |---|---|
//! | nft `tcp option maxseg size set …` | an expression `exthdr` that writes TCP option 2 |
//! | iptables-nft `-j TCPMSS` | an expression `target` of that name |
//! | iptables-legacy `-j TCPMSS` | the namespace has its own tables (/proc/net/ip_tables_names) and the kernel has the target. Whether a rule uses it is not checked, so the answer is unknown |

use super::list::dump;
use linux::netlink::{Service, attribute, attributes, text};
use std::{fs, io};

/// `NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE` (linux/netfilter/nf_tables.h).
const GETRULE: u16 = 10 << 8 | 7;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_TARGET_NAME: u16 = 1;
const NFTA_EXTHDR_TYPE: u16 = 2;
const NFTA_EXTHDR_OP: u16 = 6;
const NFTA_EXTHDR_SREG: u16 = 7;
const NFT_EXTHDR_OP_TCPOPT: u32 = 1;
const TCPOPT_MAXSEG: u8 = 2;
/// Bytes of `nfgenmsg`; zeros select all address families.
const NFGENMSG_BYTES: usize = 4;

/// Returns whether a rule changes the MSS; `None` where that is unknown.
pub fn clamps_mss() -> Option<bool> {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let has_target = read("ip_tables_targets").lines().any(|l| l.trim() == "TCPMSS");
    if has_target && !read("ip_tables_names").trim().is_empty() {
        return None;
    }
    let mut found = false;
    let listed = dump(Service::Netfilter, GETRULE, &[0; NFGENMSG_BYTES], &mut |m| found |= changes_mss(m));
    match listed {
        Ok(()) => Some(found),
        // A kernel without nftables has no such rules.
        Err(e)
            if [Some(libc::EOPNOTSUPP), Some(libc::EPROTONOSUPPORT), Some(libc::EINVAL)]
                .contains(&e.raw_os_error()) =>
        {
            Some(false)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// Whether a rule changes the MSS.
fn changes_mss(message: &[u8]) -> bool {
    let Some(expressions) =
        message.get(NFGENMSG_BYTES..).and_then(|rest| attribute(rest, NFTA_RULE_EXPRESSIONS))
    else {
        return false;
    };
    attributes(expressions)
        .filter(|(kind, _)| *kind == NFTA_LIST_ELEM)
        .any(|(_, e)| expression_changes_mss(e))
}

fn expression_changes_mss(e: &[u8]) -> bool {
    let (name, data) =
        (attribute(e, NFTA_EXPR_NAME).map(text), attribute(e, NFTA_EXPR_DATA).unwrap_or_default());
    match name.as_deref() {
        Some("target") => attribute(data, NFTA_TARGET_NAME).map(text).as_deref() == Some("TCPMSS"),
        Some("exthdr") => {
            let big =
                |kind| attribute(data, kind).and_then(|v| v.first_chunk().map(|b| u32::from_be_bytes(*b)));
            let option = attribute(data, NFTA_EXTHDR_TYPE).and_then(|v| v.first().copied());
            big(NFTA_EXTHDR_OP) == Some(NFT_EXTHDR_OP_TCPOPT)
                && option == Some(TCPOPT_MAXSEG)
                && attribute(data, NFTA_EXTHDR_SREG).is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::netlink::written;

    fn with(name: &str, data: &[Vec<u8>]) -> Vec<u8> {
        let e = [
            written(NFTA_EXPR_NAME, format!("{name}\0").as_bytes()),
            written(NFTA_EXPR_DATA, &data.concat()),
        ]
        .concat();
        let list =
            [written(NFTA_LIST_ELEM, &written(NFTA_EXPR_NAME, b"meta\0")), written(NFTA_LIST_ELEM, &e)]
                .concat();
        [vec![0; NFGENMSG_BYTES], written(NFTA_RULE_EXPRESSIONS, &list)].concat()
    }

    #[test]
    fn rules_that_change_the_mss_are_recognised() {
        assert!(changes_mss(&with("target", &[written(NFTA_TARGET_NAME, b"TCPMSS\0")])));
        assert!(!changes_mss(&with("target", &[written(NFTA_TARGET_NAME, b"MASQUERADE\0")])));
        let tcp = written(NFTA_EXTHDR_OP, &1u32.to_be_bytes());
        let maxseg = written(NFTA_EXTHDR_TYPE, &[2]);
        let writes = written(NFTA_EXTHDR_SREG, &1u32.to_be_bytes());
        assert!(changes_mss(&with("exthdr", &[tcp.clone(), maxseg.clone(), writes.clone()])));
        // Reading the option, or another option, changes nothing.
        assert!(!changes_mss(&with("exthdr", &[tcp.clone(), maxseg])));
        assert!(!changes_mss(&with("exthdr", &[tcp, written(NFTA_EXTHDR_TYPE, &[8]), writes])));
        let whole = with("target", &[written(NFTA_TARGET_NAME, b"TCPMSS\0")]);
        (0..whole.len()).for_each(|n| {
            changes_mss(&whole[..n]);
        });
    }
}
