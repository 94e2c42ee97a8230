use super::*;
use crate::{Batch, End, Reader};
use std::collections::{BTreeMap, HashMap};

fn naive(path: &std::path::Path) -> Vec<(End, Vec<Arrival>, f64)> {
    let mut r = Reader::open(path).unwrap();
    let mut b = Batch::default();
    let mut all = Vec::new();
    while r.fill(&mut b) {
        all.append(&mut b.packets);
        b.too_big.clear();
    }
    all.append(&mut b.packets);
    let mut flows: BTreeMap<(End, End), (u64, Vec<usize>)> = BTreeMap::new();
    for (i, p) in all.iter().enumerate() {
        let e = flows.entry((p.src, p.dst)).or_default();
        e.0 += p.len as u64;
        e.1.push(i);
    }
    let mut out = Vec::new();
    for ((s, d), (bytes, idx)) in &flows {
        if *bytes < 200_000 {
            continue;
        }
        let mut arr: Vec<Arrival> = Vec::new();
        let mut seen: HashMap<u32, usize> = HashMap::new();
        let t0 = all[0].time.as_nanos();
        let mut pend: BTreeMap<u32, usize> = BTreeMap::new();
        let mut base = f32::INFINITY;
        let back = flows.get(&(*d, *s)).map(|b| b.1.clone()).unwrap_or_default();
        let mut j = 0;
        for &i in idx {
            let p = &all[i];
            while j < back.len() && back[j] < i {
                let a = &all[back[j]];
                let keys: Vec<u32> = pend
                    .range(..)
                    .map(|x| *x.0)
                    .take_while(|k| (a.ack.wrapping_sub(*k) as i32) > 0)
                    .collect();
                for k in keys {
                    let x = pend.remove(&k).unwrap();
                    let t = (a.time.as_nanos() - t0) as f64 * 1e-9;
                    arr[x].rtt = (t - arr[x].at) as f32;
                    base = base.min(arr[x].rtt);
                }
                j += 1;
            }
            if p.len == 0 {
                continue;
            }
            let at = (p.time.as_nanos() - t0) as f64 * 1e-9;
            let mss = 1448.min(p.len);
            let mut seq = p.seq;
            let mut left = p.len;
            while left > 0 {
                let n = mss.min(left);
                let again = seen.insert(seq, arr.len());
                if let Some(o) = again {
                    arr[o].lost = true;
                    arr[o].rtt = f32::NAN;
                    pend.remove(&seq);
                } else {
                    pend.insert(seq, arr.len());
                }
                arr.push(Arrival {
                    at,
                    bytes: (n + p.header as u32) as f32,
                    size: (n + p.header as u32) as f32,
                    lost: false,
                    rtt: f32::NAN,
                    flow: 0,
                });
                seq = seq.wrapping_add(n);
                left -= n;
            }
        }
        out.push((*s, arr, base as f64));
    }
    out
}

#[test]
fn probe() {
    let dir = std::env::var("USC").unwrap_or_default();
    if dir.is_empty() {
        return;
    }
    let every: usize = std::env::var("EVERY").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let pat = std::env::var("PAT").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.to_string_lossy().contains("pcap") && p.to_string_lossy().contains(&pat))
        .collect();
    files.sort();
    for f in files.iter().step_by(every) {
        let name = f.file_name().unwrap().to_string_lossy().to_string();
        let short: String = name
            .split('-')
            .filter(|s| {
                ["CD1", "CD", "PCIR", "PBC", "SCIR", "SBC", "LOSS", "XT"].iter().any(|k| s.starts_with(k))
            })
            .collect::<Vec<_>>()
            .join(" ");
        println!("== {short}");
        let flows = naive(f);
        let mut joint: Vec<Arrival> = Vec::new();
        let mut base = 1.0f64;
        for (s, arr, b) in &flows {
            base = base.min(*b);
            let found = find(arr, Path { base: *b, rtt: *b * 1.2, behind: true });
            show(&s.to_string(), arr, found);
            joint.extend(arr.iter().copied());
        }
        if flows.len() > 1 {
            joint.sort_by(|a, b| a.at.total_cmp(&b.at));
            show("joint", &joint, find(&joint, Path { base, rtt: base * 1.2, behind: true }));
        }
    }
}
fn show(name: &str, arr: &[Arrival], f: Option<Found>) {
    let lost = arr.iter().filter(|a| a.lost).count();
    match f {
        None => {
            let b = fit(arr, 0.06);
            println!(
                "  {name} n {} lost {lost} NONE {:?}",
                arr.len(),
                b.map(|b| (
                    b.gain as i32,
                    b.explained,
                    b.chance,
                    (b.rate * 8.0 / 1e3) as i64,
                    b.burst as i64
                ))
            )
        }
        Some(f) => println!(
            "  {name} n {} lost {lost} {:?} {:.0}k burst {:?} conf {:.2} gain {:.0} expl {:.2} chance {:.2} against {:?}",
            arr.len(),
            f.kind,
            f.rate * 8e-3,
            f.burst.map(|b| b as i64),
            f.confidence,
            f.bucket.map_or(0.0, |b| b.gain),
            f.bucket.map_or(0.0, |b| b.explained),
            f.bucket.map_or(0.0, |b| b.chance),
            f.against.map(|a| (a.slope as f32, a.knee as i64, a.left as f32))
        ),
    }
}
