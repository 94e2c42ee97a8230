//! The profile of Windows 10, version 1607 (2016), with the settings of its "Internet" template: what
//! of it differs from the RFC profile, and where that is documented.
//!
//! | here | source |
//! |---|---|
//! | RTO at least 300 ms; ACK delayed by 40 ms at most, sent with every second segment; no restart of the window after idle time (`CwndRestart` false) | template listed in Microsoft, "TCP templates for Windows Server 2019" (networking blog, 3 Oct 2018) |
//! | initial window of 10 segments; RACK and TLP, with SACK, where the RTT is 10 ms or more | Microsoft, "New transport advancements in the Anniversary Update for Windows 10 and Windows Server 2016" (networking blog, July 2016) |
//! | losses as RFC 6675 (its predecessor 3517) below 10 ms, RFC 6582 (2582) without SACK; F-RTO (RFC 4138, now 5682) after a timeout | Microsoft, "Next generation TCP/IP architecture", enhancements for high-loss environments |
//! | timestamps are off, ECN is off, the receive window scales | the same, and `netsh int tcp show global` |
//! | the receive window begins at 64 KiB less 1 B and follows the rate of reading per RTT, to 16 MiB (`autotuninglevel=normal`, scale 8) | the same; the rule itself is not public: dynamic right-sizing (as Linux) stands in, see `receive/window.rs` |
//!
//! | Windows | here |
//! |---|---|
//! | a connection under 10 ms may take the "Datacenter" template on servers | the Internet template always, as on Windows clients |
//! | the RTT that decides on RACK is watched | the handshake's decides |
//! | first timeout 3 s (later versions 1 s) | 1 s (RFC 6298) |
//! | large send offload makes bursts of up to 64 kB | none (`tso = true` gives Linux's) |
//! | dynamic send buffering | a send buffer of 4 MiB |
//! | Compound TCP | its own algorithm, `cc = "compound"` |

use units::Span;

/// `MinRto`.
pub(crate) const RTO_MIN: Span = Span::from_millis(300);
/// `DelayedAckTimeout`.
pub(crate) const DELAYED_ACK: Span = Span::from_millis(40);
/// The first receive window, bytes.
pub(crate) const WINDOW: u64 = 65_535;
/// The largest receive window, bytes.
pub(crate) const BUFFER_MAX: u64 = 16 << 20;
/// RACK and TLP from this round trip on.
pub(crate) const RACK_FROM: Span = Span::from_millis(10);
