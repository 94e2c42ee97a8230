//! Parses a request's head, and refuses requests from other web sites.
//!
//! Two checks keep other sites' pages out. `Host` must be the server's own address, so that a foreign name
//! that resolves to this machine is refused (DNS rebinding; RFC 9110, section 7.4). A request with an
//! `Origin` must come from the server's own page, and a question must have one: browsers send it with every
//! POST (Fetch, section 3.2).

/// The largest question, bytes: the scenario's text, and the results that the page compares with it.
pub const MAX_QUESTION: u64 = 16 << 20;
/// The largest question with its capture, bytes. A capture is read in pieces and never held as a whole.
pub const MAX_BODY: u64 = 16 << 30;

/// An HTTP status code with its reason phrase.
pub type Status = &'static str;

#[derive(Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// GET or HEAD of the page.
    Page { head_only: bool },
    /// A question in a body of `length` bytes, under a number that the page chose.
    Answer { number: u64, length: u64 },
    /// The progress of a question; the answer is null if it is not in progress.
    Progress { number: u64 },
}

/// Parses the head of a request to the server at this port of 127.0.0.1.
pub fn requested(head: &[u8], port: u16) -> Result<PageRequest, Status> {
    let text = std::str::from_utf8(head).map_err(|_| "400 Bad Request")?;
    let mut lines = text.split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (request.next().unwrap_or_default(), request.next().unwrap_or_default());
    let fields: Vec<(&str, &str)> =
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect();
    let host = field(&fields, "host")?.unwrap_or_default().to_ascii_lowercase();
    if !["127.0.0.1", "localhost"].iter().any(|own| host == format!("{own}:{port}")) {
        return Err("421 Misdirected Request");
    }
    let origin = field(&fields, "origin")?;
    if origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(&format!("http://{host}"))) {
        return Err("403 Forbidden");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let number = || query.parse().map_err(|_| "400 Bad Request");
    match (path, method) {
        ("/" | "/index.html", "GET" | "HEAD") => Ok(PageRequest::Page { head_only: method == "HEAD" }),
        ("/progress", "GET") => Ok(PageRequest::Progress { number: number()? }),
        ("/ask", "POST") if origin.is_none() => Err("403 Forbidden"),
        ("/ask", "POST") => Ok(PageRequest::Answer { number: number()?, length: length(&fields)? }),
        ("/" | "/index.html" | "/progress" | "/ask", _) => Err("405 Method Not Allowed"),
        _ => Err("404 Not Found"),
    }
}

/// Returns the value of a header field that must not be repeated.
fn field<'a>(fields: &[(&str, &'a str)], name: &str) -> Result<Option<&'a str>, Status> {
    let mut values = fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
    let value = values.next().map(|&(_, value)| value);
    if values.next().is_some() { Err("400 Bad Request") } else { Ok(value) }
}

/// Returns the length of the body, which must be given.
fn length(fields: &[(&str, &str)]) -> Result<u64, Status> {
    let length = field(fields, "content-length")?;
    let (Some(length), None) = (length, field(fields, "transfer-encoding")?) else {
        return Err("411 Length Required");
    };
    let length = length.parse().map_err(|_| "400 Bad Request")?;
    if length > MAX_BODY { Err("413 Content Too Large") } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str, fields: &[&str]) -> Result<PageRequest, Status> {
        requested(format!("{line} HTTP/1.1\r\n{}\r\n\r\n", fields.join("\r\n")).as_bytes(), 8080)
    }

    #[test]
    fn the_page_is_served_under_this_machines_addresses_only() {
        let page = |head_only| Ok(PageRequest::Page { head_only });
        for line in ["GET /", "GET /index.html", "GET /?x"] {
            assert_eq!(ask(line, &["Host: localhost:8080"]), page(false), "{line}");
        }
        assert_eq!(ask("HEAD /", &["host:127.0.0.1:8080"]), page(true));
        let elsewhere = Err("421 Misdirected Request");
        assert_eq!(ask("GET /", &["Host: evil.example:8080"]), elsewhere);
        assert_eq!(ask("GET /", &["Host: 127.0.0.1:80"]), elsewhere);
        assert_eq!(ask("GET /", &["Accept: */*"]), elsewhere);
        assert_eq!(
            ask("GET /", &["Host: localhost:8080", "Host: evil.example"]),
            Err("400 Bad Request"),
            "two hosts"
        );
        assert_eq!(ask("POST /", &["Host: localhost:8080"]), Err("405 Method Not Allowed"));
        assert_eq!(ask("GET /../etc/passwd", &["Host: localhost:8080"]), Err("404 Not Found"));
        assert_eq!(requested(b"\xff\xff", 8080), Err("400 Bad Request"));
    }

    #[test]
    fn only_the_servers_own_page_may_ask() {
        let host = "Host: 127.0.0.1:8080";
        let own = "Origin: http://127.0.0.1:8080";
        let ask = |fields: &[&str]| ask("POST /ask?7", fields);
        assert_eq!(
            ask(&[host, own, "Content-Length: 12"]),
            Ok(PageRequest::Answer { number: 7, length: 12 })
        );
        for origin in ["https://evil.example", "null", "http://127.0.0.1:80", "http://localhost:8080", ""] {
            let origin = format!("Origin: {origin}");
            assert_eq!(ask(&[host, &origin, "Content-Length: 12"]), Err("403 Forbidden"), "{origin}");
        }
        assert_eq!(ask(&[host, "Content-Length: 12"]), Err("403 Forbidden"), "no origin");
        assert_eq!(ask(&["Host: evil.example", own, "Content-Length: 12"]), Err("421 Misdirected Request"));
    }

    #[test]
    fn other_sites_do_not_learn_how_far_a_run_is() {
        let progress = |fields: &[&str]| ask("GET /progress?7", fields);
        let host = "Host: 127.0.0.1:8080";
        assert_eq!(progress(&[host]), Ok(PageRequest::Progress { number: 7 }), "no origin with GET");
        assert_eq!(progress(&[host, "Origin: https://evil.example"]), Err("403 Forbidden"));
        assert_eq!(ask("GET /progress", &[host]), Err("400 Bad Request"));
    }

    #[test]
    fn a_body_needs_a_length_up_to_the_maximum() {
        let max = format!("Content-Length: {MAX_BODY}");
        let more = format!("Content-Length: {}", MAX_BODY + 1);
        let ask = |fields: &[&str]| {
            let mut all = vec!["Host: 127.0.0.1:8080", "Origin: http://127.0.0.1:8080"];
            all.extend(fields);
            ask("POST /ask?7", &all)
        };
        assert_eq!(ask(&[&max]), Ok(PageRequest::Answer { number: 7, length: MAX_BODY }));
        assert_eq!(ask(&[&more]), Err("413 Content Too Large"));
        assert_eq!(ask(&["Content-Length: -1"]), Err("400 Bad Request"));
        assert_eq!(ask(&[&max, &max]), Err("400 Bad Request"), "two lengths");
        assert_eq!(ask(&[]), Err("411 Length Required"));
        assert_eq!(ask(&["Transfer-Encoding: chunked"]), Err("411 Length Required"));
        assert_eq!(ask(&["Transfer-Encoding: chunked", &max]), Err("411 Length Required"));
    }
}
