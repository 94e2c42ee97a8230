//! Measures the path to a host that runs `longfat serve`: what it does, what limits it, and what a sender can
//! do about it alone, each cure measured.
//!
//! [`run::measure`] runs the tests in order (`run.rs`); `trains.rs` chooses the trains of datagrams,
//! `path.rs` finds MTU, ECN, DSCP and reordering, `capture.rs` diagnoses the captured test connections,
//! `cures.rs` tries cures and predicts them. The outcome is a [`Measurement`] (`model.rs`), which `text.rs`
//! and `headline.rs` show and `expect.rs` judges.

mod capture;
mod cures;
mod expect;
mod headline;
mod model;
mod path;
mod run;
mod text;
mod trains;

pub use ::measure::client::ClientError;
pub use ::measure::server::{ServeOptions, ServerEvent, serve};
pub use ::measure::{DEFAULT_PORT, SessionLimits};
pub use expect::{MeasureExpectation, check, parse};
pub use model::{
    Cure, EchoSummary, Limiter, LimiterFound, Marks, MeasuredPath, Measurement, StreamTest, TestVerdict,
};
pub use run::{MeasureOptions, Measured, measure};
pub use text::text;

use crate::{CommandError, regular};
use std::path::Path;

/// Maximum size of a token's file, bytes.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Reads a token.
///
/// # Errors
/// Fails when the file cannot be read or the token is short enough to be guessed.
pub fn read_token(path: &Path) -> Result<Vec<u8>, CommandError> {
    let bytes = regular::read_limited(path, MAX_TOKEN_BYTES)
        .map_err(|e| CommandError::Io(path.display().to_string(), e))?;
    ::measure::token::from_file(&bytes).ok_or_else(|| {
        let text = "a token has at least 16 bytes; `openssl rand -hex 32` prints one";
        CommandError::Usage(format!("{}: {text}", path.display()))
    })
}

/// Splits `HOST[:PORT]`; an IPv6 address with a port is written in brackets.
///
/// # Errors
/// Fails when the port is not a number from 1 to 65535.
pub fn host_and_port(text: &str) -> Result<(String, u16), CommandError> {
    let wrong =
        || CommandError::Usage(format!("`{text}`: expected HOST or HOST:PORT, e.g. [2001:db8::1]:4717"));
    let port = |port: &str| port.parse().ok().filter(|p| *p > 0).ok_or_else(wrong);
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok((text.into(), DEFAULT_PORT));
    }
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return Ok(match rest.strip_prefix(':') {
            Some(rest) => (host.into(), port(rest)?),
            None if rest.is_empty() => (host.into(), DEFAULT_PORT),
            None => return Err(wrong()),
        });
    }
    match text.split_once(':') {
        Some((host, rest)) if !host.is_empty() => Ok((host.into(), port(rest)?)),
        None if !text.is_empty() => Ok((text.into(), DEFAULT_PORT)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_may_have_a_port() {
        let split = |text: &str| host_and_port(text).ok();
        let is = |host: &str, port| Some((host.to_string(), port));
        assert_eq!(split("dc.example.com"), is("dc.example.com", DEFAULT_PORT));
        assert_eq!(split("192.0.2.1:80"), is("192.0.2.1", 80));
        assert_eq!(split("2001:db8::1"), is("2001:db8::1", DEFAULT_PORT));
        assert_eq!(split("[2001:db8::1]:80"), is("2001:db8::1", 80));
        assert_eq!(split("[2001:db8::1]"), is("2001:db8::1", DEFAULT_PORT));
        for wrong in ["", ":80", "a:0", "a:b", "a:70000", "[::1]x", "2001:db8::1::2"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
