//! The server that the user names, and its token.

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

/// Splits `HOST[:PORT]`, with a default port; an IPv6 address with a port is written in brackets.
///
/// # Errors
/// Fails when the port is not a number from 1 to 65535.
pub fn host_and_port(text: &str, default: u16) -> Result<(String, u16), CommandError> {
    let wrong =
        || CommandError::Usage(format!("`{text}`: expected HOST or HOST:PORT, e.g. [2001:db8::1]:4717"));
    let port = |port: &str| port.parse().ok().filter(|p| *p > 0).ok_or_else(wrong);
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok((text.into(), default));
    }
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return Ok(match rest.strip_prefix(':') {
            Some(rest) => (host.into(), port(rest)?),
            None if rest.is_empty() => (host.into(), default),
            None => return Err(wrong()),
        });
    }
    match text.split_once(':') {
        Some((host, rest)) if !host.is_empty() => Ok((host.into(), port(rest)?)),
        None if !text.is_empty() => Ok((text.into(), default)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::measure::DEFAULT_PORT;

    #[test]
    fn a_host_may_have_a_port() {
        let split = |text: &str| host_and_port(text, DEFAULT_PORT).ok();
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
