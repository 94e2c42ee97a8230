//! The profile of Windows 10, version 1607 (2016), with the settings of its "Internet" template: its
//! differences from the RFC profile, and the documents that state them.
//!
//! | behaviour | source |
//! |---|---|
//! | RTO at least 300 ms; ACK delayed by 40 ms at most, sent with every second segment; no restart of the window after idle time (`CwndRestart` false) | template listed in Microsoft, "TCP templates for Windows Server 2019" (networking blog, 3 Oct 2018) |
//! | initial window of 10 segments; RACK and TLP, with SACK, where the RTT is 10 ms or more | Microsoft, "New transport advancements in the Anniversary Update for Windows 10 and Windows Server 2016" (networking blog, July 2016) |
//! | losses as RFC 6675 (its predecessor 3517) below 10 ms, RFC 6582 (2582) without SACK; F-RTO (RFC 4138, now 5682) after a timeout | Microsoft, "Next generation TCP/IP architecture", enhancements for high-loss environments |
//! | timestamps are off, ECN is off, the receive window scales | the same, and `netsh int tcp show global` |
//! | the receive window starts at 64 KiB minus 1 B and follows the rate of reading per RTT, up to 16 MiB (`autotuninglevel=normal`, scale 8) | the same; the rule itself is not public, so Linux's dynamic right-sizing is used instead, see `receive/window.rs` |
//!
//! | Windows | this model |
//! |---|---|
//! | a connection under 10 ms may take the "Datacenter" template on servers | always the Internet template, as on Windows clients |
//! | the current RTT decides on RACK | the RTT of the handshake decides |
//! | first timeout 3 s (later versions 1 s) | 1 s (RFC 6298) |
//! | large send offload creates bursts of up to 64 kB | no bursts (`tso = true` gives Linux's) |
//! | dynamic send buffering | a fixed send buffer of 4 MiB |
//! | Compound TCP | a separate algorithm, `cc = "compound"` |

use units::Span;

/// `MinRto`.
pub(crate) const RTO_MIN: Span = Span::from_millis(300);
/// `DelayedAckTimeout`.
pub(crate) const DELAYED_ACK: Span = Span::from_millis(40);
/// Initial receive window, bytes.
pub(crate) const INITIAL_WINDOW: u64 = 65_535;
/// Maximum receive window, bytes.
pub(crate) const BUFFER_MAX: u64 = 16 << 20;
/// Minimum RTT for RACK and TLP.
pub(crate) const RACK_FROM: Span = Span::from_millis(10);
