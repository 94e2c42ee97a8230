//! On the real kernel, as root: `make netns`.
#![allow(unsafe_code)]

use kernel_cc::{Before, Kernel, Loaded};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A window that never changes, for tests alone.
const STEADY: &[u8] = include_bytes!("steady.bpf.o");

fn has(name: &str) -> bool {
    Kernel::now().has(name)
}

/// Sends over loopback with this control; the sender's window in packets at the end.
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

/// `tcpi_snd_cwnd`.
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

/// The kernel drops what a dead process held a moment after its death.
fn soon(what: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !what() {
        if begun.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[test]
fn every_program_is_accepted_carries_data_and_goes() {
    for entry in kernel_cc::REGISTRY {
        let loaded = Loaded::load(entry.name, &[]).unwrap_or_else(|e| panic!("{e}"));
        let name = loaded.kernel_name().to_string();
        assert!(has(&name), "{name}");
        assert!(transfer(&name) > 0);
        drop(loaded);
        assert!(soon(|| !has(&name)), "{name} is still there");
    }
}

#[test]
fn two_instances_have_their_own_parameters() {
    let load = |window| Loaded::of("steady", STEADY, &[("window", window)]).unwrap_or_else(|e| panic!("{e}"));
    let (a, b) = (load(7), load(31));
    assert_ne!(a.kernel_name(), b.kernel_name());
    assert_eq!(transfer(a.kernel_name()), 7);
    assert_eq!(transfer(b.kernel_name()), 31);
    let (a_name, b_name) = (a.kernel_name().to_string(), b.kernel_name().to_string());
    drop(a);
    assert!(soon(|| !has(&a_name)) && has(&b_name));
    // Its number is free again.
    assert_eq!(load(9).kernel_name(), a_name);
}

/// A thread that gave up its user, and so its capabilities, may choose it; `cubic` is for the privileged
/// where `tcp_allowed_congestion_control` does not name it.
#[test]
fn programs_without_privileges_may_choose_it() {
    let loaded = Loaded::of("steady", STEADY, &[("window", 5)]).unwrap();
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

/// A socket keeps the control it has; new ones cannot have it.
#[test]
fn sockets_outlive_their_control() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let loaded = Loaded::of("steady", STEADY, &[("window", 5)]).unwrap();
    let name = loaded.kernel_name().to_string();
    set_control(&socket, &name).unwrap();
    drop(loaded);
    assert!(soon(|| !has(&name)));
    let (mut to, _) = listener.accept().unwrap();
    socket.write_all(&[1; 1000]).unwrap();
    to.read_exact(&mut [0; 1000]).unwrap();
    assert_eq!(window(&socket), 5);
    assert!(set_control(&TcpStream::connect(listener.local_addr().unwrap()).unwrap(), &name).is_err());
}

#[test]
fn parameters_that_cannot_be_are_refused_by_name() {
    let e = Loaded::of("steady", STEADY, &[("wind", 7)]).unwrap_err().to_string();
    assert!(e.contains("`wind`") && e.contains("window, pacing_rate"), "{e}");
    let e = Loaded::of("steady", STEADY, &[("window", 1 << 32)]).unwrap_err().to_string();
    assert!(e.contains("at most 4294967295"), "{e}");
}

/// Each sees the same free name; who is later takes the next.
#[test]
fn threads_that_load_at_once_get_names_of_their_own() {
    let start = std::sync::Barrier::new(6);
    let load = || {
        start.wait();
        Loaded::of("steady", STEADY, &[]).unwrap_or_else(|e| panic!("{e}"))
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

/// A member that no kernel has: the verifier's words name the source line, and the member is told.
#[test]
fn what_the_kernel_refuses_is_told_with_its_reasons() {
    let mut object = STEADY.to_vec();
    let name = object.windows(10).position(|w| w == b"\0snd_cwnd\0").unwrap(); // `cong_control` sets it
    object[name + 1] = b'X';
    let e = Loaded::of("steady", &object, &[]).unwrap_err().to_string();
    assert!(e.contains("the kernel refused the eBPF program of steady: cong_control: "), "{e}");
    assert!(e.contains("; ") && e.contains("tp->snd_cwnd"), "{e}");
    assert!(e.contains("this kernel has no tcp_sock.Xnd_cwnd"), "{e}");
}

/// Plays the child of [`a_killed_process_leaves_nothing`].
#[test]
fn hold_an_instance() {
    if std::env::var_os("HOLD_AN_INSTANCE").is_none() {
        return;
    }
    let loaded = Loaded::of("steady", STEADY, &[]).unwrap();
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
    let mut said = String::new();
    let out = child.stdout.as_mut().unwrap();
    while !said.ends_with('\n') || !said.contains("holding ") {
        let mut byte = [0];
        out.read_exact(&mut byte).expect("it tells what it holds");
        said.push(byte[0] as char);
    }
    let name = said.rsplit("holding ").next().unwrap().trim().to_string();
    assert!(has(&name), "{name}");
    assert_eq!(kernel_cc::owner(&name), Some(child.id()));
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(soon(|| !has(&name)), "{name} is still there");
}

#[test]
fn what_is_loaded_for_all_stays_until_it_is_unloaded() {
    let load = |window| kernel_cc::load_object_for_all("steady", STEADY, &[("window", window)]).unwrap();
    let windows = || {
        let parameters = kernel_cc::parameters_of("steady").unwrap();
        parameters.iter().find(|p| p.name == "window").unwrap().value
    };
    let _ = kernel_cc::unload("steady"); // of an interrupted test
    let first = load(6);
    assert_eq!(first.before, Before::Nothing);
    assert_eq!((transfer("steady"), windows()), (6, 6));
    assert_eq!(load(6).before, Before::Same);
    assert_eq!(load(8).before, Before::Other);
    assert_eq!((transfer("steady"), windows()), (8, 8));
    assert!(kernel_cc::pinned().contains(&"steady".to_string()));
    kernel_cc::unload("steady").unwrap();
    assert!(soon(|| !has("steady")) && !kernel_cc::is_pinned("steady"));
    assert!(kernel_cc::unload("steady").unwrap_err().to_string().contains("not loaded"));
    if first.mounted {
        assert!(Command::new("umount").arg("/sys/fs/bpf").status().unwrap().success());
    }
}

/// A control of another's making with the same name is left alone.
#[test]
fn a_name_that_is_taken_is_told() {
    let e = kernel_cc::load_object_for_all("cubic", STEADY, &[]).unwrap_err().to_string();
    assert!(e.contains("already has a congestion control cubic"), "{e}");
    assert!(!kernel_cc::is_pinned("cubic") && has("cubic"));
}
