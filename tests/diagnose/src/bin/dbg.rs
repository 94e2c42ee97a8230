//! Scratch.
use capture::{Tracker, TrackerOptions, diagnose_tracks};
use diagnose_test::{draw, line::Line, play, score, watch::Sink};
struct Tr(Tracker);
impl Sink for Tr {
    fn packet(&mut self, p: &capture::Packet) {
        self.0.packet(p);
    }
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let count: u64 = args[1].parse().unwrap();
    let only: Option<Vec<u64>> = args.get(2).map(|s| s.split(',').filter_map(|x| x.parse().ok()).collect());
    let nums: Vec<u64> = only.clone().unwrap_or((0..count).collect());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let all = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| loop {
        let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let Some(n) = nums.get(i) else { break };
        let mut sink = Tr(Tracker::new(TrackerOptions::default()));
        let truth = play(&draw::case(std::env::var("SET").ok().and_then(|s| s.parse().ok()).unwrap_or(1), *n), &mut sink).unwrap();
        let mut tracks = Vec::new();
        sink.0.finish(&mut tracks);
        let t0 = std::time::Instant::now();
        let diag = diagnose_tracks(tracks, Default::default());
        let took = t0.elapsed().as_secs_f64();
        let lines: Vec<Line> = truth.flows.iter().map(|f| Line { case: truth.number.to_string(), vantage: truth.vantage.to_string(), flows: truth.flows.len(), meant: truth.meant.to_string(), rate: truth.rate_mbps, ..Line::of(f, &diag) }).collect();
        let mut text = String::new();
        for (f, l) in truth.flows.iter().zip(&lines) {
            let said = diag.flows.iter().find(|x| x.from == f.from && x.to == f.to);
            let polwrong = l.policed.is_some_and(|p| p != l.says_policed());
            if l.is_right() == Some(false) || polwrong || only.is_some() || l.burst_error().is_some_and(|e| e.abs() > 0.2) || l.rate_error().is_some_and(|e| e.abs() > 0.03) {
                text += &format!("{} {} [{}] {} meant {} {:.2}M off {} | TRUE {:?} right {:?} lost {:?} lim {:?} | SAID {:?} found {:?} {:?} {:?} cc {:?}\n", if polwrong {"POL"} else if l.is_right()==Some(false) {"BAD"} else {"lim"}, truth.number, truth.vantage, f.from, truth.meant, truth.rate_mbps, truth.offload,
                  &f.shares, f.right, f.lost, f.limiter.as_ref().map(|x| (x.kind.to_string(), x.rate_mbps, x.burst_bytes)), said.map(|x| x.causes.iter().take(4).map(|c| (c.cause.name(), (c.share*100.0) as i32)).collect::<Vec<_>>()), l.found.kind, l.found.rate, l.found.burst.map(|b| b as i64), said.map(|x| (x.cc.name.clone(), (x.cc.confidence*100.0) as i32)));
                if only.is_some() { text += &format!("   {:?}\n   {:?}\n", said.map(|s| &s.measures), diag.limiters); }
            }
        }
        all.lock().unwrap().push((*n, text, lines, took));
    });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_by_key(|a| a.0);
    for a in &all {
        print!("{}", a.1);
    }
    let lines: Vec<&Line> = all.iter().flat_map(|a| &a.2).collect();
    println!("{}", score::tables(&lines));
    println!(
        "verdict s {:.2} worst {:.2}",
        all.iter().map(|a| a.3).sum::<f64>(),
        all.iter().map(|a| a.3).fold(0.0, f64::max)
    );
}
