//! What the SYN of a host announces beyond what simulated segments hold.

use transport::{HEADER, Profile, Stack};

/// The largest shift (RFC 7323 section 2.3).
const MOST_SCALE: u32 = 14;
/// Windows' shift with `autotuninglevel=normal`: its 16 MiB fit.
const WINDOWS_SCALE: u8 = 8;

/// Maximum segment size of a host with this stack, on a path whose packets have at most `mtu` bytes: the stack's,
/// or what fits. As [`Stack::limits`] has it: no segment is larger.
pub(crate) fn mss(stack: &Stack, mtu: u32) -> u16 {
    let fits = mtu.saturating_sub(HEADER).max(64);
    u16::try_from(stack.mss.unwrap_or(fits).min(fits)).unwrap_or(u16::MAX)
}

/// Window scale of a host with this stack, by which all windows after its SYN's are shifted: enough for the largest
/// that there may ever be (`tcp_select_initial_window`, net/ipv4/tcp_output.c).
pub(crate) fn scale(stack: &Stack) -> u8 {
    let window = stack.receive_window.map_or(0, |w| w.get());
    let windows = stack.profile == Profile::Windows;
    if windows && stack.receive_buffer.is_none() && window <= 65_535 << WINDOWS_SCALE {
        return WINDOWS_SCALE;
    }
    let most = stack.receive_buffer.map_or(6 << 20, |b| b.get()).max(window).max(1);
    (most.ilog2().saturating_sub(15)).min(MOST_SCALE) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn linux_scales_by_its_buffer_and_windows_by_eight() {
        let stack = |text: &str, size: u64| match text {
            "buffer" => Stack { receive_buffer: Some(Bytes::new(size)), ..Stack::default() },
            "window" => Stack { receive_window: Some(Bytes::new(size)), ..Stack::default() },
            _ => Stack::default(),
        };
        let scale = |text, size| scale(&stack(text, size));
        // tcp_rmem[2] of 6 MiB, 8 MiB, 64 MiB and 64 KiB; the largest window there is.
        assert_eq!((scale("", 0), scale("buffer", 8 << 20), scale("buffer", 64 << 20)), (7, 8, 11));
        assert_eq!((scale("buffer", 65_536), scale("buffer", 1), scale("window", (1 << 30) - 1)), (1, 0, 14));
        let windows = Stack { profile: Profile::Windows, ..Stack::default() };
        assert_eq!(super::scale(&windows), 8);
    }

    #[test]
    fn segments_fit_the_path() {
        let mss = |mss, mtu| super::mss(&Stack { mss, ..Stack::default() }, mtu);
        assert_eq!((mss(None, 1500), mss(None, 1400), mss(Some(536), 1500)), (1460, 1360, 536));
        assert_eq!((mss(Some(8960), 1500), mss(None, 9000), mss(None, 68)), (1460, 8960, 64));
    }
}
