//! Waiting times of users: completion, response and page times, and statistics of the server as the sending
//! side.

use crate::common::*;

fn requests(app: &str) -> String {
    format!("[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = {app}\n")
}

/// 40 ms and an otherwise empty path: a page takes an RTT for the handshake, one for the document, and one
/// for each object that a connection loads in turn; the next page needs no handshake.
#[test]
fn a_page_takes_a_round_trip_for_each_object_of_a_connection() {
    let page = |connections: u32| {
        let app = format!(
            "{{ kind = \"page\", objects = 6, size = \"500B\", connections = {connections}, html = \"500B\", think = \"1s\", count = 2 }}"
        );
        run(&path("duration = \"10s\"", "", 40.0, &requests(&app)))
    };
    for (connections, turns) in [(6, 1.0), (3, 2.0), (1, 6.0)] {
        let o = page(connections);
        let f = flow(&o, "f");
        let pages = f.page_s.expect("page load times");
        assert_eq!((f.completed, pages.count, pages.unfinished), (Some(2), 2, 0));
        close("the first page", pages.max, 0.040 * (2.0 + turns), 1.0);
        close("the second", pages.p50, 0.040 * (1.0 + turns), 1.0);
        close("both and a pause", f.completion_s.unwrap(), pages.max + 1.0 + pages.p50, 0.1);
        assert_eq!((f.delivered_bytes, f.unfinished), (2 * 7 * 500, false));
        let responses = f.response_s.expect("responses");
        assert_eq!(
            (responses.count, o.variant.response_s, o.variant.page_s),
            (14, Some(responses), Some(pages))
        );
        // Each response is a row.
        let rows = &series(&o, "f").responses;
        let rows_of = |what: &str| rows.iter().filter(|r| r.what == what).count();
        assert_eq!([rows_of("html"), rows_of("object"), rows_of("page"), rows.len()], [2, 12, 2, 16]);
        let longest = rows.iter().filter(|r| r.what == "page").map(|r| r.seconds).fold(0.0, f64::max);
        assert_eq!(longest, pages.max);
    }
}

/// Responses that are incomplete at the end of the run count as unfinished.
#[test]
fn incomplete_responses_count_as_unfinished() {
    let app = "{ kind = \"request\", request = \"100B\", response = \"1MB\", count = 9 }";
    let o = run(&path("duration = \"2s\"", "{ kind = \"delay\", delay = \"1ms\" }", 40.0, &requests(app)));
    let backward = path("duration = \"2s\"", "", 40.0, &requests(app))
        .replace("backward = [", "backward = [{ kind = \"link\", rate = \"10Mbit/s\" }, ");
    let slow = run(&backward);
    let f = flow(&o, "f");
    assert!(!f.unfinished && f.completion_s.is_some_and(|t| t < 2.0), "{f:?}");
    let f = flow(&slow, "f");
    let responses = f.response_s.unwrap();
    assert_eq!((f.unfinished, f.completion_s, responses.count, responses.unfinished), (true, None, 2, 1));
    let all = slow.variant.completion_s.unwrap();
    assert_eq!((all.count, all.unfinished), (0, 1));
}

/// Answers are lost, requests are not: series, states, timeouts and RTTs are those of the side that answers.
#[test]
fn statistics_are_those_of_the_side_that_answers() {
    let app = "{ kind = \"request\", request = \"400B\", response = \"60kB\", think = \"50ms\" }";
    let text = path("duration = \"20s\"", "", 40.0, &requests(app)).replace(
        "backward = [",
        "backward = [{ kind = \"link\", rate = \"5Mbit/s\", queue = { kind = \"fifo\", packets = 12 } }, { kind = \"loss\", probability = 0.12 }, ",
    );
    let o = run(&text);
    let (f, s) = (flow(&o, "f"), series(&o, "f"));
    assert!(f.timeouts > 0 && f.retransmitted_packets > 20, "{f:?}");
    assert!(f.states.iter().any(|s| s.state == "loss") && f.states.iter().any(|s| s.state == "recovery"));
    assert!(f.timeout_wait.is_some_and(|share| share > 0.0), "{:?}", f.timeout_wait);
    // Requests are not lost, but may be retransmitted when all answers to them are.
    assert_eq!(s.resent.len() as u64, f.retransmitted_packets);
    let again = s.resent.iter().filter(|r| r.sender == 0).count() as u64;
    assert!(again <= f.retransmitted_packets && again * 10 > 9 * f.retransmitted_packets, "{again} {f:?}");
    assert!(s.cwnd.iter().any(|&w| w != 10) && s.sent_bytes.last() >= s.delivered_bytes.last());
    // A full-sized packet takes 2.4 ms on the link, a request almost nothing: the RTTs are those of the
    // answers.
    assert!(f.rtt_ms.min > 40.3, "{:?}", f.rtt_ms);
    assert_eq!(f.limit_mbps, Some(5.0));
    assert!(f.goodput_mbps < 5.0 && f.delivered_bytes >= *s.delivered_bytes.last().unwrap(), "{f:?}");
}

/// Completion time from the scheduled start to the last byte, including the handshake: of each transfer, and
/// over all.
#[test]
fn transfers_are_timed_from_their_start() {
    let flows = "[flows.f]\nfrom = \"a\"\nto = \"b\"\ncount = 3\nstart = \"1s\"\nstagger = \"3s\"\napp = { kind = \"bulk\", bytes = \"1MB\" }\n";
    let o = run(&path("duration = \"8s\"", "{ kind = \"link\", rate = \"10Mbit/s\" }", 40.0, flows));
    let [first, second, third] = [1, 2, 3].map(|n| flow(&o, &format!("f-{n}")));
    // 1 MB at 10 Mbit/s: 691 packets of 1514 bytes, two RTTs before the first, and slow start.
    let took = first.completion_s.unwrap();
    assert!(took > 0.829 + 0.06 && took < 0.829 + 0.2, "{took}");
    close("alike", second.completion_s.unwrap(), took, 1e-6);
    close("the flow's own time", first.active_s, took - 0.04, 0.5);
    assert!(third.unfinished == third.completion_s.is_none());
    let all = o.variant.completion_s.unwrap();
    assert_eq!((all.count, all.max), (3, took.max(third.completion_s.unwrap())));
}

/// Pages over a relay, and several at once: packet accounts balance, and the same seed gives the same bytes.
#[test]
fn pages_pass_relays() {
    let text = r#"duration = "5s"
[links.lan]
between = ["user", "proxy"]
forward = [{ kind = "delay", delay = "2ms" }]
backward = [{ kind = "delay", delay = "2ms" }]
[links.wan]
between = ["proxy", "web"]
forward = [{ kind = "delay", delay = "20ms" }]
backward = [{ kind = "link", rate = "8Mbit/s", delay = "20ms", queue = { kind = "fq-codel" } }]
[relays.split]
host = "proxy"
[flows.pages]
from = "user"
to = "web"
via = ["split"]
count = 2
stagger = "10ms"
app = { kind = "page", objects = 8, size = "20kB", connections = 4, html = "30kB", think = "200ms" }
"#;
    let o = run(text);
    for f in &o.variant.flows {
        assert!(f.completed.is_some_and(|n| n >= 3), "{f:?}");
        assert!(f.response_s.unwrap().count >= 27 && f.page_s.unwrap().p50 > 0.1);
    }
    assert!(o.variant.total_goodput_mbps > 2.0 && o.variant.total_goodput_mbps < 8.0);
    assert_eq!(format!("{:?}", run(text)), format!("{o:?}"));
}

/// The series holds retransmissions of all connections of a page: as many as the summary counts.
#[test]
fn the_series_has_retransmissions_of_every_connection_of_a_page() {
    let app = "{ kind = \"page\", objects = 40, size = \"60kB\", connections = 6 }";
    let text = path("duration = \"5s\"", "", 40.0, &requests(app)).replace(
        "backward = [",
        "backward = [{ kind = \"link\", rate = \"20Mbit/s\", queue = { kind = \"fifo\", packets = 60 } }, { kind = \"loss\", probability = 0.02 }, ",
    );
    let o = run(&text);
    let (f, s) = (flow(&o, "f"), series(&o, "f"));
    assert_eq!(s.resent.len() as u64, f.retransmitted_packets);
    let mut senders: Vec<u32> = s.resent.iter().map(|r| r.sender).collect();
    senders.sort_unstable();
    senders.dedup();
    assert!(senders.len() >= 6 && senders[0] == 0, "{senders:?}");
}
