//! Socket options of a connection, from the host's stack and the flow.

use crate::LabError;
use crate::plan::{Leg, PlannedFlow};
use linux::socket::{KernelSocket, SocketOption, get_option, set_option};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use transport::Stack;

/// Sets a socket's options before it connects or listens; accepted connections inherit all options.
pub fn prepare(
    socket: &KernelSocket,
    stack: &Stack,
    flow: &PlannedFlow,
    leg: &Leg,
    is_opener: bool,
) -> Result<(), LabError> {
    let failed = |what: &str| LabError::system(format!("flow {}: {what}", flow.name));
    let tcp = |option: SocketOption, value: u64| socket.set(option, value.min(i32::MAX as u64) as u32);
    let cc = &leg.cc[usize::from(!is_opener)].name;
    // Set before connecting: replacing a control later (BBR) leaves pacing on.
    if flow.chooses_control {
        socket
            .set_bytes(SocketOption::TCP_CONGESTION, cc.as_bytes())
            .map_err(failed(&format!("congestion control {cc}")))?;
    }
    socket.reset_on_close().map_err(failed("SO_LINGER"))?;
    set_dscp(socket, flow).map_err(failed("dscp"))?;
    if let Some(mss) = stack.mss {
        tcp(SocketOption::TCP_MAXSEG, mss as u64).map_err(failed("mss"))?;
    }
    if let Some(window) = stack.receive_window {
        // The clamp limits the announced window; the buffer must never be the limit.
        let buffer = (window.get() * 4).clamp(65_536, 1 << 30) as u32;
        if receive_buffer(socket.as_fd(), buffer).map_err(failed("receive_window"))? / 2 < window.get() as u32
        {
            let why = "net.core.rmem_max is too small for it; raise it or run as root";
            return Err(LabError::unsupported("receive_window", why));
        }
        hold_window(socket, stack).map_err(failed("receive_window"))?;
    }
    if let Some(delay) = stack.delayed_ack {
        tcp(SocketOption::TCP_DELACK_MAX_US, delay.as_micros()).map_err(|_| {
            LabError::unsupported("delayed_ack", "this kernel lacks TCP_DELACK_MAX_US (Linux 6.15 and later)")
        })?;
    }
    // SO_MAX_PACING_RATE enables the kernel's own pacing, whatever the congestion control.
    let rate = flow.max_pacing_rate.map(|r| (r.as_bps() / 8).max(1));
    if let Some(rate) = rate.or(stack.pacing.unwrap_or(false).then_some(u64::MAX >> 1)) {
        socket.set_bytes(SocketOption::SO_MAX_PACING_RATE, &rate.to_ne_bytes()).map_err(failed("pacing"))?;
    }
    Ok(())
}

/// Limits the announced window to the stack's receive window. Linux 6.10 and later drop the limit at the
/// first data: the kernel then measures the payload's share of the buffer, and the clamp follows it
/// (`tcp_measure_rcv_mss`, net/ipv4/tcp_input.c). Therefore call this again after every read.
pub fn hold_window(socket: &KernelSocket, stack: &Stack) -> io::Result<()> {
    let Some(window) = stack.receive_window else { return Ok(()) };
    socket.set(SocketOption::TCP_WINDOW_CLAMP, window.get().min(i32::MAX as u64) as u32)
}

/// Requests a receive buffer; root may exceed `net.core.rmem_max`. Returns the size that the kernel sets.
pub fn receive_buffer(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<u32> {
    if set_option(socket, SocketOption::SO_RCVBUFFORCE, bytes as i32).is_err() {
        set_option(socket, SocketOption::SO_RCVBUF, bytes as i32)?;
    }
    get_option(socket, SocketOption::SO_RCVBUF).map(|got| got as u32)
}

/// Whether the kernel paces the end of a connection that `is_opener` it, or the other end.
pub fn is_paced(stack: &Stack, flow: &PlannedFlow, leg: &Leg, is_opener: bool) -> bool {
    leg.cc[usize::from(!is_opener)].paces || stack.pacing == Some(true) || flow.max_pacing_rate.is_some()
}

/// Sets the DSCP that the scenario gives to the flow, if any.
pub fn set_dscp(socket: &KernelSocket, flow: &PlannedFlow) -> io::Result<()> {
    if flow.dscp == 0 {
        return Ok(());
    }
    let option = match get_option(socket.as_fd(), SocketOption::SO_DOMAIN)? {
        libc::AF_INET6 => SocketOption::IPV6_TCLASS,
        _ => SocketOption::IP_TOS,
    };
    socket.set(option, (flow.dscp as u32) << 2)
}
