//! Runs a lab without privileges: in a forked process that is root of its own user namespace and sends the
//! result back through a pipe.
//!
//! Only a single-threaded process can enter a user namespace, hence the fork. The child dies with its parent.

use crate::LabError;
use crate::shell::ShellEvent;
use linux::process::{self, Forked, Pid};
use linux::{namespace, pipe, signal};
use result::{Outcome, Packer, Unpacker};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use units::Time;

/// Messages from the child, each preceded by its length.
enum Message {
    Progress(Time),
    Notice(String),
    /// Output of the daemons' show commands.
    Shown(String),
    Done(Box<Outcome>),
    Failed(LabError),
    /// A shell's command was stopped, and the child with it.
    Suspend,
    /// Exit code of a shell's command.
    Ended(i32),
}

/// Runs `work` in a child process with its own user namespace.
pub fn run_in_user_namespace(
    work: impl FnOnce(&mut dyn FnMut(Time), &mut [Vec<String>; 2]) -> Result<Outcome, LabError>,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Time),
    notice: &mut dyn FnMut(&str),
    shown: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    let (pid, mut reading) = fork_into_user_namespace(|pipe| {
        let mut texts = [Vec::new(), Vec::new()];
        let done = work(&mut |now| drop(send(pipe, &Message::Progress(now))), &mut texts);
        let [notices, answers] = texts;
        for message in notices.into_iter().map(Message::Notice).chain(answers.into_iter().map(Message::Shown))
        {
            drop(send(pipe, &message));
        }
        done.map(|outcome| Message::Done(Box::new(outcome)))
    })?;
    let outcome = loop {
        if cancel.load(Relaxed) {
            break Err(LabError::Stopped);
        }
        match receive(&mut reading) {
            Ok(Message::Progress(now)) => progress(now),
            Ok(Message::Notice(text)) => notice(&text),
            Ok(Message::Shown(text)) => shown(&text),
            Ok(Message::Done(outcome)) => break Ok(*outcome),
            Ok(Message::Failed(error)) => break Err(error),
            Ok(Message::Suspend | Message::Ended(_)) | Err(_) => break Err(LabError::Killed),
        }
    };
    process::reap(pid);
    outcome
}

/// Runs a shell in a child process with its own user namespace and the same terminal.
pub fn shell_in_user_namespace(
    work: impl FnOnce(&mut dyn FnMut(ShellEvent)) -> Result<i32, LabError>,
    notice: &mut dyn FnMut(&str),
) -> Result<i32, LabError> {
    let (pid, mut reading) = fork_into_user_namespace(|pipe| {
        let mut report = |what: ShellEvent| {
            let message = match what {
                ShellEvent::Notice(text) => Message::Notice(text.into()),
                ShellEvent::Suspend => Message::Suspend,
            };
            drop(send(pipe, &message));
        };
        work(&mut report).map(Message::Ended)
    })?;
    let _keys = signal::Ignored::terminal_keys();
    let code = loop {
        match receive(&mut reading) {
            Ok(Message::Notice(text)) => notice(&text),
            Ok(Message::Suspend) => {
                signal::suspend();
                process::resume(pid);
            }
            Ok(Message::Ended(code)) => break Ok(code),
            Ok(Message::Failed(error)) => break Err(error),
            Ok(Message::Progress(_) | Message::Shown(_) | Message::Done(_)) | Err(_) => {
                break Err(LabError::Killed);
            }
        }
    };
    process::reap(pid);
    code
}

/// Runs a check in a child process with its own user namespace.
pub fn try_in_user_namespace(work: impl FnOnce() -> Result<(), LabError>) -> Result<(), LabError> {
    let (pid, mut reading) = fork_into_user_namespace(|_| work().map(|()| Message::Ended(0)))?;
    let result = match receive(&mut reading) {
        Ok(Message::Ended(_)) => Ok(()),
        Ok(Message::Failed(error)) => Err(error),
        _ => Err(LabError::Killed),
    };
    process::reap(pid);
    result
}

/// Forks a process that becomes root of a new user namespace and runs `work`, whose message is its last.
/// Returns the process and the pipe that it writes to.
fn fork_into_user_namespace(
    work: impl FnOnce(&mut File) -> Result<Message, LabError>,
) -> Result<(Pid, File), LabError> {
    let (reading, writing) = pipe::pipe().map_err(LabError::system("a pipe"))?;
    let parent = process::own_id();
    match process::fork().map_err(LabError::system("forking"))? {
        Forked::Child => {
            drop(reading);
            process::die_with_parent();
            if process::parent() == Some(parent) {
                let mut pipe = File::from(writing);
                let entered = namespace::enter_new_user().map_err(|e| LabError::Permission {
                    missing: "CAP_SYS_ADMIN".into(),
                    why: format!(
                        "needed for network namespaces; creating a user namespace instead failed: {}",
                        namespace::refusal(&e, "user")
                    ),
                });
                let last = entered.and_then(|()| work(&mut pipe)).unwrap_or_else(Message::Failed);
                drop(send(&mut pipe, &last));
            }
            process::exit_now(0)
        }
        Forked::Parent(pid) => Ok((pid, File::from(reading))),
    }
}

fn send(pipe: &mut File, message: &Message) -> io::Result<()> {
    let mut b = Packer::default();
    match message {
        Message::Progress(now) => {
            b.text("progress");
            b.count(now.as_nanos());
        }
        Message::Notice(text) => {
            b.text("notice");
            b.text(text);
        }
        Message::Shown(text) => {
            b.text("shown");
            b.text(text);
        }
        Message::Failed(error) => {
            b.text("failed");
            put_error(&mut b, error);
        }
        Message::Done(outcome) => {
            b.text("done");
            b.outcome(outcome);
        }
        Message::Suspend => b.text("suspend"),
        Message::Ended(code) => {
            b.text("ended");
            b.numbers(&[*code], i32::to_ne_bytes);
        }
    }
    pipe.write_all(&(b.0.len() as u64).to_ne_bytes())?;
    pipe.write_all(&b.0)
}

fn receive(pipe: &mut File) -> io::Result<Message> {
    let mut len = [0; 8];
    pipe.read_exact(&mut len)?;
    let mut bytes = Vec::new();
    pipe.take(u64::from_ne_bytes(len)).read_to_end(&mut bytes)?;
    let mut p = Unpacker(&bytes);
    let message = p.text().and_then(|kind| match kind.as_str() {
        "progress" => Some(Message::Progress(Time::from_nanos(p.count()?))),
        "notice" => Some(Message::Notice(p.text()?)),
        "shown" => Some(Message::Shown(p.text()?)),
        "suspend" => Some(Message::Suspend),
        "ended" => Some(Message::Ended(p.numbers(i32::from_ne_bytes)?.pop()?)),
        "failed" => Some(Message::Failed(get_error(&mut p)?)),
        _ => Some(Message::Done(Box::new(p.outcome()?))),
    });
    message.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn put_error(b: &mut Packer, error: &LabError) {
    match error {
        LabError::Permission { missing, why } => b.texts(&["permission", missing, why]),
        LabError::Unsupported { key, why } => b.texts(&["unsupported", key, why]),
        LabError::Congestion { who, wanted, why } => b.texts(&["congestion", who, wanted, why]),
        LabError::Program { flow, what } => b.texts(&["program", flow, what]),
        LabError::Relay { relay, what } => b.texts(&["relay", relay, what]),
        LabError::Service { host, what } => b.texts(&["service", host, what]),
        LabError::System { what, source } => {
            let code = source.raw_os_error().unwrap_or(0).to_string();
            b.texts(&["system", what, &code, &source.to_string()]);
        }
        LabError::Command { name, source, .. } => {
            b.texts(&["command", name, &source.raw_os_error().unwrap_or(0).to_string()]);
        }
        LabError::User(why) => b.texts(&["user", why]),
        LabError::Programs(lines) => b.texts(&["programs", lines]),
        LabError::Died { component, how } => b.texts(&["died", component, how]),
        LabError::Stopped => b.texts(&["stopped"]),
        LabError::Killed => b.texts(&["killed"]),
    }
}

fn get_error(p: &mut Unpacker) -> Option<LabError> {
    let mut t = p.texts()?.into_iter();
    Some(match t.next()?.as_str() {
        "permission" => LabError::Permission { missing: t.next()?, why: t.next()? },
        "unsupported" => LabError::Unsupported { key: t.next()?, why: t.next()? },
        "congestion" => LabError::Congestion { who: t.next()?, wanted: t.next()?, why: t.next()? },
        "program" => LabError::Program { flow: t.next()?, what: t.next()? },
        "relay" => LabError::Relay { relay: t.next()?, what: t.next()? },
        "service" => LabError::Service { host: t.next()?, what: t.next()? },
        "system" => {
            let what = t.next()?;
            let source = match t.next()?.parse().ok()? {
                0 => io::Error::other(t.next()?),
                code => io::Error::from_raw_os_error(code),
            };
            LabError::System { what, source }
        }
        "command" => {
            let name = t.next()?;
            let source = io::Error::from_raw_os_error(t.next()?.parse().ok()?);
            // Only programs started by root have a hint.
            LabError::Command { name, source, hint: None }
        }
        "user" => LabError::User(t.next()?),
        "programs" => LabError::Programs(t.next()?),
        "died" => LabError::Died { component: t.next()?, how: t.next()? },
        "stopped" => LabError::Stopped,
        _ => LabError::Killed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{ElementPoint, ElementSeries, FlowPoint, FlowSeries, Resent, Response};

    #[test]
    fn messages_of_the_child_arrive_unchanged() {
        let (reading, writing) = pipe::pipe().unwrap();
        let (mut reading, mut writing) = (File::from(reading), File::from(writing));
        let mut o = Outcome::default();
        o.variant.name = "v".into();
        let mut flow = FlowSeries::new("f");
        for (time_s, ssthresh, rtt_ms, state) in
            [(0.0, None, None, "slow start"), (0.5, Some(7), Some(30.5), "avoidance")]
        {
            flow.push(FlowPoint { time_s, ssthresh, rtt_ms, state, ..FlowPoint::default() });
        }
        flow.resent = vec![Resent { time_s: 0.25, byte: 1448, len: 1448, sender: 0 }];
        flow.responses = vec![Response { start_s: 0.125, seconds: 0.25, what: "page".into() }];
        o.flow_series.push(flow);
        let mut element = ElementSeries { name: "e".into(), ..ElementSeries::default() };
        element.push(ElementPoint { dropped: 3, tokens_bytes: Some(1500.0), ..ElementPoint::default() });
        o.element_series.push(element);
        let error = LabError::Congestion { who: "flow f".into(), wanted: "bbr3".into(), why: "no".into() };
        let text = error.to_string();
        for m in [
            Message::Progress(Time::from_nanos(7)),
            Message::Notice("n".into()),
            Message::Failed(error),
            Message::Suspend,
            Message::Ended(143),
            Message::Done(Box::new(o.clone())),
        ] {
            send(&mut writing, &m).unwrap();
        }
        assert!(matches!(receive(&mut reading), Ok(Message::Progress(t)) if t.as_nanos() == 7));
        assert!(matches!(receive(&mut reading), Ok(Message::Notice(t)) if t == "n"));
        assert!(matches!(receive(&mut reading), Ok(Message::Failed(e)) if e.to_string() == text));
        assert!(matches!(receive(&mut reading), Ok(Message::Suspend)));
        assert!(matches!(receive(&mut reading), Ok(Message::Ended(143))));
        assert!(matches!(receive(&mut reading), Ok(Message::Done(got)) if *got == o));
    }

    #[test]
    fn errors_keep_their_text() {
        let error = || io::Error::from_raw_os_error(libc::EPERM);
        for e in [
            LabError::Permission { missing: "CAP_X".into(), why: "it is".into() },
            LabError::unsupported("flows.f.cc", "no"),
            LabError::Programs("\n  flows.f.tool: there is no curl".into()),
            LabError::Program { flow: "f".into(), what: "gone".into() },
            LabError::Relay { relay: "r".into(), what: "gone".into() },
            LabError::Service { host: "h".into(), what: "gone".into() },
            LabError::System { what: "making it".into(), source: error() },
            LabError::Command { name: "x".into(), source: error(), hint: None },
            LabError::User("nobody".into()),
            LabError::Died { component: "a thread".into(), how: "it panicked".into() },
            LabError::Stopped,
            LabError::Killed,
        ] {
            let mut packed = Packer::default();
            put_error(&mut packed, &e);
            let got = get_error(&mut Unpacker(&packed.0)).expect("an error");
            assert_eq!(got.to_string(), e.to_string());
        }
    }
}
