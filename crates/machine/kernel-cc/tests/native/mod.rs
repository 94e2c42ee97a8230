//! Drives an eBPF control, compiled for this machine, as a [`Controller`]: the same source that the kernel
//! runs, with `host/kernel.c` in place of the kernel.
#![allow(unsafe_code)] // a shared object's functions are called

use congestion::{AckEvent, CaState, Control, Controller, Event, HZ, Probe, RateSample, Socket, Window};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use units::{Span, Stream, Time};

/// `TCP_INFINITE_SSTHRESH`, for which the models use `u32::MAX`.
const INFINITE: u32 = 0x7fff_ffff;

/// Inputs and outputs of a call, as in `host/kernel.c`.
#[repr(C)]
#[derive(Default)]
struct View {
    now_ns: u64,
    delivered_us: u64,
    departure_ns: u64,
    pacing_rate: u64,
    max_pacing_rate: u64,
    cwnd: u32,
    cwnd_cnt: u32,
    cwnd_clamp: u32,
    ssthresh: u32,
    prior_cwnd: u32,
    snd_una: u32,
    snd_nxt: u32,
    mss: u32,
    inflight: u32,
    delivered: u32,
    lost: u32,
    app_limited: u32,
    srtt_eighths: u32,
    min_rtt_us: u32,
    last_sent: u32,
    state: u32,
    limited: u32,
    pacing_status: u32,
    pacing_shift: u32,
    ece: u32,
    rtt_us: i32,
    acked: u32,
    losses: u32,
    prior_delivered: u32,
    rate_delivered: i32,
    rate_interval_us: i32,
    prior_in_flight: u32,
    rate_flags: u32,
}

/// The operations, numbered as in `host/kernel.c`.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Op {
    Init,
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    CongControl,
    UndoCwnd,
    MinTsoSegs,
    SndbufExpand,
}

/// `struct host_probe` of `kernel.h`.
#[repr(C)]
struct HostProbe {
    state: *const c_char,
    btl_bw: u64,
    rt_prop_us: u64,
    pacing_gain: u64,
    round: u64,
}

/// States that programs report.
const STATES: [&str; 4] = ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"];

type HostProbeCall = unsafe extern "C" fn(*const c_void, *mut HostProbe);
type HostCall = unsafe extern "C" fn(*mut c_void, u32, *mut View, u32) -> u32;
type HostHas = unsafe extern "C" fn(u32) -> bool;

/// The control of one connection.
pub struct Native {
    name: &'static str,
    library: *mut c_void,
    socket: *mut c_void,
    call: HostCall,
    has: HostHas,
    probe: Option<HostProbeCall>,
    /// The random draws: those of the model's stream.
    random: Option<(Stream, u64)>,
}

// SAFETY: library and socket belong to this value alone, and neither depends on the thread.
unsafe impl Send for Native {}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the socket came from calloc, the library from dlopen; nothing uses them any more.
        unsafe {
            libc::free(self.socket);
            libc::dlclose(self.library);
        }
    }
}

/// Numbers of this process's files.
static FILES: AtomicU32 = AtomicU32::new(0);

fn library_path(file: &str) -> PathBuf {
    let n = FILES.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}-{}-{n}.so", std::process::id()))
}

/// A program compiled for this machine.
pub struct Object {
    name: &'static str,
    path: PathBuf,
}

impl Drop for Object {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Object {
    /// Compiles `bpf/FILE.bpf.c` as a control called `name`.
    pub fn compile(name: &'static str, file: &str) -> Object {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = library_path(file);
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-std=gnu11", "-DHOST", "-O1", "-g", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]);
        cc.args(["-Wl,-Bsymbolic", "-I"]).arg(root.join("bpf"));
        cc.arg(root.join(format!("bpf/{file}.bpf.c"))).arg(root.join("tests/host/kernel.c"));
        let out = cc.arg("-o").arg(&path).output().expect("a C compiler (cc, or $CC)");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Object { name, path }
    }

    /// Opens a control for one connection, with its own copy of the library: a library opened twice is
    /// shared, so each control needs its own file.
    pub fn open(&self) -> Native {
        let copy = library_path(self.name);
        std::fs::copy(&self.path, &copy).unwrap();
        let path = CString::new(copy.to_str().unwrap()).unwrap();
        // SAFETY: the path is a C string; the library runs nothing when it is opened.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        std::fs::remove_file(&copy).unwrap();
        assert!(!library.is_null(), "{}", copy.display());
        // SAFETY: these are the signatures in host/kernel.c.
        unsafe {
            let make: unsafe extern "C" fn() -> *mut c_void =
                std::mem::transmute(symbol(library, c"host_socket".as_ptr()));
            let call: HostCall = std::mem::transmute(symbol(library, c"host_call".as_ptr()));
            let has: HostHas = std::mem::transmute(symbol(library, c"host_has".as_ptr()));
            let probe = libc::dlsym(library, c"host_probe".as_ptr());
            let probe = (!probe.is_null()).then(|| std::mem::transmute::<*mut c_void, HostProbeCall>(probe));
            Native { name: self.name, library, socket: make(), call, has, probe, random: None }
        }
    }
}

impl Native {
    /// Sets a parameter, as the loader does before loading. Returns `None` if there is no such parameter;
    /// `bytes` is its size.
    #[allow(dead_code)] // only programs with parameters need it
    pub fn set_parameter(&mut self, name: &str, value: u64, bytes: usize) -> Option<()> {
        let symbol_name = CString::new(name).ok()?;
        // SAFETY: with HOST a parameter is a variable of `bytes` bytes; numbers are little-endian
        // here as in the kernel's programs.
        unsafe {
            let place = libc::dlsym(self.library, symbol_name.as_ptr()).cast::<u8>();
            if place.is_null() {
                return None;
            }
            std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), place, bytes.min(8));
        }
        Some(())
    }

    /// Sets the parameters of `control`, and uses draws below `below` of its stream for `seed`.
    pub fn like(mut self, control: &Control, seed: u64, below: u64) -> Native {
        for (name, value) in control.kernel_parameters() {
            self.set_parameter(name, value, 8).unwrap_or_else(|| panic!("no parameter {name}"));
        }
        self.random = Some((Stream::new(seed, "flow"), below));
        self
    }

    /// Whether the program reports what [`Controller::probe`] does.
    pub fn has_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// Provides random draws for a call, and advances the stream by the number used.
    fn with_draws<T>(&self, random: &mut Option<(Stream, u64)>, call: impl FnOnce() -> T) -> T {
        let Some((stream, below)) = random else { return call() };
        // SAFETY: host/kernel.c defines these as 16 numbers and one of 32 bits; nothing else uses them.
        let (draws, drawn) = unsafe {
            let draws = symbol(self.library, c"host_draws".as_ptr()).cast::<[u32; 16]>();
            (&mut *draws, symbol(self.library, c"host_drawn".as_ptr()).cast::<u32>())
        };
        let mut ahead = stream.clone();
        draws.fill_with(|| ahead.below(*below) as u32);
        // SAFETY: as above.
        unsafe { drawn.write(0) };
        let result = call();
        // SAFETY: as above.
        for _ in 0..unsafe { drawn.read() } {
            stream.below(*below);
        }
        result
    }

    fn has(&self, op: Op) -> bool {
        // SAFETY: it reads a table.
        unsafe { (self.has)(op as u32) }
    }

    /// Calls `op` if the control implements it. Returns its result.
    fn call(&mut self, op: Op, s: &Socket, w: &mut Window, ack: View, argument: u32) -> Option<u32> {
        let mut random = self.random.take();
        let result = self.with_draws(&mut random, || self.call_without_draws(op, s, w, ack, argument));
        self.random = random;
        result
    }

    /// Calls `op` without random draws.
    fn call_without_draws(
        &self,
        op: Op,
        s: &Socket,
        w: &mut Window,
        ack: View,
        argument: u32,
    ) -> Option<u32> {
        if !self.has(op) {
            return None;
        }
        let mut view = view(s, w, ack);
        let limited = view.app_limited;
        // SAFETY: the socket lives as long as this value, the view as long as the call.
        let result = unsafe { (self.call)(self.socket, op as u32, &mut view, argument) };
        w.cwnd = view.cwnd;
        w.cwnd_cnt = view.cwnd_cnt;
        w.ssthresh = if view.ssthresh == INFINITE { u32::MAX } else { view.ssthresh };
        w.pacing_rate = view.pacing_rate;
        w.pacing = view.pacing_status != 0;
        if view.app_limited != limited {
            w.app_limited = Some(view.app_limited as u64);
        }
        Some(result)
    }
}

/// # Safety
/// `library` is open, `name` a C string.
unsafe fn symbol(library: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: as promised by the caller.
    let place = unsafe { libc::dlsym(library, name) };
    assert!(!place.is_null());
    place
}

fn micros(span: Span) -> u64 {
    span.as_nanos() / 1_000
}

/// Converts an RTT to microseconds as in the kernel: negative for none.
fn signed_micros(span: Option<Span>) -> i32 {
    span.map_or(-1, |span| micros(span).min(i32::MAX as u64) as i32)
}

fn jiffies(t: Time) -> u32 {
    (t.as_nanos() * HZ / 1_000_000_000) as u32
}

fn view(s: &Socket, w: &Window, ack: View) -> View {
    View {
        now_ns: s.now.as_nanos(),
        delivered_us: s.delivered_time.as_nanos() / 1_000,
        departure_ns: s.next_departure.as_nanos(),
        pacing_rate: w.pacing_rate,
        max_pacing_rate: s.max_pacing_rate,
        cwnd: w.cwnd,
        cwnd_cnt: w.cwnd_cnt,
        cwnd_clamp: w.cwnd_clamp,
        ssthresh: w.ssthresh.min(INFINITE),
        prior_cwnd: w.prior_cwnd,
        snd_una: s.snd_una as u32,
        snd_nxt: s.snd_nxt as u32,
        mss: s.mss,
        inflight: s.inflight,
        delivered: s.delivered as u32,
        lost: s.lost as u32,
        app_limited: s.app_limited as u32,
        srtt_eighths: s.srtt.map_or(0, |srtt| (srtt.as_nanos() / 125).min(u32::MAX as u64) as u32),
        min_rtt_us: s.min_rtt.map_or(u32::MAX, |rtt| micros(rtt).min(u32::MAX as u64) as u32),
        last_sent: s.last_sent.map_or(0, jiffies),
        state: s.state as u32,
        limited: s.is_cwnd_limited as u32,
        pacing_status: w.pacing as u32,
        pacing_shift: s.pacing_shift,
        ..ack
    }
}

impl Controller for Native {
    fn name(&self) -> &'static str {
        self.name
    }

    fn init(&mut self, s: &Socket, w: &mut Window) {
        self.call(Op::Init, s, w, View::default(), 0);
    }

    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        let ssthresh = self.call(Op::Ssthresh, s, w, View::default(), 0).expect("a mandatory function");
        if ssthresh == INFINITE { u32::MAX } else { ssthresh }
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        self.call(Op::CongAvoid, s, w, View::default(), acked);
    }

    fn owns_window(&self) -> bool {
        self.has(Op::CongControl)
    }

    fn cong_control(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        let interval = if rs.interval.is_zero() { -1 } else { signed_micros(Some(rs.interval)) };
        let view = View {
            ece: rs.ece as u32,
            rtt_us: signed_micros(rs.rtt),
            acked: rs.acked_sacked,
            losses: rs.losses,
            prior_delivered: rs.prior_delivered as u32,
            rate_delivered: rs.delivered.map_or(-1, |n| n.min(i32::MAX as u32) as i32),
            rate_interval_us: interval,
            prior_in_flight: rs.prior_in_flight,
            rate_flags: rs.is_app_limited as u32
                | (rs.is_retrans as u32) << 1
                | (rs.is_ack_delayed as u32) << 2,
            ..View::default()
        };
        self.call(Op::CongControl, s, w, view, 0);
    }

    fn pkts_acked(&mut self, s: &Socket, w: &mut Window, rtt: Option<Span>, acked: u32) {
        let view = View { rtt_us: signed_micros(rtt), acked, ..View::default() };
        self.call(Op::PktsAcked, s, w, view, 0);
    }

    fn in_ack_event(&mut self, s: &Socket, w: &mut Window, ack: AckEvent) {
        let flags = ack.slow_path as u32 | (ack.win_update as u32) << 1 | (ack.ece as u32) << 2;
        self.call(Op::InAckEvent, s, w, View::default(), flags);
    }

    fn set_state(&mut self, s: &Socket, w: &mut Window, new: CaState) {
        self.call(Op::SetState, s, w, View::default(), new as u32);
    }

    fn cwnd_event(&mut self, s: &Socket, w: &mut Window, event: Event) {
        let event = match event {
            Event::TxStart => 0,
            Event::CwndRestart => 1,
            Event::CompleteCwr => 2,
            Event::Loss => 3,
        };
        self.call(Op::CwndEvent, s, w, View::default(), event);
    }

    fn undo_cwnd(&mut self, s: &Socket, w: &mut Window) -> u32 {
        self.call(Op::UndoCwnd, s, w, View::default(), 0).expect("a mandatory function")
    }

    fn min_tso_segs(&self, w: &Window) -> u32 {
        let s = Socket::default();
        self.call_without_draws(Op::MinTsoSegs, &s, &mut w.clone(), View::default(), 0).unwrap_or(2)
    }

    fn sndbuf_expand(&self) -> u32 {
        let s = Socket::default();
        self.call_without_draws(Op::SndbufExpand, &s, &mut Window::new(10), View::default(), 0).unwrap_or(2)
    }

    fn probe(&self) -> Probe {
        let Some(probe) = self.probe else { return Probe::default() };
        let mut seen = HostProbe { state: c"".as_ptr(), btl_bw: 0, rt_prop_us: 0, pacing_gain: 0, round: 0 };
        // SAFETY: the socket lives as long as this value; the state is one of the program's literals.
        let state = unsafe {
            probe(self.socket, &mut seen);
            CStr::from_ptr(seen.state).to_str().unwrap()
        };
        Probe {
            state: STATES.iter().find(|known| **known == state).expect("a known state"),
            btl_bw: (seen.btl_bw > 0).then_some(seen.btl_bw),
            rt_prop: (seen.rt_prop_us < u64::MAX).then(|| Span::from_micros(seen.rt_prop_us)),
            pacing_gain: Some(seen.pacing_gain as f64 / 256.0),
            cwnd_gain: None,
            round: Some(seen.round),
        }
    }
}
