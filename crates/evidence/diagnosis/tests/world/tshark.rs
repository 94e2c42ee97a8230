//! Applies display filters with tshark.

use result::Diagnosis;
use std::collections::BTreeSet;
use std::process::Command;

/// Returns whether tshark is installed, and reports the skipped check if it is not.
pub fn is_installed(test: &str) -> bool {
    let installed = Command::new("tshark").arg("--version").output().is_ok();
    if !installed {
        eprintln!("SKIPPED {test}: tshark is not installed");
    }
    installed
}

/// Returns the numbers of the packets that the filter selects.
pub fn packets_matching(file: &[u8], filter: &str) -> BTreeSet<u32> {
    static FILES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = FILES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("longfat-proof-{}-{number}.pcap", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-Y", filter, "-T", "fields", "-e", "frame.number"]);
    let out = command.output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(out.status.success(), "{filter}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(|n| n.parse().unwrap()).collect()
}

/// Asserts that the filter of each proof selects the proof's packets in tshark. Returns the number of proofs.
pub fn check_proofs(file: &[u8], d: &Diagnosis) -> usize {
    let mut count = 0;
    for f in &d.flows {
        for proof in &f.proofs {
            count += 1;
            assert!(!proof.packets.is_empty() && proof.total >= proof.packets.len() as u64, "{proof:?}");
            let shown = packets_matching(file, &proof.filter);
            let missing: Vec<u32> = proof.packets.iter().copied().filter(|n| !shown.contains(n)).collect();
            assert!(missing.is_empty(), "{} {missing:?} not in {shown:?}: {proof:?}", f.from);
        }
    }
    count
}
