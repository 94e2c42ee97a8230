//! Server and clients of `benches/proxy_stress.py`, each a process with its own descriptors
//! (`tests/kernel/swarm.rs`).
//!
//! stress serve PORT                                                    echoes every stream, including its
//! end stress swarm ADDR CONCURRENT TOTAL SECONDS SEED KILLED SLOW LONGEST  prints the outcomes as JSON
//!
//! KILLED and SLOW are connections per thousand; TOTAL 0 means as many as SECONDS permit; LONGEST is the
//! longest stream in bytes.

#[path = "../tests/kernel/swarm.rs"]
mod swarm;

use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use swarm::{Swarm, echo};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| -> u64 { args[i].parse().unwrap_or_else(|e| panic!("{}: {e}", args[i])) };
    let never = AtomicBool::new(false);
    match args.first().map(String::as_str) {
        Some("serve") => {
            let listener = TcpListener::bind(("127.0.0.1", number(1) as u16)).expect("a free port");
            echo(&listener, &never).expect("the echo server runs");
        }
        Some("swarm") => {
            let swarm = Swarm {
                concurrent: number(2) as usize,
                total: number(3),
                time: Duration::from_secs(number(4)),
                seed: number(5),
                killed: number(6),
                slow: number(7),
                longest: number(8),
            };
            let c = swarm.run(args[1].parse().expect("an address"), &never).expect("the swarm runs");
            println!(
                "{{\"finished\": {}, \"killed\": {}, \"reset\": {}, \"wrong\": {}, \"short\": {}, \"stuck\": {}, \"bytes\": {}, \"open\": {}}}",
                c.finished, c.killed, c.reset, c.wrong, c.short, c.stuck, c.bytes, c.open
            );
        }
        _ => panic!("see the comment at the top of this file for usage"),
    }
}
