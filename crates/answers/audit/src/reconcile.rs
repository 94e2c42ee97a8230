//! Reconciles the findings' values, so that their commands do not contradict each other.
//!
//! Rules propose values for one namespace at a time, and some copy the host's. In a report, all findings set
//! the largest value that any of them needs, and a copy of the host's value uses the value that the report
//! proposes for the host.

use crate::change::PlacedSetting;
use crate::facts::HostFacts;
use crate::finding::{AuditFinding, FindingLevel};
use result::LinuxSetting;

/// A value that a finding proposes.
struct Wanted {
    namespace: String,
    name: String,
    value: String,
    /// Whether the value is copied from the host, without a judgement of its merit.
    copied: bool,
    /// Whether the value is the best of several that were simulated.
    best: bool,
}

/// Gives every setting a single value and rewrites the commands. Drops findings that have nothing left to
/// change, and notes that only repeat the commands of another finding.
pub fn reconcile(host: &HostFacts, findings: &mut Vec<AuditFinding>) {
    let wanted: Vec<Wanted> = findings.iter().flat_map(wants).collect();
    let initial = host.initial().map(|ns| ns.name.as_str());
    findings.retain_mut(|finding| {
        if finding.settings.is_empty() {
            return true;
        }
        for placed in &mut finding.settings {
            let namespace = placed.namespace.clone();
            if let LinuxSetting::Sysctl { name, to, .. } = &mut placed.setting
                && let Some(value) = value(&wanted, initial, &namespace, name)
            {
                *to = value;
            }
        }
        finding.settings.retain(|placed| !changes_nothing(placed));
        finding.write_remedies();
        !finding.settings.is_empty()
    });
    drop_repeated(findings);
}

fn wants(finding: &AuditFinding) -> impl Iterator<Item = Wanted> {
    let best = finding.proposal.as_ref().is_some_and(|p| p.alternatives);
    finding.settings.iter().filter_map(move |placed| match &placed.setting {
        LinuxSetting::Sysctl { name, to, .. } => Some(Wanted {
            namespace: placed.namespace.clone(),
            name: name.clone(),
            value: to.clone(),
            copied: placed.copied,
            best,
        }),
        _ => None,
    })
}

/// Returns the value of a setting in a namespace.
fn value(wanted: &[Wanted], initial: Option<&str>, namespace: &str, name: &str) -> Option<String> {
    let of_name = || wanted.iter().filter(|w| w.name == name);
    let here = || of_name().filter(|w| w.namespace == namespace);
    let everywhere: Option<Vec<Vec<u64>>> = of_name().map(|w| numbers(&w.value)).collect();
    let Some(everywhere) = everywhere else {
        // For a word: the best simulated value, else the one a rule proposes here, else the one for the host,
        // else the host's current value.
        let judged = |namespace: &str| {
            let all = || of_name().filter(|w| w.namespace == namespace && !w.copied);
            all().find(|w| w.best).or(all().next())
        };
        let host = || initial.and_then(judged);
        return judged(namespace).or_else(host).or(here().next()).map(|w| w.value.clone());
    };
    // For numbers: the last one is the limit that findings are about; the others are the namespace's own.
    let last = everywhere.iter().filter_map(|n| n.last()).max()?;
    let mut all: Vec<u64> = here()
        .filter_map(|w| numbers(&w.value))
        .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.max(b)).collect())?;
    *all.last_mut()? = *last;
    Some(all.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
}

/// Parses a value as whole numbers; `None` if a word of it is not a number.
fn numbers(value: &str) -> Option<Vec<u64>> {
    value.split(' ').map(|word| word.parse().ok()).collect()
}

fn changes_nothing(placed: &PlacedSetting) -> bool {
    matches!(&placed.setting, LinuxSetting::Sysctl { from: Some(from), to, .. } if from == to)
}

/// Drops a note whose commands are all those of a problem or of an earlier note. A problem always stays,
/// because it says what the setting costs.
fn drop_repeated(findings: &mut Vec<AuditFinding>) {
    let all: Vec<(FindingLevel, Vec<String>)> = findings.iter().map(|f| (f.level, f.commands())).collect();
    let mut index = 0;
    findings.retain(|f| {
        let at = index;
        index += 1;
        let repeats = |(i, (level, commands)): (usize, &(FindingLevel, Vec<String>))| {
            let comes_first = *level == FindingLevel::Problem || i < at;
            i != at && comes_first && f.commands().iter().all(|c| commands.contains(c))
        };
        f.level == FindingLevel::Problem || f.commands().is_empty() || !all.iter().enumerate().any(repeats)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::sysctl;
    use crate::facts::NamespaceFacts;
    use crate::finding::FindingLevel::{Note, Problem};
    use crate::fixtures::{clean, host};

    const RMEM: &str = "net.ipv4.tcp_rmem";
    const CONTROL: &str = "net.ipv4.tcp_congestion_control";

    fn finding(level: FindingLevel, ns: &NamespaceFacts, change: LinuxSetting) -> AuditFinding {
        AuditFinding::new(level, ns, "x".into(), "y").with_settings(ns, &[change])
    }

    fn copied(level: FindingLevel, ns: &NamespaceFacts, change: LinuxSetting) -> AuditFinding {
        AuditFinding::new(level, ns, "x".into(), "y").with_copied(ns, &[change])
    }

    fn reconciled_commands(mut findings: Vec<AuditFinding>) -> Vec<(Vec<String>, Vec<String>)> {
        reconcile(&host(vec![clean("host"), clean("web"), clean("db")]), &mut findings);
        findings.into_iter().map(|f| (f.commands(), f.undo())).collect()
    }

    #[test]
    fn all_findings_set_the_largest_value_that_one_of_them_needs() {
        let (own, mut web) = (clean("host"), clean("web"));
        web.settings.set(RMEM, "4096 65536 262144");
        let found = reconciled_commands(vec![
            copied(Problem, &web, sysctl(&web, RMEM, "4096 131072 6291456")),
            finding(Problem, &web, sysctl(&web, RMEM, "4096 65536 3145728")),
            finding(Problem, &own, sysctl(&own, RMEM, "4096 131072 50331648")),
        ]);
        let set = "ip netns exec web sysctl -w 'net.ipv4.tcp_rmem=4096 131072 50331648'";
        let undo = "ip netns exec web sysctl -w 'net.ipv4.tcp_rmem=4096 65536 262144'";
        for both in &found[..2] {
            assert_eq!(both, &(vec![set.to_string()], vec![undo.to_string()]));
        }
        assert_eq!(found[2].0, ["sysctl -w 'net.ipv4.tcp_rmem=4096 131072 50331648'"]);
        assert_eq!(found[2].1, ["sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"]);
    }

    /// The host has SACK turned off, which is a problem there and must not be copied to other namespaces.
    #[test]
    fn a_wrong_value_of_the_host_is_not_copied() {
        let (mut own, web) = (clean("host"), clean("web"));
        let sack = "net.ipv4.tcp_sack";
        own.settings.set(sack, "0");
        let found = reconciled_commands(vec![
            copied(Note, &web, sysctl(&web, sack, "0")),
            finding(Problem, &own, sysctl(&own, sack, 1)),
        ]);
        assert_eq!(
            found,
            [(vec!["sysctl -w net.ipv4.tcp_sack=1".into()], vec![format!("sysctl -w {sack}=0")])]
        );
    }

    #[test]
    fn proposed_words_take_precedence_and_copies_use_the_hosts_new_value() {
        let (own, mut web) = (clean("host"), clean("web"));
        web.settings.set(CONTROL, "reno");
        let copy = || copied(Problem, &web, sysctl(&web, CONTROL, "cubic"));
        let proposal = |ns: &NamespaceFacts, to: &str| finding(Problem, ns, sysctl(ns, CONTROL, to));
        let controls = |found: Vec<AuditFinding>| -> Vec<String> {
            let commands = reconciled_commands(found).into_iter().flat_map(|(commands, _)| commands);
            commands.filter_map(|c| c.split('=').nth(1).map(str::to_string)).collect()
        };
        assert_eq!(controls(vec![copy(), proposal(&own, "bbr")]), ["bbr", "bbr"]);
        assert_eq!(
            controls(vec![copy(), proposal(&web, "vegas"), proposal(&own, "bbr")]),
            ["vegas", "vegas", "bbr"]
        );
        assert_eq!(controls(vec![copy()]), ["cubic"]);
        // The host gets the value that this namespace has already, so nothing is left to do here.
        assert_eq!(controls(vec![copy(), proposal(&own, "reno")]), ["reno"]);
    }

    #[test]
    fn a_note_that_repeats_commands_is_dropped_and_a_problem_stays() {
        let web = clean("web");
        let same = |level| finding(level, &web, sysctl(&web, "net.ipv4.tcp_mtu_probing", 1));
        assert_eq!(reconciled_commands(vec![same(Note), same(Note)]).len(), 1);
        assert_eq!(reconciled_commands(vec![same(Note), same(Problem)]).len(), 1);
        assert_eq!(reconciled_commands(vec![same(Problem), same(Problem)]).len(), 2);
    }
}
