//! Repeats a measurement: a number of times, or at intervals.

use super::run::{MeasureOptions, OnStep, measure, now};
use super::series::SeriesRun;
use std::time::{Duration, Instant};

/// When measurements begin, and how many there are. Without an end they go on until they are interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasureSchedule {
    /// Number of measurements.
    pub repeat: Option<u32>,
    /// Interval between the beginnings of two measurements. `None`: each follows the one before.
    pub every: Option<Duration>,
    /// Time after which no measurement begins.
    pub time: Option<Duration>,
}

impl MeasureSchedule {
    /// Returns when the next measurement begins, after the start of the first one; `None` if there is none.
    /// `begun` have begun before, and this time has passed. A measurement that takes longer than the interval
    /// skips beginnings.
    pub fn next(&self, begun: u32, passed: Duration) -> Option<Duration> {
        let due = match self.every {
            Some(every) if begun > 0 && !every.is_zero() => {
                every.saturating_mul(passed.as_nanos().div_ceil(every.as_nanos()) as u32)
            }
            _ => passed,
        };
        let is_over = self.repeat.is_some_and(|n| begun >= n) || self.time.is_some_and(|time| due >= time);
        (!is_over).then_some(due)
    }
}

/// Measures again and again. `done` gets each measurement, or why it failed; it ends the series by an error.
/// One that is interrupted is left out.
///
/// # Errors
/// Fails with the error of `done`.
pub fn measure_again<E>(
    options: &MeasureOptions,
    schedule: &MeasureSchedule,
    step: OnStep<'_>,
    interrupted: &mut dyn FnMut() -> bool,
    done: &mut dyn FnMut(SeriesRun) -> Result<(), E>,
) -> Result<(), E> {
    let begin = Instant::now();
    let mut begun = 0;
    while let Some(due) = schedule.next(begun, begin.elapsed()) {
        while begin.elapsed() < due && !interrupted() {
            std::thread::sleep((due - begin.elapsed().min(due)).min(Duration::from_millis(50)));
        }
        if interrupted() {
            break;
        }
        begun += 1;
        let at = now();
        let measured = measure(options, step, interrupted);
        if interrupted() {
            break;
        }
        match measured {
            Ok(m) => {
                let run =
                    SeriesRun { at: m.measurement.at.clone(), measurement: Some(m.measurement), error: None };
                done(run)?;
            }
            Err(e) => done(SeriesRun { at, measurement: None, error: Some(e.to_string()) })?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_begin_at_whole_intervals_until_their_end() {
        let s = Duration::from_secs;
        let day = MeasureSchedule { every: Some(s(600)), time: Some(s(3600)), repeat: None };
        assert_eq!(day.next(0, s(0)), Some(s(0)));
        assert_eq!(day.next(1, s(62)), Some(s(600)));
        assert_eq!(day.next(2, s(1300)), Some(s(1800)), "one that takes too long skips a beginning");
        assert_eq!(day.next(6, s(3100)), None, "the next one would begin at the end");
        let thrice = MeasureSchedule { repeat: Some(3), ..MeasureSchedule::default() };
        assert_eq!((thrice.next(2, s(99)), thrice.next(3, s(140))), (Some(s(99)), None));
        assert_eq!(MeasureSchedule::default().next(9, s(1)), Some(s(1)), "no end");
    }
}
