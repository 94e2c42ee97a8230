//! The questions that are being answered: their progress, and a limit on their number.

use super::connection::Connection;
use super::request::MAX_QUESTION;
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of simultaneous questions: more than a browser has connections to one server.
const MAX_QUESTIONS: usize = 8;
/// The longest time that an answer may take.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(600);

/// Progress of an answer: the part done, the total, and whether these are bytes of a capture that is read.
pub type AnswerProgress = (f64, f64, bool);

/// The questions in progress, by the numbers that their pages chose.
#[derive(Default)]
pub struct Questions(Mutex<HashMap<u64, AnswerProgress>>);

/// A registered question; dropping it removes it from [`Questions`].
struct Underway<'a> {
    questions: &'a Questions,
    number: u64,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.number);
    }
}

/// The capture that follows a question in a request's body, read by the engine.
struct CaptureBody {
    connection: Arc<Mutex<Connection>>,
    questions: Arc<Questions>,
    number: u64,
    /// Bytes read so far.
    read: u64,
    /// Bytes of the capture.
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

/// An answer and the time that the engine took.
pub struct Answered {
    pub pieces: Vec<Vec<u8>>,
    pub took: Duration,
}

impl Answered {
    fn refusal(why: &str) -> Answered {
        Answered { pieces: ::explore::refused(why), took: Duration::ZERO }
    }
}

impl Questions {
    /// Returns the progress of a question, if it is being answered.
    pub fn progress(&self, number: u64) -> Option<AnswerProgress> {
        self.lock().get(&number).copied()
    }

    /// Answers the question in a request's body of `length` bytes: a line of JSON, followed by a capture if
    /// the question is about one. The run is cancelled when the browser closes the connection.
    pub fn answer(
        self: &Arc<Self>,
        connection: &Arc<Mutex<Connection>>,
        number: u64,
        length: u64,
    ) -> io::Result<Answered> {
        let began = Instant::now();
        let deadline = began + MAX_ANSWER_TIME;
        unpoisoned(connection).expect(length, deadline);
        let Some(_underway) = self.begin(number) else {
            return Ok(Answered::refusal(
                "longfat explore is busy with other questions: close another of its pages",
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
                "this took longer than 10 minutes; use longfat run, which has no time limit",
            ));
        }
        Ok(Answered { pieces, took: began.elapsed() })
    }

    /// Registers a question, unless [`MAX_QUESTIONS`] are in progress or the number is in use.
    fn begin(&self, number: u64) -> Option<Underway<'_>> {
        let mut questions = self.lock();
        if questions.len() >= MAX_QUESTIONS || questions.contains_key(&number) {
            return None;
        }
        questions.insert(number, (0.0, 1.0, false));
        Some(Underway { questions: self, number })
    }

    /// Updates the progress of a question, unless it has been answered.
    fn progressed(&self, number: u64, progress: AnswerProgress) {
        if let Some(held) = self.lock().get_mut(&number) {
            *held = progress;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, AnswerProgress>> {
        unpoisoned(&self.0)
    }
}

/// Locks a mutex, poisoned or not: a panic cannot leave its data half changed.
pub fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_questions_is_limited_and_each_has_its_own_number() {
        let questions = Questions::default();
        let mut underway: Vec<_> = (0..MAX_QUESTIONS as u64).map(|n| questions.begin(n).unwrap()).collect();
        assert!(questions.begin(99).is_none(), "all places are taken");
        underway.truncate(1);
        assert!(questions.begin(0).is_none(), "the number is in use");
        assert!(questions.begin(99).is_some());
        questions.progressed(0, (1.0, 2.0, false));
        assert_eq!(questions.progress(0), Some((1.0, 2.0, false)));
        drop(underway);
        questions.progressed(0, (1.0, 2.0, false));
        assert_eq!(questions.progress(0), None, "it has been answered");
    }
}
