//! One sample of a socket, from the kernel's report.

use linux::sock_diag::SocketMemory;
use linux::tcp_info::TcpInfo;
use result::diagnosis::SocketSample;
use units::Time;

/// Converts a socket's report to a sample. The send buffer counts as full by the kernel's rule: the
/// application may write again when a third of the queued data would fit (`sk_stream_min_wspace`,
/// include/net/sock.h).
pub fn sample(info: &TcpInfo, memory: Option<SocketMemory>, at: Time) -> SocketSample {
    let full = |m: SocketMemory| u64::from(m.queued) * 3 >= u64::from(m.send_limit) * 2;
    SocketSample {
        at,
        times_us: info.times_us(),
        acked: info.bytes_acked,
        rtt_us: Some(info.rtt_us).filter(|rtt| *rtt > 0),
        app_limited: info.is_app_limited(),
        notsent: info.notsent(),
        buffer_full: memory.map(full),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_full_until_a_third_of_its_data_would_fit() {
        let full = |queued| {
            let memory = Some(SocketMemory { queued, send_limit: 131_072, ..SocketMemory::default() });
            sample(&TcpInfo::default(), memory, Time::ZERO).buffer_full
        };
        assert_eq!(
            [full(0), full(87_000), full(87_400), full(140_000)].map(Option::unwrap),
            [false, false, true, true]
        );
        assert_eq!(sample(&TcpInfo::default(), None, Time::ZERO).buffer_full, None);
    }
}
