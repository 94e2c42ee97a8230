//! Reads the server name of a TLS client: ClientHello (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2) and
//! its `server_name` extension (RFC 6066 section 3), without consuming bytes.
//!
//! Needs no TLS library: nothing is decrypted or answered. It parses one plaintext message and checks every
//! length. The message may be split into several records (RFC 8446 section 5.1), which some clients do
//! deliberately.

/// Longest accepted ClientHello: more than any client sends; with post-quantum key shares it has some 2 kB.
pub const LONGEST_HELLO: usize = 16 << 10;

/// Result of parsing the first bytes of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloRead {
    /// More bytes are needed.
    More,
    /// A ClientHello with this server name, in lower case and without a final dot.
    Name(String),
    /// A ClientHello without a server name, or with an invalid one.
    Nameless,
    /// Not a ClientHello.
    NotTls,
}

/// The rest of a slice, consumed from its front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(front)
    }
    /// Reads a number of `n` bytes, most significant first; `n` is at most 4.
    fn number(&mut self, n: usize) -> Option<usize> {
        Some(self.take(n)?.iter().fold(0, |sum, &b| sum << 8 | usize::from(b)))
    }
    /// Reads a vector: a length of `n` bytes, then as many bytes.
    fn vector(&mut self, n: usize) -> Option<Cursor<'a>> {
        let length = self.number(n)?;
        self.take(length).map(Cursor)
    }
}

/// Parses the start of a stream.
pub fn server_name(bytes: &[u8]) -> HelloRead {
    let mut records = Cursor(bytes);
    let mut message: Vec<u8> = Vec::new();
    loop {
        // Content type 22 is a handshake; 3 is the major version of every TLS.
        match records.0 {
            [] => return HelloRead::More,
            [22] => return HelloRead::More,
            [22, 3, ..] => {}
            _ => return HelloRead::NotTls,
        }
        let Some(header) = records.take(5) else { return HelloRead::More };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        // A plaintext record has 1 to 2^14 bytes.
        if length == 0 || length > 1 << 14 {
            return HelloRead::NotTls;
        }
        let here = records.0.len().min(length);
        message.extend_from_slice(&records.0[..here]);
        // Type 1 is a ClientHello.
        if message.first().is_some_and(|&kind| kind != 1) {
            return HelloRead::NotTls;
        }
        if let Some(&[_, a, b, c]) = message.first_chunk::<4>() {
            let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if length > LONGEST_HELLO {
                return HelloRead::NotTls;
            }
            if let Some(body) = message.get(4..4 + length) {
                return hello(body);
            }
        }
        if here < length {
            return HelloRead::More;
        }
        records.0 = &records.0[length..];
    }
}

/// Parses a complete ClientHello.
fn hello(body: &[u8]) -> HelloRead {
    match extensions(Cursor(body)) {
        Some(Some(name)) => HelloRead::Name(name),
        Some(None) => HelloRead::Nameless,
        None => HelloRead::NotTls,
    }
}

/// Returns the server name: `None` if malformed, `Some(None)` if absent.
fn extensions(mut body: Cursor<'_>) -> Option<Option<String>> {
    // Version and random, session, cipher suites, compression methods.
    body.take(2 + 32)?;
    body.vector(1)?;
    body.vector(2)?;
    body.vector(1)?;
    if body.0.is_empty() {
        return Some(None); // extensions are optional before TLS 1.2
    }
    let mut list = body.vector(2)?;
    while !list.0.is_empty() {
        let kind = list.number(2)?;
        let mut extension = list.vector(2)?;
        if kind != 0 {
            continue;
        }
        let mut names = extension.vector(2)?;
        while !names.0.is_empty() {
            let kind = names.number(1)?;
            let name = names.vector(2)?;
            if kind == 0 {
                return Some(normalised_name(name.0));
            }
        }
    }
    Some(None)
}

/// Normalises a host name for the routes; `None` if it is invalid.
fn normalised_name(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    let text = text.strip_suffix('.').unwrap_or(text);
    let fit = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    (!text.is_empty() && text.len() <= 253 && text.bytes().all(fit)).then(|| text.to_ascii_lowercase())
}

/// Whether a name matches a pattern: a full name, or `*.` and the end of a name. The star stands for one or
/// more labels.
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => pattern == name,
    }
}

/// Builds a ClientHello with this name, split into records of at most `piece` bytes; for tests and fuzzers.
pub fn sample_hello(name: Option<&str>, piece: usize) -> Vec<u8> {
    let sized = |bytes: &[u8], n: usize| {
        let length = (bytes.len() as u32).to_be_bytes();
        [&length[4 - n..], bytes].concat()
    };
    let mut extensions = [&[0, 43][..], &sized(&[2, 3, 4], 2)].concat();
    if let Some(name) = name {
        let entry = [&[0][..], &sized(name.as_bytes(), 2)].concat();
        extensions = [&extensions[..], &[0, 0], &sized(&sized(&entry, 2), 2)].concat();
    }
    let body = [
        &[3, 3][..],
        &[7; 32],
        &sized(&[9; 32], 1),
        &sized(&[0x13, 1, 0x13, 2], 2),
        &sized(&[0], 1),
        &sized(&extensions, 2),
    ]
    .concat();
    let message = [&[1][..], &sized(&body, 3)].concat();
    let record = |piece: &[u8]| [&[22, 3, 1][..], &sized(piece, 2)].concat();
    message.chunks(piece.max(1)).flat_map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_name_is_found_across_record_boundaries() {
        for piece in [1, 2, 5, 40, 16_384] {
            let bytes = sample_hello(Some("WWW.Example.com."), piece);
            assert_eq!(server_name(&bytes), HelloRead::Name("www.example.com".into()), "{piece}");
            for n in 0..bytes.len() {
                assert_eq!(server_name(&bytes[..n]), HelloRead::More, "{piece} {n}");
            }
        }
    }

    #[test]
    fn a_hello_without_name_differs_from_other_data() {
        assert_eq!(server_name(&sample_hello(None, 16_384)), HelloRead::Nameless);
        assert_eq!(server_name(&sample_hello(Some("a b"), 16_384)), HelloRead::Nameless);
        for bytes in
            [&b"GET / HTTP/1.1\r\n"[..], &[22, 2], &[23, 3, 3], &[22, 3, 1, 0, 0], &[22, 3, 1, 0, 1, 2]]
        {
            assert_eq!(server_name(bytes), HelloRead::NotTls, "{bytes:?}");
        }
        assert_eq!(server_name(&[22, 3, 1, 0x40, 1]), HelloRead::NotTls, "a record of 16,385 bytes");
        let long = [22, 3, 1, 0, 4, 1, 0, 0x40, 1];
        assert_eq!(server_name(&long), HelloRead::NotTls, "a message longer than the limit");
    }

    /// Replaces every byte by every fourth value: no panic, and a returned name is valid.
    #[test]
    fn corrupted_messages_yield_valid_names_or_none() {
        let bytes = sample_hello(Some("www.example.com"), 100);
        for at in 0..bytes.len() {
            for value in (0..=255).step_by(4) {
                let mut spoilt = bytes.clone();
                spoilt[at] = value;
                if let HelloRead::Name(name) = server_name(&spoilt) {
                    assert!(!name.is_empty() && name.len() <= 253, "{name:?}");
                }
            }
        }
    }

    #[test]
    fn patterns_match_names() {
        let cases = [
            ("a.example", "a.example", true),
            ("a.example", "b.example", false),
            ("*.example", "a.b.example", true),
            ("*.example", "example", false),
            ("*.example", ".example", false),
            ("*.example", "aexample", false),
        ];
        for (pattern, name, fit) in cases {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }
}
