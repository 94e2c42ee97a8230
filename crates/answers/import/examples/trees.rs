//! Compares random trees of HTB classes and TBFs, set up with the real `tc`, with simulations of their
//! imported `tc` output.
//!
//!     sudo target/debug/examples/trees COUNT SEED [FILE.csv [SECONDS [TREE,TREE…]]]
//!
//! For each tree: three network namespaces in a row, the tree on the egress of the middle one, a TCP sender
//! (Reno) and a receiver for each class that is not idle, and the goodput of each class over 6 s (SECONDS)
//! after a warm-up of half that time. A tree with a class that is off by more than 10 % is measured on the
//! kernel again, to see how much the kernel itself varies. Then the output of `tc -s -d … show` is imported,
//! the same flows are simulated, and the goodputs are compared. Senders do not use TSO: tokens are counted
//! packet by packet. Three trees run at a time. Only the CSV remains afterwards.

use congestion::Control;
use import::{Assumed, ImportFormat, ImportSource};
use scenario::{Flow, Scenario};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use units::{Span, Stream};

/// The default length of the measured interval, seconds; the warm-up before it is half as long.
const DEFAULT_SECONDS: u64 = 6;
/// The largest relative difference from the kernel that counts as near.
const MAX_DIFFERENCE: f64 = 0.1;
/// The first class's port.
const PORT: u16 = 5001;
/// Trees measured at a time.
const AT_A_TIME: usize = 3;

/// A tree: its `tc` commands, its leaves as `major:minor`, and which of them send.
struct DrawnTree {
    commands: Vec<String>,
    leaves: Vec<String>,
    sends: Vec<bool>,
}

/// A class's goodputs, Mbit/s of payload.
struct ClassRow {
    class: String,
    kernel: f64,
    simulated: f64,
    /// The second measurement, if there is one.
    again: Option<f64>,
}

/// A tree and its classes, or why it could not be measured.
type MeasuredTree = Result<(DrawnTree, Vec<ClassRow>), String>;

fn run(command: &str) -> Result<String, String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let done = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let done = done.map_err(|e| format!("{command}: {e}"))?;
    if !done.status.success() {
        return Err(format!("{command}: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A random rate between two bounds, kbit/s.
fn kbit(stream: &mut Stream, least: u64, most: u64) -> u64 {
    least + stream.below(most.saturating_sub(least).max(1))
}

fn draw(stream: &mut Stream) -> DrawnTree {
    let total = kbit(stream, 8_000, 60_000);
    let burst = [16, 32, 64][stream.below(3) as usize];
    if stream.chance(0.2) {
        let latency = kbit(stream, 20, 200);
        let tbf = format!(
            "qdisc add dev DEV root handle 1: tbf rate {total}kbit burst {burst}kb latency {latency}ms"
        );
        return DrawnTree { commands: vec![tbf], leaves: vec!["1:".into()], sends: vec![true] };
    }
    let leaves = 2 + stream.below(4) as usize;
    let inner = stream.chance(0.5);
    let mut commands = vec!["qdisc add dev DEV root handle 1: htb default 10".to_string()];
    commands.push(format!(
        "class add dev DEV parent 1: classid 1:1 htb rate {total}kbit burst {burst}kb cburst {burst}kb"
    ));
    if inner {
        let rate = total / 2;
        commands.push(format!(
            "class add dev DEV parent 1:1 classid 1:2 htb rate {rate}kbit ceil {total}kbit burst {burst}kb cburst {burst}kb"
        ));
    }
    let mut drawn = DrawnTree { commands, leaves: Vec::new(), sends: Vec::new() };
    let below_inner = leaves.div_ceil(2);
    for i in 0..leaves {
        let parent = if inner && i < below_inner { "1:2" } else { "1:1" };
        // At most half of the parent's rate is guaranteed to one group.
        let share = match (inner, i < below_inner) {
            (true, true) => total / 2 / below_inner as u64,
            (true, false) => total / 2 / (leaves - below_inner) as u64,
            (false, _) => total / leaves as u64,
        };
        let rate = kbit(stream, share / 4, share).max(500);
        let ceil = if stream.chance(0.7) { kbit(stream, rate, total) } else { total };
        let prio = stream.below(3);
        let id = format!("1:{}", 10 + i);
        let quantum = if stream.chance(0.3) { " quantum 3028" } else { "" };
        drawn.commands.push(format!(
            "class add dev DEV parent {parent} classid {id} htb rate {rate}kbit ceil {ceil}kbit burst {burst}kb cburst {burst}kb prio \
             {prio}{quantum}"
        ));
        if stream.chance(0.3) {
            drawn
                .commands
                .push(format!("qdisc add dev DEV parent {id} pfifo limit {}", 50 + stream.below(200)));
        }
        let port = PORT + i as u16;
        drawn.commands.push(format!(
            "filter add dev DEV parent 1: protocol ip prio 1 u32 match ip dport {port} 0xffff flowid {id}"
        ));
        drawn.leaves.push(id);
        drawn.sends.push(i == 0 || stream.chance(0.75));
    }
    drawn
}

/// Three namespaces in a row: sender, router, receiver; removed when dropped. The tree is not at the sender
/// because the kernel keeps the sender's own queue short (TCP small queues).
struct NamespaceRow {
    names: [String; 3],
}

impl NamespaceRow {
    fn new(number: usize) -> Result<NamespaceRow, String> {
        let row = NamespaceRow { names: ["a", "m", "b"].map(|end| format!("lftree{number}{end}")) };
        let [a, m, b] = &row.names;
        for name in &row.names {
            run(&format!("ip netns add {name}"))?;
            run(&format!("ip netns exec {name} sysctl -qw net.ipv4.tcp_congestion_control=reno"))?;
            run(&format!("ip netns exec {name} sysctl -qw net.ipv4.ip_forward=1"))?;
        }
        for (near, far, net) in [(a, m, 97), (b, m, 98)] {
            run(&format!("ip -n {near} link add v0 type veth peer name v{net} netns {far}"))?;
            run(&format!("ip -n {near} addr add 10.{net}.0.1/24 dev v0"))?;
            run(&format!("ip -n {far} addr add 10.{net}.0.2/24 dev v{net}"))?;
            run(&format!("ip -n {near} link set v0 gso_max_segs 1 up"))?;
            run(&format!("ip -n {far} link set v{net} gso_max_segs 1 up"))?;
            run(&format!("ip -n {near} route add default via 10.{net}.0.2"))?;
        }
        Ok(row)
    }
}

impl Drop for NamespaceRow {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

/// Goodput of each leaf on the kernel, Mbit/s, and the output of `tc`.
fn on_kernel(tree: &DrawnTree, number: usize, seconds: u64) -> Result<(Vec<f64>, String), String> {
    let row = NamespaceRow::new(number)?;
    let [a, m, b] = &row.names;
    for command in &tree.commands {
        run(&format!("tc -n {m} {}", command.replace("DEV", "v98")))?;
    }
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let count = tree.leaves.len();
    let receiver = Command::new("ip")
        .args(["netns", "exec", b])
        .arg(&me)
        .args(["receive", &count.to_string(), &seconds.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    thread::sleep(Duration::from_millis(300));
    let sending = tree.sends.iter().enumerate().filter(|(_, sends)| **sends);
    let ports: Vec<String> = sending.map(|(i, _)| (PORT + i as u16).to_string()).collect();
    let mut sender = Command::new("ip")
        .args(["netns", "exec", a])
        .arg(&me)
        .arg("send")
        .args(&ports)
        .spawn()
        .map_err(|e| e.to_string())?;
    let output = receiver.wait_with_output().map_err(|e| e.to_string())?;
    let mut shown = String::new();
    for what in ["qdisc", "class", "filter"] {
        shown += &run(&format!("tc -n {m} -s -d {what} show dev v98"))?;
    }
    let _ = sender.kill();
    let _ = sender.wait();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let rates: Vec<f64> = output.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    if rates.len() == count {
        Ok((rates, shown))
    } else {
        Err(format!("unexpected output of the receiver: {output}"))
    }
}

/// Receives on `count` ports and prints the goodput of each in the interval, Mbit/s.
fn receive(count: usize, seconds: u64) -> ExitCode {
    let counters: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let counters: &'static [AtomicU64] = counters.leak();
    for (i, counter) in counters.iter().enumerate() {
        let Ok(listener) = TcpListener::bind(("0.0.0.0", PORT + i as u16)) else { return ExitCode::from(2) };
        thread::spawn(move || {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut buffer = vec![0; 1 << 16];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                counter.fetch_add(n as u64, Ordering::Relaxed);
            }
        });
    }
    thread::sleep(Duration::from_millis(500 * seconds + 300));
    let read = || counters.iter().map(|c| c.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let before = read();
    thread::sleep(Duration::from_secs(seconds));
    let mbps = |(after, before): (u64, &u64)| (after - before) as f64 * 8.0 / seconds as f64 / 1e6;
    let rates: Vec<String> = read().into_iter().zip(&before).map(mbps).map(|r| format!("{r:.4}")).collect();
    println!("{}", rates.join(" "));
    ExitCode::SUCCESS
}

/// Sends to these ports until killed.
fn send(ports: &[String]) -> ExitCode {
    let senders: Vec<_> = (ports.iter().cloned())
        .map(|port| {
            thread::spawn(move || {
                let Ok(mut stream) = TcpStream::connect(format!("10.98.0.1:{port}")) else { return };
                let block = vec![7; 1 << 16];
                while stream.write_all(&block).is_ok() {}
            })
        })
        .collect();
    senders.into_iter().for_each(|s| drop(s.join()));
    ExitCode::SUCCESS
}

/// The goodput of each leaf in the simulator, Mbit/s; idle ones 0.
fn simulated(tree: &DrawnTree, shown: &str, seconds: u64) -> Result<Vec<f64>, String> {
    let read_file = |_: &str| Err("none".to_string());
    let source =
        ImportSource { name: "tree.txt", text: shown, own_name: None, values: &[], read_file: &read_file };
    let (from, to) = (Span::from_millis(500 * seconds), Span::from_millis(1500 * seconds));
    let duration = Some(to);
    let cc = Control::named("reno").ok_or("no congestion control named reno")?;
    let assumed = Assumed { rtt: Some(Span::from_millis(1)), line: None, duration, cc };
    let imported =
        import::import(&source, Some(ImportFormat::Tc), &assumed).map_err(|e| format!("{e}\n{shown}"))?;
    if let Some(n) = imported.not_understood.first() {
        return Err(format!("line {} was not read: {}\n{shown}", n.line, n.why));
    }
    let whole = &imported.experiment.variants[0].scenario;
    let place = |id: &String| {
        let name = format!("-{}", id.trim_end_matches(':').replace(':', "-"));
        let tbf = tree.leaves.len() == 1;
        whole.flows.iter().position(|f| tbf || f.name.ends_with(&name))
    };
    let places: Vec<Option<usize>> = tree.leaves.iter().map(place).collect();
    let mut kept: Vec<(usize, Flow)> = Vec::new();
    for (i, at) in places.iter().enumerate() {
        let at = at.ok_or_else(|| format!("class {} has no flow\n{shown}", tree.leaves[i]))?;
        if tree.sends[i] {
            kept.push((i, whole.flows[at].clone()));
        }
    }
    let measure = Some([from, to]);
    let flows = kept.iter().map(|(_, f)| f.clone()).collect();
    let mut hosts = whole.hosts.clone();
    hosts.iter_mut().for_each(|h| h.stack.tso = Some(false));
    let scenario = Scenario { flows, measure, hosts, ..whole.clone() };
    let outcome = sim::run("tree", &scenario, sim::SimOptions { seed: 1, ..Default::default() });
    let mut rates = vec![0.0; tree.leaves.len()];
    for ((i, _), flow) in kept.iter().zip(&outcome.variant.flows) {
        rates[*i] = flow.goodput_mbps;
    }
    Ok(rates)
}

fn one(number: usize, seed: u64, seconds: u64) -> MeasuredTree {
    let tree = draw(&mut Stream::new(seed, &format!("tree {number}")));
    let (kernel, shown) = on_kernel(&tree, number, seconds)?;
    let simulated = simulated(&tree, &shown, seconds)?;
    let far =
        (0..kernel.len()).any(|i| tree.sends[i] && difference(simulated[i], kernel[i]) > MAX_DIFFERENCE);
    let again = if far { Some(on_kernel(&tree, number, seconds)?.0) } else { None };
    let rows = (tree.leaves.iter().enumerate()).filter(|(i, _)| tree.sends[*i]);
    let row = |(i, class): (usize, &String)| ClassRow {
        class: class.clone(),
        kernel: kernel[i],
        simulated: simulated[i],
        again: again.as_ref().map(|rates| rates[i]),
    };
    let rows = rows.map(row).collect();
    Ok((tree, rows))
}

/// The relative difference from the kernel.
fn difference(mbps: f64, kernel: f64) -> f64 {
    (mbps - kernel).abs() / kernel.max(0.01)
}

impl ClassRow {
    fn difference(&self) -> f64 {
        difference(self.simulated, self.kernel)
    }

    /// A line of the CSV.
    fn line(&self, tree: usize) -> String {
        let again = self.again.map_or_else(String::new, |mbps| format!("{mbps:.3}"));
        format!(
            "{tree},{},{:.3},{:.3},{:.4},{again}\n",
            self.class,
            self.kernel,
            self.simulated,
            self.difference()
        )
    }
}

/// Measures all trees, in order.
fn measure(trees: &[usize], seed: u64, seconds: u64) -> Vec<(usize, MeasuredTree)> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(tree) = trees.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = one(*tree, seed, seconds);
                    if let Ok(mut all) = all.lock() {
                        all.push((*tree, done));
                    }
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap_or_default();
    all.sort_by_key(|(i, _)| *i);
    all
}

/// Prints the classes that are far off, and their tree.
fn print_far(number: usize, tree: &DrawnTree, rows: &[ClassRow]) {
    for row in rows.iter().filter(|r| r.difference() > MAX_DIFFERENCE) {
        let again = row.again.map_or_else(String::new, |mbps| format!(", kernel again {mbps:.3}"));
        println!(
            "tree {number} class {}: kernel {:.3}, simulated {:.3}{again}",
            row.class, row.kernel, row.simulated
        );
    }
    if rows.iter().any(|r| r.difference() > MAX_DIFFERENCE) {
        tree.commands.iter().for_each(|c| println!("    {c}"));
        println!("    sends: {:?}", tree.sends);
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["receive", count, seconds] => {
            return receive(count.parse().unwrap_or(0), seconds.parse().unwrap_or(DEFAULT_SECONDS));
        }
        ["send", ..] => return send(&args[1..]),
        _ => {}
    }
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<u64>().ok());
    let (Some(count), Some(seed)) = (number(0), number(1)) else {
        eprintln!("trees COUNT SEED [FILE.csv [SECONDS [TREE,TREE…]]]");
        return ExitCode::from(2);
    };
    let chosen = args.get(4).map(|list| list.split(',').filter_map(|n| n.parse().ok()).collect());
    let trees: Vec<usize> = chosen.unwrap_or_else(|| (0..count as usize).collect());
    let all = measure(&trees, seed, number(3).unwrap_or(DEFAULT_SECONDS));
    let mut csv = "tree,class,kernel_mbps,simulated_mbps,apart,kernel_again_mbps\n".to_string();
    let (mut classes, mut near, mut failed, mut unstable) = (0, 0, 0, 0);
    for (i, done) in &all {
        match done {
            Ok((tree, rows)) => {
                classes += rows.len();
                for row in rows {
                    csv += &row.line(*i);
                    near += usize::from(row.difference() <= MAX_DIFFERENCE);
                    let differs =
                        row.again.is_some_and(|again| difference(again, row.kernel) > MAX_DIFFERENCE);
                    unstable += usize::from(row.difference() > MAX_DIFFERENCE && differs);
                }
                print_far(*i, tree, rows);
            }
            Err(why) => {
                failed += 1;
                println!("tree {i}: {why}");
            }
        }
    }
    println!(
        "{classes} classes of {} trees: {near} within 10 % of the kernel; of the others, {unstable} also differ between the \
         kernel's own two runs; {failed} trees failed",
        all.len() - failed
    );
    if let Some(path) = args.get(2)
        && let Err(e) = std::fs::write(path, csv)
    {
        eprintln!("{path}: {e}");
        return ExitCode::from(2);
    }
    ExitCode::from(u8::from(failed > 0 || near * 10 < classes * 9))
}
