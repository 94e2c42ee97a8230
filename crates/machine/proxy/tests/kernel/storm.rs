//! A short stress test (`benches/proxy_stress.py` is the long one): hundreds of connections whose every byte
//! is checked, slow readers, one in a hundred killed, storms of resets, reloads, a server that goes away and
//! returns. No byte is lost, nothing remains.

use crate::common::{config, descriptors, start, until};
use crate::swarm::{Swarm, SwarmCount, echo};
use proxy::{Proxy, ProxyCounter};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const SWARM: Swarm = Swarm {
    concurrent: 300,
    total: 0,
    time: Duration::from_secs(3),
    seed: 1,
    killed: 10,
    slow: 50,
    longest: 1 << 20,
};

/// Runs a swarm and a storm of resets through a proxy that is reloaded ten times a second.
fn run_swarms(proxy: &mut Proxy, address: SocketAddr, server: SocketAddr, swarm: Swarm) -> [SwarmCount; 2] {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stop = &stop;
        let quiet = scope.spawn(move || swarm.run(address, stop).expect("the swarm runs"));
        let storm = Swarm { concurrent: 20, seed: swarm.seed + 1, killed: 1000, slow: 0, ..swarm };
        let storm = scope.spawn(move || storm.run(address, stop).expect("the swarm runs"));
        while !quiet.is_finished() || !storm.is_finished() {
            proxy.reload(&config_at(address, server)).expect("the proxy reloads the same configuration");
            thread::sleep(Duration::from_millis(100));
        }
        [quiet, storm].map(|t| t.join().expect("the thread does not panic"))
    })
}

fn config_at(address: SocketAddr, server: SocketAddr) -> proxy::ProxyConfig {
    let mut config = config(server);
    for listener in config.listeners.values_mut() {
        listener.listen.0 = vec![proxy::ListenAt::Address(address)];
    }
    config
}

/// Starts a proxy on a known address, because a reload must name it.
fn proxy_for_server(server: SocketAddr) -> (Proxy, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    (start(&config_at(free, server)), free)
}

#[test]
fn no_byte_is_lost_and_nothing_remains() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (server, stop) = (listener.local_addr().expect("its address"), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| echo(&listener, &stop));
        let (mut proxy, address) = proxy_for_server(server);
        run_swarms(
            &mut proxy,
            address,
            server,
            Swarm { time: Duration::from_millis(500), seed: 100, ..SWARM },
        );
        until("the first have ended", || proxy.connections() == 0);
        let before = descriptors();
        let [quiet, storm] = run_swarms(&mut proxy, address, server, SWARM);
        eprintln!("{quiet:?}\n{storm:?}");
        assert!(quiet.finished > 1000 && quiet.killed > 0 && storm.killed > 1000, "{quiet:?} {storm:?}");
        assert_eq!((quiet.reset, quiet.wrong, quiet.short, quiet.stuck), (0, 0, 0, 0), "{quiet:?}");
        assert_eq!((storm.reset, storm.wrong, storm.short, storm.stuck), (0, 0, 0, 0), "{storm:?}");
        until("the end", || proxy.connections() == 0);
        until("no pipes", || proxy.counted(ProxyCounter::Pipes) == 0);
        until("as few descriptors", || descriptors() <= before + 64);
        stop.store(true, Relaxed);
    });
}

/// Without a server connections are reset; none ends normally. Once a server is back they work again.
#[test]
fn an_absent_server_causes_resets_only() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = listener.local_addr().expect("its address");
    let (mut proxy, address) = proxy_for_server(server);
    let stop = AtomicBool::new(false);
    let swarm = Swarm { concurrent: 100, killed: 0, seed: 7, ..SWARM };
    thread::scope(|scope| {
        let flap = scope.spawn(|| {
            let mut listener = Some(listener);
            while !stop.load(Relaxed) {
                let here = listener
                    .take()
                    .unwrap_or_else(|| TcpListener::bind(server).expect("the server binds its port again"));
                let leave = AtomicBool::new(false);
                thread::scope(|scope| {
                    scope.spawn(|| echo(&here, &leave));
                    thread::sleep(Duration::from_millis(600));
                    leave.store(true, Relaxed);
                });
                drop(here);
                thread::sleep(Duration::from_millis(200));
            }
        });
        let [quiet, storm] = run_swarms(&mut proxy, address, server, swarm);
        stop.store(true, Relaxed);
        flap.join().expect("the thread does not panic");
        eprintln!("{quiet:?}\n{storm:?}");
        assert!(quiet.reset > 0 && quiet.finished > 100, "{quiet:?}");
        assert_eq!((quiet.wrong, quiet.stuck, storm.wrong, storm.stuck), (0, 0, 0, 0), "{quiet:?} {storm:?}");
        until("the end", || proxy.connections() == 0);
    });
}
