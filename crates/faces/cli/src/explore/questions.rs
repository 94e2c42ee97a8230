//! Questions that are being answered: how far each is, and how many may be at once.

use super::connection::Connection;
use super::request::MAX_QUESTION;
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Questions that are answered at once: more than a browser has connections to one server.
const MAX_AT_ONCE: usize = 8;
/// How long an answer may take.
const MAX_ANSWER: Duration = Duration::from_secs(600);

/// How far an answer is: now, all, and whether these are bytes of a capture.
pub type AnswerProgress = (f64, f64, bool);

/// The questions under way, by the numbers that their pages chose.
#[derive(Default)]
pub struct Questions(Mutex<HashMap<u64, AnswerProgress>>);

/// A question under way. It ends when this is dropped.
struct Underway<'a> {
    questions: &'a Questions,
    number: u64,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.number);
    }
}

/// The capture behind a question, for the engine; the server keeps the connection.
struct CaptureBody {
    connection: Arc<Mutex<Connection>>,
    questions: Arc<Questions>,
    number: u64,
    /// Bytes that were read, and of the whole.
    read: u64,
    length: u64,
}

impl Read for CaptureBody {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = unpoisoned(&self.connection).read(out)?;
        self.read += n as u64;
        self.questions.progressed(self.number, (self.read as f64, self.length as f64, true));
        Ok(n)
    }
}

/// What came of a question.
pub struct Answered {
    /// The pieces of its answer.
    pub pieces: Vec<Vec<u8>>,
    /// How long the engine took.
    pub took: Duration,
}

impl Answered {
    fn refusal(why: &str) -> Answered {
        Answered { pieces: ::explore::refused(why), took: Duration::ZERO }
    }
}

impl Questions {
    /// How far the answer to a question is.
    pub fn progress(&self, number: u64) -> Option<AnswerProgress> {
        self.lock().get(&number).copied()
    }

    /// Answers the question that a request's body of so many bytes holds: a line of JSON, then a capture, if it is about one.
    /// The run ends early when the browser closes the connection.
    pub fn answer(
        self: &Arc<Self>,
        connection: &Arc<Mutex<Connection>>,
        number: u64,
        length: u64,
    ) -> io::Result<Answered> {
        let began = Instant::now();
        let deadline = began + MAX_ANSWER;
        unpoisoned(connection).expect(length, deadline);
        let Some(_underway) = self.begin(number) else {
            return Ok(Answered::refusal(
                "longfat explore answers no more questions at once: close another page of it",
            ));
        };
        let Some(question) = unpoisoned(connection).line(MAX_QUESTION)? else {
            return Ok(Answered::refusal("the question is too long"));
        };
        let capture = CaptureBody {
            connection: connection.clone(),
            questions: self.clone(),
            number,
            read: 0,
            length: length - question.len() as u64,
        };
        let mut is_late = false;
        let mut watch = |now, all| {
            self.progressed(number, (now, all, false));
            is_late |= Instant::now() > deadline;
            let is_unwanted = is_late || unpoisoned(connection).is_closed();
            if is_unwanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let pieces = ::explore::answer(&question, &mut watch, Box::new(capture));
        if is_late {
            return Ok(Answered::refusal(
                "it took longer than 10 minutes: longfat run has all the time it needs",
            ));
        }
        Ok(Answered { pieces, took: began.elapsed() })
    }

    /// Takes up a question, unless there are enough, or there is one of its number.
    fn begin(&self, number: u64) -> Option<Underway<'_>> {
        let mut questions = self.lock();
        if questions.len() >= MAX_AT_ONCE || questions.contains_key(&number) {
            return None;
        }
        questions.insert(number, (0.0, 1.0, false));
        Some(Underway { questions: self, number })
    }

    /// Keeps how far a question is, unless its answer is there.
    fn progressed(&self, number: u64, progress: AnswerProgress) {
        if let Some(held) = self.lock().get_mut(&number) {
            *held = progress;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, AnswerProgress>> {
        unpoisoned(&self.0)
    }
}

/// A lock whose holder cannot leave its data half changed.
pub fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_answered_at_once_each_under_its_own_number() {
        let questions = Questions::default();
        let mut underway: Vec<_> = (0..MAX_AT_ONCE as u64).map(|n| questions.begin(n).unwrap()).collect();
        assert!(questions.begin(99).is_none(), "enough are under way");
        underway.truncate(1);
        assert!(questions.begin(0).is_none(), "its number is taken");
        assert!(questions.begin(99).is_some());
        questions.progressed(0, (1.0, 2.0, false));
        assert_eq!(questions.progress(0), Some((1.0, 2.0, false)));
        drop(underway);
        questions.progressed(0, (1.0, 2.0, false));
        assert_eq!(questions.progress(0), None, "its answer is there");
    }
}
