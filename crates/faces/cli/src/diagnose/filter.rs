//! The options `--host`, `--port`, `--from` and `--to`.

use crate::args::DiagnoseArgs;
use crate::problem::CliProblem;
use capture::{FILTERED_OUT, FilterTime};
use result::Diagnosis;
use units::{Span, Time};

/// Parses a time: seconds after the first packet, or a date of RFC 3339.
pub fn time(text: &str) -> Result<FilterTime, String> {
    if let Ok(seconds) = text.parse::<f64>()
        && (0.0..1e10).contains(&seconds)
    {
        return Ok(FilterTime::After(Span::from_secs_f64(seconds)));
    }
    let date = chrono::DateTime::parse_from_rfc3339(text).ok().and_then(|date| date.timestamp_nanos_opt());
    match date.map(u64::try_from) {
        Some(Ok(ns)) => Ok(FilterTime::At(Time::from_nanos(ns))),
        _ => {
            Err("give seconds after the first packet (12.5), or a date since 1970 (2026-05-01T12:00:00Z)"
                .into())
        }
    }
}

/// Returns the number of packets that the filter left out if it matched none.
pub fn unmatched(args: &DiagnoseArgs, d: &Diagnosis) -> Option<u64> {
    let left = d.capture.other.iter().find(|c| c.name == FILTERED_OUT).map_or(0, |c| c.count);
    let none = d.capture.tcp_packets == 0 && d.udp_flows.is_empty();
    (!args.filter.packet_filter().is_empty() && none && left > 0).then_some(left)
}

/// Returns the error for a filter that matches none of `left` packets.
pub fn nothing_matched(left: u64) -> CliProblem {
    let what = "the filter (--host, --port, --from, --to) matches none";
    CliProblem::usage(format!("{what} of the {left} TCP packets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_dates() {
        assert_eq!(time("12.5"), Ok(FilterTime::After(Span::from_millis(12_500))));
        assert_eq!(time("0"), Ok(FilterTime::After(Span::from_secs(0))));
        let at = |seconds: u64| Ok(FilterTime::At(Time::from_nanos(seconds * 1_000_000_000)));
        assert_eq!(time("1970-01-02T00:00:00Z"), at(86_400));
        assert_eq!(time("1970-01-02T02:00:00+02:00"), at(86_400));
        for bad in ["-1", "nan", "inf", "noon", "2026-05-01", "1960-01-01T00:00:00Z"] {
            assert!(time(bad).unwrap_err().contains("give seconds"), "{bad}");
        }
    }
}
