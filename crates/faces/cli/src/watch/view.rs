//! The view of `longfat watch` on a terminal: connections by what they move, like `top`.

use super::recording::Recording;
use app::watch::Restorer;
use print::escape;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Row, Table};
use report::watch::{WatchGroups, WatchOrder, WatchRow, limit_text, number_of, rows};
use report::{Lang, say};
use result::watch::{SenderLimit, WatchReport};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

/// Longest time until a key or a new report is noticed.
const POLL: Duration = Duration::from_millis(100);
/// Width from which the table has all columns and whole words.
const WIDE: u16 = 132;
/// Leaves the alternate screen and shows the cursor (xterm's control sequences), as `ratatui::restore` does.
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[?25h";

/// Shows reports until the user quits or there are no more; then the terminal is as before. A panic restores
/// it too (`ratatui::try_init`), and [`Restorer`] does if this process is killed.
///
/// # Errors
/// Fails with an error of the terminal.
pub fn show(
    name: &str,
    lang: Lang,
    reports: &Receiver<WatchReport>,
    recording: &Recording,
) -> io::Result<()> {
    let restorer = Restorer::new(io::stdin().as_fd(), LEAVE)?;
    let mut terminal = ratatui::try_init()?;
    let mut view = View::new(name, lang, recording);
    let shown = loop {
        if let Err(e) = terminal.draw(|frame| view.draw(frame)) {
            break Err(e);
        }
        match wait(&mut view, reports) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    let restored = ratatui::try_restore();
    drop(restorer);
    shown.and(restored)
}

/// Waits for a key or a report. Returns whether to continue.
fn wait(view: &mut View, reports: &Receiver<WatchReport>) -> io::Result<bool> {
    loop {
        if event::poll(POLL)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => return Ok(view.press(key)),
                Event::Resize(..) => return Ok(true),
                _ => {}
            }
        }
        match reports.try_recv() {
            Ok(report) => {
                view.update(report);
                return Ok(true);
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(false),
        }
    }
}

/// A column: the key of its head in `watch.head`, its width (0: what is left), its alignment and its cells.
struct ViewColumn {
    head: &'static str,
    width: u16,
    alignment: Alignment,
    cell: fn(&WatchRow, Lang) -> String,
}

const fn left(head: &'static str, width: u16, cell: fn(&WatchRow, Lang) -> String) -> ViewColumn {
    ViewColumn { head, width, alignment: Alignment::Left, cell }
}

const fn right(head: &'static str, width: u16, cell: fn(&WatchRow, Lang) -> String) -> ViewColumn {
    ViewColumn { head, width, alignment: Alignment::Right, cell }
}

/// The columns of a narrow terminal, 80 columns with the blanks between them.
const NARROW_COLUMNS: [ViewColumn; 8] = [
    left("peer", 0, |r, _| r.peer.clone()),
    left("process", 9, |r, _| r.process.clone()),
    right("rate", 6, |r, _| r.rate.clone()),
    right("rtt", 7, |r, _| r.rtt.clone()),
    right("retransmitted", 5, |r, _| r.retransmitted.clone()),
    right("cwnd", 5, |r, _| r.cwnd.clone()),
    left("now", 10, |r, lang| limit_text(r.limits[0], true, lang)),
    left("minute", 10, |r, lang| limit_text(r.limits[1], true, lang)),
];

const WIDE_COLUMNS: [ViewColumn; 10] = [
    left("connection", 0, |r, _| r.connection.clone()),
    left("process", 24, |r, _| match r.pid.is_empty() {
        true => r.process.clone(),
        false => format!("{} ({})", r.process, r.pid),
    }),
    right("sent", 9, |r, _| r.sent.clone()),
    right("received", 9, |r, _| r.received.clone()),
    right("rtt.wide", 10, |r, _| r.rtt.clone()),
    right("retransmitted.wide", 6, |r, _| r.retransmitted.clone()),
    right("cwnd", 5, |r, _| r.cwnd.clone()),
    left("control", 8, |r, _| r.control.clone()),
    left("now", 19, |r, lang| limit_text(r.limits[0], false, lang)),
    left("minute.wide", 19, |r, lang| limit_text(r.limits[1], false, lang)),
];

/// The state of the view.
struct View {
    /// Name of the watched program, device or host, escaped.
    name: String,
    report: WatchReport,
    order: WatchOrder,
    groups: WatchGroups,
    is_frozen: bool,
    /// Number of rows above the first visible one.
    scrolled: usize,
    has_color: bool,
    /// The capture that `w` begins and ends.
    recording: Recording,
    lang: Lang,
}

impl View {
    fn new(name: &str, lang: Lang, recording: &Recording) -> View {
        View {
            lang,
            name: escape::value(name).into_owned(),
            report: WatchReport::default(),
            order: WatchOrder::default(),
            groups: WatchGroups::default(),
            is_frozen: false,
            scrolled: 0,
            has_color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            recording: recording.clone(),
        }
    }

    /// Takes a new report, unless the view is frozen.
    fn update(&mut self, report: WatchReport) {
        if !self.is_frozen {
            self.report = report;
        }
    }

    /// Handles a key. Returns whether to continue.
    fn press(&mut self, key: KeyEvent) -> bool {
        let shift_order = |by: usize| {
            let all = WatchOrder::ALL;
            let now = all.iter().position(|order| *order == self.order).unwrap_or(0);
            all[(now + by) % all.len()]
        };
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char('s') | KeyCode::Right => self.order = shift_order(1),
            KeyCode::Left => self.order = shift_order(WatchOrder::ALL.len() - 1),
            KeyCode::Char('g') => {
                self.scrolled = 0;
                self.groups = match self.groups {
                    WatchGroups::None => WatchGroups::Process,
                    WatchGroups::Process => WatchGroups::Peer,
                    WatchGroups::Peer => WatchGroups::None,
                }
            }
            KeyCode::Char('w') => self.recording.toggle(Path::new(".")),
            KeyCode::Char(' ') => self.is_frozen = !self.is_frozen,
            KeyCode::Down => self.scrolled += 1,
            KeyCode::Up => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::PageDown => self.scrolled += 10,
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(10),
            KeyCode::Home => self.scrolled = 0,
            _ => {}
        }
        true
    }

    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        say(self.lang, key, values)
    }

    /// The line above the table.
    fn title(&self) -> String {
        let r = &self.report;
        if r.schema.is_empty() {
            return self.say("watch.title.none", &[("name", &self.name)]);
        }
        let missed = match r.missed_packets {
            0 => String::new(),
            n => self.say("watch.title.missed", &[("n", &n.to_string())]),
        };
        let [sent, received] = [r.sent_mbps, r.received_mbps].map(report::watch::rate);
        let values = [
            ("name", &self.name[..]),
            ("seconds", &format!("{:.0}", r.elapsed_s)),
            ("connections", &number_of(r.count, self.lang)),
            ("sent", &sent),
            ("received", &received),
        ];
        self.say("watch.title", &values) + &missed
    }

    /// The line below the table.
    fn state(&self) -> String {
        let groups = match self.groups {
            WatchGroups::None => String::new(),
            WatchGroups::Process => self.say("watch.group.process", &[]),
            WatchGroups::Peer => self.say("watch.group.peer", &[]),
        };
        let frozen = match self.is_frozen {
            true => format!("  {}", self.say("watch.frozen", &[])),
            false => String::new(),
        };
        let written = match self.recording.message() {
            message if message.is_empty() => message,
            message => format!("{}  ", escape::value(&message)),
        };
        let keys = self.say("watch.keys", &[]);
        format!("{written}{keys}  [{}{groups}]{frozen}", self.order.name(self.lang))
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let all = rows(&self.report, self.groups, self.order, self.lang);
        let lines = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let [title, body, state] = Layout::vertical(lines).areas(frame.area());
        let visible = usize::from(body.height.saturating_sub(1));
        self.scrolled = self.scrolled.min(all.len().saturating_sub(visible));
        let columns = if body.width >= WIDE { &WIDE_COLUMNS[..] } else { &NARROW_COLUMNS[..] };
        let cell = |text: String, column: &ViewColumn| {
            Cell::new(Text::from(Line::from(text).alignment(column.alignment)))
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let head =
            columns.iter().map(|column| cell(self.say(&format!("watch.head.{}", column.head), &[]), column));
        let shown = all.iter().skip(self.scrolled).take(visible);
        let shown = shown.map(|row| {
            let idle = matches!(row.limits[0], None | Some((SenderLimit::Idle, _)));
            let style =
                if idle && self.has_color { Style::new().add_modifier(Modifier::DIM) } else { Style::new() };
            Row::new(columns.iter().map(|column| cell((column.cell)(row, self.lang), column))).style(style)
        });
        let widths = columns.iter().map(|column| match column.width {
            0 => Constraint::Fill(1),
            width => Constraint::Length(width),
        });
        let table = Table::new(shown, widths).header(Row::new(head).style(bold)).column_spacing(1);
        frame.render_widget(Line::from(self.title()).style(bold), title);
        frame.render_widget(table, body);
        frame.render_widget(Line::from(self.state()), state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    /// A report as `--live json` prints it.
    fn report() -> WatchReport {
        let activity = |sent: f64, received: f64, window: f64, limit: &str| {
            json!({
                "seconds": 1.0, "sent_bytes": (sent * 125e3) as u64, "received_bytes": (received * 125e3) as u64,
                "sent_mbps": sent, "received_mbps": received, "sent_packets": 1000,
                "retransmitted_packets": 12, "limit": limit,
                "sender_s": {
                    "receive_window": window, "send_buffer": 0.0, "application": 0.0,
                    "network": 1.0 - window, "unknown": 0.0,
                },
            })
        };
        let connection = |local: &str, remote: &str, name: &str, activity: serde_json::Value| {
            json!({
                "local": local, "remote": remote, "process": { "pid": 4711, "name": name },
                "control": "cubic", "cwnd_packets": 56, "rtt_ms": 40.4, "min_rtt_ms": 38.2, "ended": false,
                "last_second": activity, "last_minute": activity,
            })
        };
        let value = json!({
            "schema": "longfat-watch/1", "at_s": 1.0, "elapsed_s": 12.0, "seconds": 1.0, "count": 3,
            "sent_mbps": 17.0, "received_mbps": 5.0, "omitted": 0, "missed_packets": 0,
            "connections": [
                connection("10.0.0.1:53998", "10.0.0.2:5201", "python3", activity(16.1, 0.0, 0.97, "receive-window")),
                connection(
                    "[2001:db8::1]:53998", "[2001:db8:1234:5678:9abc:def0:1234:5678]:443",
                    "evil\x1b]0;x\x07\u{9b}31m\u{202e}", activity(0.0, 5.0, 0.0, "other-end"),
                ),
                connection("10.0.0.1:40000", "192.168.100.200:40443", "a\nb", activity(0.9, 0.0, 0.0, "network")),
            ],
        });
        serde_json::from_value(value).expect("a report")
    }

    fn drawn(view: &mut View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| view.draw(frame)).expect("draws");
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_string()).collect()
    }

    fn view() -> View {
        let mut view = View::new("this host", Lang::En, &Recording::default());
        view.update(report());
        view
    }

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn eighty_columns_hold_the_most_important() {
        let lines = drawn(&mut view(), 80, 8);
        assert_eq!(
            lines[0],
            "longfat watch this host: 12 s, 3 connections, sent 17.0 and received 5.00 Mbit/s"
        );
        assert_eq!(
            lines[1],
            "peer                  process     Mb/s RTT/min retr%  cwnd limit now  last min"
        );
        assert_eq!(
            lines[2],
            "10.0.0.2:5201         python3    16.1\u{2191}   40/38  1.20    56 window 97  window 97"
        );
        assert!(lines[3].ends_with("other end  other end"), "{}", lines[3]);
        assert!(lines[4].starts_with("192.168.100.200:40443 "), "{}", lines[4]);
        assert!(lines[7].starts_with("q quit"), "{}", lines[7]);
    }

    /// Wide characters take two cells, of which the second is empty.
    #[test]
    fn eighty_columns_hold_the_most_important_in_chinese() {
        let mut view = View { lang: Lang::Zh, name: "本机".into(), ..view() };
        view.press(key(KeyCode::Char('g')));
        let lines: Vec<String> = drawn(&mut view, 80, 8).iter().map(|line| line.replace(' ', "")).collect();
        assert_eq!(lines[0], "longfatwatch本机：12秒，3个连接，发送17.0、接收5.00Mbit/s");
        assert_eq!(lines[1], "对端进程Mb/sRTT/min重传%cwnd当前受限近一分钟");
        assert_eq!(lines[2], "1个连接python316.1↑40/381.2056接收窗97接收窗97");
        assert_eq!(lines[7], "q退出s排序g分组空格暂停w抓包↑↓滚动[速率，按进程]");
    }

    #[test]
    fn two_hundred_columns_hold_everything() {
        let lines = drawn(&mut view(), 200, 8);
        for text in [
            "10.0.0.1:53998 -> 10.0.0.2:5201",
            "python3 (4711)",
            "16.1",
            "40/38",
            "1.20",
            "cubic",
            "receive window 97 %",
        ] {
            assert!(lines[2].contains(text), "{text}: {}", lines[2]);
        }
        assert!(lines[3].contains("[2001:db8::1]:53998 -> [2001:db8:1234:5678:9abc:def0:1234:5678]:443"));
    }

    #[test]
    fn no_invisible_character_reaches_the_terminal() {
        for width in [20, 80, 200] {
            let mut view = View::new("x\x1b[2J", Lang::En, &Recording::default());
            view.update(report());
            for _ in 0..3 {
                let text = drawn(&mut view, width, 10).concat();
                assert!(!text.chars().any(print::is_unseen), "{text:?}");
                view.press(key(KeyCode::Char('g')));
            }
        }
    }

    #[test]
    fn keys_change_the_view() {
        let mut view = view();
        assert!(!view.press(key(KeyCode::Char('q'))));
        assert!(!view.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(view.press(key(KeyCode::Char('s'))) && view.order == WatchOrder::Rtt);
        assert!(view.press(key(KeyCode::Left)) && view.order == WatchOrder::Rate);
        assert!(view.press(key(KeyCode::Left)) && view.order == WatchOrder::Peer);
        view.press(key(KeyCode::Char('g')));
        assert!(drawn(&mut view, 80, 8)[7].ends_with("[peer, by process]"));
        view.press(key(KeyCode::Char('w')));
        assert!(drawn(&mut view, 200, 8)[7].contains("cannot write: packets are not captured"));
        view.press(key(KeyCode::Char(' ')));
        view.update(WatchReport::default());
        assert_eq!(view.report.count, 3, "frozen");
        (0..9).for_each(|_| _ = view.press(key(KeyCode::Down)));
        // Two rows are visible of three.
        let lines = drawn(&mut view, 80, 5);
        assert_eq!(view.scrolled, 1, "{lines:?}");
    }
}
