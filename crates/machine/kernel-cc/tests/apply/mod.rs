//! The programs of `longfat apply` on sockets of this test.

use crate::set_control;
use kernel_cc::{ApplyConfig, ApplyPrograms};
use linux::namespace;
use linux::sock_diag::Diag;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// The mount point of the cgroup v2 hierarchy.
fn groups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = mounts.lines().find(|l| l.split(' ').nth(2) == Some("cgroup2"))?;
    line.split(' ').nth(1).map(PathBuf::from)
}

/// A connection over loopback in the calling thread's namespace; the connecting end has this control.
fn connection(control: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    set_control(&from, control).unwrap();
    (from, listener.accept().unwrap().0)
}

/// Cookie and congestion control of the socket with this local port.
fn seen(port: u16) -> (u64, String) {
    let mut all = Vec::new();
    Diag::new().unwrap().dump(&mut all).unwrap();
    let sock = all.into_iter().find(|s| s.local.port() == port && !s.listens()).unwrap();
    (sock.cookie, sock.cc)
}

fn in_own_network(test: impl FnOnce() + Send) {
    std::thread::scope(|s| {
        s.spawn(|| {
            namespace::enter_new_network().unwrap();
            // A socket keeps the pacing of its namespace's default control: Reno does not pace.
            fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").unwrap();
            assert!(
                std::process::Command::new("ip")
                    .args(["link", "set", "lo", "up"])
                    .status()
                    .unwrap()
                    .success()
            );
            test();
        })
        .join()
        .unwrap();
    });
}

#[test]
fn a_socket_is_changed_and_put_back_entirely() {
    in_own_network(|| {
        let config =
            ApplyConfig { control: Some("bbr".into()), pacing: Some(1_000_000), ..ApplyConfig::default() };
        let programs = ApplyPrograms::load(&config).unwrap_or_else(|e| panic!("{e}"));
        let (a, _a) = connection("cubic");
        let (b, _b) = connection("cubic");
        let [(a, _), (b, _)] = [&a, &b].map(|s| seen(s.local_addr().unwrap().port()));
        let find = |cookie| programs.list().unwrap().into_iter().find(|s| s.cookie == cookie).unwrap();
        let before = find(a);
        assert_eq!((before.pacing, before.is_paced), (None, false));
        assert!(before.group > 0);

        programs.change([a].into_iter()).unwrap();
        let changed = programs.changed().unwrap();
        assert_eq!(changed.len(), 1);
        assert_eq!((changed[0].cookie, changed[0].control.as_str(), changed[0].is_new), (a, "cubic", false));
        assert_eq!((find(a).pacing, find(a).is_paced), (Some(1_000_000), true));
        assert_eq!(find(b).pacing, None);
        // What is changed already keeps what it had first.
        programs.change([a].into_iter()).unwrap();
        assert_eq!(programs.changed().unwrap(), changed);

        let restored = programs.restore().unwrap();
        assert_eq!(restored.len(), 1);
        let r = restored[0];
        assert_eq!((r.cookie, r.is_others, r.has_failed), (a, false, false));
        assert_eq!(r.stays_paced, !programs.can_end_pacing());
        assert_eq!(find(a), before);
        assert!(programs.restore().unwrap().is_empty() && programs.changed().unwrap().is_empty());
        assert_eq!(programs.failures().unwrap(), [0, 0]);
    });
}

#[test]
fn what_somebody_else_has_set_since_is_left() {
    in_own_network(|| {
        let config = ApplyConfig { control: Some("bbr".into()), ..ApplyConfig::default() };
        let programs = ApplyPrograms::load(&config).unwrap_or_else(|e| panic!("{e}"));
        let (socket, _other) = connection("cubic");
        let port = socket.local_addr().unwrap().port();
        programs.change([seen(port).0].into_iter()).unwrap();
        assert_eq!(seen(port).1, "bbr");
        set_control(&socket, "reno").unwrap();
        let restored = programs.restore().unwrap();
        assert!(restored.len() == 1 && restored[0].is_others, "{restored:?}");
        assert_eq!(seen(port).1, "reno");
    });
}

#[test]
fn new_connections_of_a_namespace_and_port_are_changed_while_the_link_exists() {
    let Some(groups) = groups() else { return eprintln!("SKIPPED: no cgroup v2 is mounted") };
    in_own_network(|| {
        use std::os::unix::fs::MetadataExt;
        let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino() as u32;
        let listeners = ["127.0.0.1:0", "[::]:0"].map(|at| TcpListener::bind(at).unwrap());
        let [chosen, other] = listeners.each_ref().map(|l| l.local_addr().unwrap().port());
        let connect = |port: u16| TcpStream::connect(("127.0.0.1", port)).unwrap();
        let of = |s: &TcpStream| seen(s.local_addr().unwrap().port()).1;
        for (namespace, port, is_changed) in
            [(namespace, chosen, true), (namespace, other, false), (namespace + 1, chosen, false)]
        {
            let config = ApplyConfig {
                control: Some("cubic".into()),
                namespace: Some(namespace),
                hosts: vec![("127.0.0.0".parse().unwrap(), 8)],
                ports: vec![chosen],
                ..ApplyConfig::default()
            };
            let programs = ApplyPrograms::load(&config).unwrap_or_else(|e| panic!("{e}"));
            let link = programs.attach(File::open(&groups).unwrap().as_fd()).unwrap();
            let socket = connect(port);
            assert_eq!(of(&socket), if is_changed { "cubic" } else { "reno" }, "{namespace} {port}");
            drop(link);
            assert_eq!(of(&connect(port)), "reno");
            let changed = programs.changed().unwrap();
            // Both ends, as both are in this namespace.
            assert_eq!(changed.len(), if is_changed { 2 } else { 0 });
            assert!(changed.iter().all(|c| c.is_new && c.namespace == namespace && c.control == "reno"));
            programs.restore().unwrap();
            assert_eq!(of(&socket), "reno");
        }
        // IPv4 that arrives at an IPv6 socket matches as IPv4.
        let config = ApplyConfig {
            control: Some("cubic".into()),
            namespace: Some(namespace),
            hosts: vec![("127.0.0.1".parse().unwrap(), 32)],
            ports: vec![other],
            ..ApplyConfig::default()
        };
        let programs = ApplyPrograms::load(&config).unwrap_or_else(|e| panic!("{e}"));
        let _link = programs.attach(File::open(&groups).unwrap().as_fd()).unwrap();
        let _socket = connect(other);
        assert_eq!(programs.changed().unwrap().len(), 2);
    });
}
