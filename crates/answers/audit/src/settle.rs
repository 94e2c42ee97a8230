//! One value for each setting: what several findings say to type must not contradict itself.
//!
//! Rules propose values one namespace at a time, and some copy the host's. In one report the largest value that any finding
//! needs is the one that all of them set, and a copy of the host's value is a copy of what the report makes of the host.

use crate::change::PlacedSetting;
use crate::facts::HostFacts;
use crate::finding::{AuditFinding, FindingLevel};
use result::LinuxSetting;

/// A value that a finding would set.
struct Wanted {
    namespace: String,
    name: String,
    value: String,
    /// The host's value, not a judgement.
    copied: bool,
    /// The best of several that were simulated.
    best: bool,
}

/// Gives every setting one value, writes the commands of that, and drops findings that have nothing left to change, and notes
/// that only repeat the commands of another finding.
pub fn settle(host: &HostFacts, findings: &mut Vec<AuditFinding>) {
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

/// The one value of a setting in a namespace.
fn value(wanted: &[Wanted], initial: Option<&str>, namespace: &str, name: &str) -> Option<String> {
    let of_name = || wanted.iter().filter(|w| w.name == name);
    let here = || of_name().filter(|w| w.namespace == namespace);
    let everywhere: Option<Vec<Vec<u64>>> = of_name().map(|w| numbers(&w.value)).collect();
    let Some(everywhere) = everywhere else {
        // A word: what was simulated, else what was judged here, else what the host is to have, else what it has.
        let judged = |namespace: &str| {
            let all = || of_name().filter(|w| w.namespace == namespace && !w.copied);
            all().find(|w| w.best).or(all().next())
        };
        let host = || initial.and_then(judged);
        return judged(namespace).or_else(host).or(here().next()).map(|w| w.value.clone());
    };
    // The last number is the limit that findings are about; the others are a namespace's own.
    let last = everywhere.iter().filter_map(|n| n.last()).max()?;
    let mut all: Vec<u64> = here()
        .filter_map(|w| numbers(&w.value))
        .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| *a.max(b)).collect())?;
    *all.last_mut()? = *last;
    Some(all.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
}

/// The value as whole numbers; `None` if some word of it is not one.
fn numbers(value: &str) -> Option<Vec<u64>> {
    value.split(' ').map(|word| word.parse().ok()).collect()
}

fn changes_nothing(placed: &PlacedSetting) -> bool {
    matches!(&placed.setting, LinuxSetting::Sysctl { from: Some(from), to, .. } if from == to)
}

/// Drops a note with no commands but those of a problem, or of an earlier note. A problem always stays: it says what the
/// setting costs, which the other one does not.
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
    use crate::made_up::{clean, host};

    const RMEM: &str = "net.ipv4.tcp_rmem";
    const CONTROL: &str = "net.ipv4.tcp_congestion_control";

    fn finding(level: FindingLevel, ns: &NamespaceFacts, change: LinuxSetting) -> AuditFinding {
        AuditFinding::new(level, ns, "x".into(), "y").with_settings(ns, &[change])
    }

    fn copied(level: FindingLevel, ns: &NamespaceFacts, change: LinuxSetting) -> AuditFinding {
        AuditFinding::new(level, ns, "x".into(), "y").with_copied(ns, &[change])
    }

    fn settled(mut findings: Vec<AuditFinding>) -> Vec<(Vec<String>, Vec<String>)> {
        settle(&host(vec![clean("host"), clean("web"), clean("db")]), &mut findings);
        findings.into_iter().map(|f| (f.commands(), f.undo())).collect()
    }

    #[test]
    fn the_largest_value_that_any_finding_needs_is_set_by_all() {
        let (own, mut web) = (clean("host"), clean("web"));
        web.settings.set(RMEM, "4096 65536 262144");
        let found = settled(vec![
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

    /// The host has no SACK, which is a problem there: no other namespace is to get that.
    #[test]
    fn what_is_wrong_on_the_host_is_not_copied() {
        let (mut own, web) = (clean("host"), clean("web"));
        let sack = "net.ipv4.tcp_sack";
        own.settings.set(sack, "0");
        let found = settled(vec![
            copied(Note, &web, sysctl(&web, sack, "0")),
            finding(Problem, &own, sysctl(&own, sack, 1)),
        ]);
        assert_eq!(
            found,
            [(vec!["sysctl -w net.ipv4.tcp_sack=1".into()], vec![format!("sysctl -w {sack}=0")])]
        );
    }

    #[test]
    fn of_words_the_judged_one_is_set_and_a_copy_is_of_the_new_host() {
        let (own, mut web) = (clean("host"), clean("web"));
        web.settings.set(CONTROL, "reno");
        let copy = || copied(Problem, &web, sysctl(&web, CONTROL, "cubic"));
        let of = |ns: &NamespaceFacts, to: &str| finding(Problem, ns, sysctl(ns, CONTROL, to));
        let controls = |found: Vec<AuditFinding>| -> Vec<String> {
            let commands = settled(found).into_iter().flat_map(|(commands, _)| commands);
            commands.filter_map(|c| c.split('=').nth(1).map(str::to_string)).collect()
        };
        assert_eq!(controls(vec![copy(), of(&own, "bbr")]), ["bbr", "bbr"]);
        assert_eq!(controls(vec![copy(), of(&web, "vegas"), of(&own, "bbr")]), ["vegas", "vegas", "bbr"]);
        assert_eq!(controls(vec![copy()]), ["cubic"]);
        // The host gets what this namespace has already: nothing is left to do here.
        assert_eq!(controls(vec![copy(), of(&own, "reno")]), ["reno"]);
    }

    #[test]
    fn a_note_that_repeats_commands_goes_and_a_problem_stays() {
        let web = clean("web");
        let same = |level| finding(level, &web, sysctl(&web, "net.ipv4.tcp_mtu_probing", 1));
        assert_eq!(settled(vec![same(Note), same(Note)]).len(), 1);
        assert_eq!(settled(vec![same(Note), same(Problem)]).len(), 1);
        assert_eq!(settled(vec![same(Problem), same(Problem)]).len(), 2);
    }
}
