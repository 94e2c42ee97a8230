//! Tests on the real kernel, as root: `make netns`.
#![allow(unsafe_code)]

mod apply;
mod traffic;

use kernel_cc::{Before, Kernel, Loaded};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A control with a constant window, only for tests.
const STEADY: &[u8] = include_bytes!("steady.bpf.o");

fn has(name: &str) -> bool {
    Kernel::now().has(name)
}

/// Sends over loopback with this control. Returns the sender's final window in packets.
fn transfer(control: &str) -> u32 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    set_control(&from, control).unwrap();
    let (mut to, _) = listener.accept().unwrap();
    let reader = std::thread::spawn(move || io::copy(&mut to, &mut io::sink()).unwrap());
    let sent = vec![7; 4 << 20];
    from.write_all(&sent).unwrap();
    let window = window(&from);
    from.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(reader.join().unwrap(), sent.len() as u64);
    window
}

fn set_control(socket: &TcpStream, control: &str) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of one string.
    let done = unsafe {
        let (at, len) = (control.as_ptr().cast(), control.len() as libc::socklen_t);
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, at, len)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns `tcpi_snd_cwnd`.
fn window(socket: &TcpStream) -> u32 {
    let mut info = [0u8; 256];
    let mut len = info.len() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of one array.
    let done = unsafe {
        let at = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &mut len)
    };
    assert_eq!(done, 0);
    u32::from_ne_bytes(info[80..84].try_into().unwrap())
}

/// Waits for a condition, because the kernel releases resources a moment after a process dies.
fn eventually(what: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while !what() {
        if started.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn every_program_loads_carries_data_and_unloads() {
    for entry in kernel_cc::REGISTRY {
        let loaded = Loaded::load(entry.name, &[]).unwrap_or_else(|e| panic!("{e}"));
        let name = loaded.kernel_name().to_string();
        assert!(has(&name), "{name}");
        assert!(transfer(&name) > 0);
        drop(loaded);
        assert!(eventually(|| !has(&name)), "{name} is still there");
    }
}

#[test]
fn two_instances_have_their_own_parameters() {
    let load = |window| {
        Loaded::load_object("steady", STEADY, &[("window", window)]).unwrap_or_else(|e| panic!("{e}"))
    };
    let (a, b) = (load(7), load(31));
    assert_ne!(a.kernel_name(), b.kernel_name());
    assert_eq!(transfer(a.kernel_name()), 7);
    assert_eq!(transfer(b.kernel_name()), 31);
    let (a_name, b_name) = (a.kernel_name().to_string(), b.kernel_name().to_string());
    drop(a);
    assert!(eventually(|| !has(&a_name)) && has(&b_name));
    // The number of a dropped instance is free again.
    assert_eq!(load(9).kernel_name(), a_name);
}

/// A thread without its user's capabilities may choose the control; `cubic` only if
/// `tcp_allowed_congestion_control` lists it.
#[test]
fn unprivileged_programs_may_choose_a_loaded_control() {
    let loaded = Loaded::load_object("steady", STEADY, &[("window", 5)]).unwrap();
    let name = loaded.kernel_name().to_string();
    let chosen = std::thread::spawn(move || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // SAFETY: no pointers. The system call itself, unlike libc's function, changes this thread alone.
        let done = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        assert_eq!(done, 0);
        let cubic = set_control(&socket, "cubic").is_ok();
        (set_control(&socket, &name).is_ok(), cubic)
    });
    let cubic = Kernel::now().allowed.iter().any(|name| name == "cubic");
    assert_eq!(chosen.join().unwrap(), (true, cubic));
}

/// A socket keeps its control; new sockets cannot choose it.
#[test]
fn sockets_keep_an_unloaded_control() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let loaded = Loaded::load_object("steady", STEADY, &[("window", 5)]).unwrap();
    let name = loaded.kernel_name().to_string();
    set_control(&socket, &name).unwrap();
    drop(loaded);
    assert!(eventually(|| !has(&name)));
    let (mut to, _) = listener.accept().unwrap();
    socket.write_all(&[1; 1000]).unwrap();
    to.read_exact(&mut [0; 1000]).unwrap();
    assert_eq!(window(&socket), 5);
    assert!(set_control(&TcpStream::connect(listener.local_addr().unwrap()).unwrap(), &name).is_err());
}

#[test]
fn invalid_parameters_are_rejected_by_name() {
    let e = Loaded::load_object("steady", STEADY, &[("wind", 7)]).unwrap_err().to_string();
    assert!(e.contains("`wind`") && e.contains("window, pacing_rate"), "{e}");
    let e = Loaded::load_object("steady", STEADY, &[("window", 1 << 32)]).unwrap_err().to_string();
    assert!(e.contains("at most 4294967295"), "{e}");
}

/// All threads see the same free name; the later ones take the next.
#[test]
fn threads_that_load_concurrently_get_different_names() {
    let start = std::sync::Barrier::new(6);
    let load = || {
        start.wait();
        Loaded::load_object("steady", STEADY, &[]).unwrap_or_else(|e| panic!("{e}"))
    };
    let loaded: Vec<Loaded> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(load)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut names: Vec<&str> = loaded.iter().map(Loaded::kernel_name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 6);
    assert!(names.iter().all(|name| has(name)));
}

/// A member that no kernel has: the verifier's log names the source line, and the error names the member.
#[test]
fn a_rejected_program_is_reported_with_the_verifiers_reasons() {
    let mut object = STEADY.to_vec();
    let name = object.windows(10).position(|w| w == b"\0snd_cwnd\0").unwrap(); // `cong_control` sets it
    object[name + 1] = b'X';
    let e = Loaded::load_object("steady", &object, &[]).unwrap_err().to_string();
    assert!(e.contains("the kernel rejected the eBPF program of steady: cong_control: "), "{e}");
    assert!(e.contains("; ") && e.contains("tp->snd_cwnd"), "{e}");
    assert!(e.contains("this kernel has no tcp_sock.Xnd_cwnd"), "{e}");
}

/// Runs as the child of [`a_killed_process_leaves_nothing`].
#[test]
fn hold_an_instance() {
    if std::env::var_os("HOLD_AN_INSTANCE").is_none() {
        return;
    }
    let loaded = Loaded::load_object("steady", STEADY, &[]).unwrap();
    println!("\nholding {}", loaded.kernel_name());
    io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_process_leaves_nothing() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["hold_an_instance", "--exact", "--nocapture"])
        .env("HOLD_AN_INSTANCE", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = String::new();
    let out = child.stdout.as_mut().unwrap();
    while !output.ends_with('\n') || !output.contains("holding ") {
        let mut byte = [0];
        out.read_exact(&mut byte).expect("the child prints its instance");
        output.push(byte[0] as char);
    }
    let name = output.rsplit("holding ").next().unwrap().trim().to_string();
    assert!(has(&name), "{name}");
    assert_eq!(kernel_cc::owner(&name), Some(child.id()));
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(eventually(|| !has(&name)), "{name} is still there");
}

#[test]
fn a_control_loaded_for_all_stays_until_it_is_unloaded() {
    let load = |window| kernel_cc::load_object_for_all("steady", STEADY, &[("window", window)]).unwrap();
    let windows = || {
        let parameters = kernel_cc::parameters_of("steady").unwrap();
        parameters.iter().find(|p| p.name == "window").unwrap().value
    };
    let _ = kernel_cc::unload("steady"); // left over from an interrupted test
    let first = load(6);
    assert_eq!(first.before, Before::Nothing);
    assert_eq!((transfer("steady"), windows()), (6, 6));
    assert_eq!(load(6).before, Before::Same);
    assert_eq!(load(8).before, Before::Other);
    assert_eq!((transfer("steady"), windows()), (8, 8));
    assert!(kernel_cc::pinned().contains(&"steady".to_string()));
    kernel_cc::unload("steady").unwrap();
    assert!(eventually(|| !has("steady")) && !kernel_cc::is_pinned("steady"));
    assert!(kernel_cc::unload("steady").unwrap_err().to_string().contains("not loaded"));
    if first.mounted {
        assert!(Command::new("umount").arg("/sys/fs/bpf").status().unwrap().success());
    }
}

/// A foreign control with the same name is left unchanged.
#[test]
fn a_name_in_use_is_reported() {
    let e = kernel_cc::load_object_for_all("cubic", STEADY, &[]).unwrap_err().to_string();
    assert!(e.contains("already has a congestion control cubic"), "{e}");
    assert!(!kernel_cc::is_pinned("cubic") && has("cubic"));
}
