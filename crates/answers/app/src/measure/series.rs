//! Several measurements of one path: repeats, or one every few minutes over a day.

use super::model::{Direction, Limiter, LimiterFound, Measurement, StreamTest, cure_title, test_title};
use print::{three_digits as digits, wrap};
use report::figures::{ascending, five_numbers, quantile};
use report::{Lang, Style, Table, word};
use result::{ChangeKind, Expectation, Measure, Quantity, Subject};
use serde::{Deserialize, Serialize};

/// Version of the format.
pub const SERIES_SCHEMA: &str = "longfat-measure-series/1";

/// Most measurements that are shown in a row each; more are shown by the hour.
const MAX_ROWS: usize = 24;

/// Several measurements of one path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MeasurementSeries {
    /// Name and version of this format.
    pub schema: String,
    /// Language of the sentences: `en` or `zh`.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "String"))]
    pub lang: Lang,
    /// One sentence: that of the typical measurement (the median upload of those that agree on the kind of
    /// limit), and how many there were.
    pub headline: String,
    /// Statistics over the measurements, one for each quantity that was measured.
    pub figures: Vec<SeriesFigure>,
    /// The measurements in the order in which they began.
    pub runs: Vec<SeriesRun>,
    /// The conditions of `--expect`, checked on medians; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub expectations: Vec<Expectation>,
}

/// One measurement of a series, or why there is none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesRun {
    /// Start (RFC 3339, UTC).
    pub at: String,
    /// The measurement; absent if it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measurement: Option<Measurement>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// Statistics of a quantity over the measurements of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesFigure {
    /// Test and quantity, as in `--expect`: `up.goodput`, `idle.rtt`.
    pub name: String,
    /// Unit; empty for counts.
    pub unit: String,
    /// Number of measurements with this quantity.
    pub n: usize,
    /// Minimum, lower quartile, median, upper quartile and maximum.
    pub five_numbers: [f64; 5],
}

impl MeasurementSeries {
    /// Summarises measurements.
    pub fn of(runs: Vec<SeriesRun>) -> MeasurementSeries {
        let mut series =
            MeasurementSeries { schema: SERIES_SCHEMA.into(), runs, ..MeasurementSeries::default() };
        let measurements: Vec<&Measurement> = series.measurements().collect();
        let figure = |measure: &Measure| {
            let values: Vec<f64> = measurements.iter().filter_map(|m| m.value(measure)).collect();
            let (name, unit) = (measure.name(), measure.unit().symbol().into());
            Some(SeriesFigure { name, unit, n: values.len(), five_numbers: five_numbers(values)? })
        };
        series.figures = quantities(&measurements).iter().filter_map(figure).collect();
        let lang = series.measurements().next().map_or(Lang::En, |m| m.lang);
        series.in_language(lang)
    }

    /// The series with its own sentences in a language; those of its measurements remain as they are.
    pub fn in_language(mut self, lang: Lang) -> MeasurementSeries {
        self.lang = lang;
        self.headline = self.headline();
        self
    }

    /// The measurements that did not fail.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        self.runs.iter().filter_map(|run| run.measurement.as_ref())
    }

    /// The limit of a direction's rate that most measurements with trains agree on, with its median rate;
    /// `None` if fewer than half of them find one kind. Trains that do not decide count against it.
    pub fn limiter(&self, direction: Direction) -> Option<&Limiter> {
        let all: Vec<&Limiter> =
            self.measurements().filter_map(|m| m.direction(direction).limiter.as_ref()).collect();
        let kinds = [LimiterFound::Policer, LimiterFound::Shaper, LimiterFound::Link, LimiterFound::None];
        let of = |kind: LimiterFound| all.iter().filter(move |l| l.kind == kind).copied();
        let kind = kinds.into_iter().max_by_key(|kind| of(*kind).count())?;
        let mut same: Vec<&Limiter> = of(kind).collect();
        same.sort_by(|a, b| a.rate_mbps.unwrap_or_default().total_cmp(&b.rate_mbps.unwrap_or_default()));
        same.get(same.len().saturating_sub(1) / 2).copied().filter(|_| 2 * same.len() >= all.len())
    }

    /// The measurement with the median upload (the lower one of two), of those whose trains agree with
    /// [`MeasurementSeries::limiter`] on the kind of limit.
    pub fn typical(&self) -> Option<&Measurement> {
        let kind = self.limiter(Direction::Up).map(|l| l.kind);
        let agrees =
            |m: &&Measurement| kind.is_none_or(|k| m.up.limiter.as_ref().is_some_and(|l| l.kind == k));
        let mut all: Vec<&Measurement> = self.measurements().filter(agrees).collect();
        let upload = |m: &Measurement| m.test("up").map_or(0.0, |t| t.goodput_mbps);
        all.sort_by(|a, b| upload(a).total_cmp(&upload(b)));
        all.get(all.len().saturating_sub(1) / 2).copied()
    }

    fn headline(&self) -> String {
        let (n, all) = (self.measurements().count(), self.runs.len());
        let lang = self.lang;
        let failed = match all - n {
            0 => String::new(),
            failed => say!(lang, "measure.series.failed", failed = failed, all = all),
        };
        match self.typical() {
            Some(m) if n == 1 => format!("{}{failed}", m.headline),
            Some(m) => say!(lang, "measure.series.typical", n = n, headline = m.headline, failed = failed),
            None => say!(lang, "measure.series.none"),
        }
    }

    /// The series as JSON, ended by a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns headline, facts and table; no line is wider than `width` (at least 60). With `over_time` the
    /// table has a row for each measurement, or for each hour of the day where there are many; without, one
    /// for each test.
    pub fn text(&self, width: usize, over_time: bool) -> String {
        let width = width.max(60);
        let mut text = wrap(&self.headline, width, "");
        self.facts().iter().for_each(|fact| text += &wrap(fact, width, "  - "));
        let table = if over_time { self.table_over_time() } else { self.table_of_tests() };
        if table.rows() > 0 {
            text += "\n";
            text += &table.text(Style::plain(width));
        }
        text
    }

    /// Returns what all measurements say together, a sentence each.
    pub fn facts(&self) -> Vec<String> {
        let (mut facts, lang) = (Vec::new(), self.lang);
        for d in Direction::BOTH {
            let limiters: Vec<_> =
                self.measurements().filter_map(|m| m.direction(d).limiter.as_ref()).collect();
            let kinds = [LimiterFound::Policer, LimiterFound::Shaper, LimiterFound::Link];
            for (kind, key) in kinds.into_iter().zip([
                "measure.series.policer",
                "measure.series.shaper",
                "measure.series.link",
            ]) {
                let rates = limiters.iter().filter(|l| l.kind == kind).filter_map(|l| l.rate_mbps);
                let rates: Vec<f64> = rates.collect();
                if let Some([min, _, median, _, max]) = five_numbers(rates.iter().copied()) {
                    facts.push(say!(
                        lang,
                        "measure.series.limit",
                        direction = d.word(lang),
                        kind = word(lang, key),
                        n = rates.len(),
                        all = limiters.len(),
                        median = digits(median),
                        min = digits(min),
                        max = digits(max)
                    ));
                }
            }
        }
        let failed: Vec<&SeriesRun> = self.runs.iter().filter(|run| run.error.is_some()).collect();
        if let Some(SeriesRun { at, error: Some(why), .. }) = failed.first() {
            facts.push(say!(lang, "measure.series.first-failure", at = at, why = why));
        }
        facts
    }

    /// A row for each test and cure: medians, with minimum and maximum.
    pub fn table_of_tests(&self) -> Table<'static> {
        let measurements: Vec<&Measurement> = self.measurements().collect();
        let lang = self.lang;
        let row = |name: &String| {
            let tests = || {
                let all = measurements.iter().flat_map(|m| named_tests(m, lang));
                all.filter(|(is, _)| is == name).map(|(_, test)| test)
            };
            let spread = |of: &dyn Fn(&StreamTest) -> Option<f64>| spread(tests().filter_map(of), lang);
            let first = tests().next();
            vec![
                name.clone(),
                tests().count().to_string(),
                first.map_or(String::new(), |t| t.connections.to_string()),
                spread(&|t| Some(t.goodput_mbps)),
                first.map_or(String::new(), |t| t.control.clone()),
                spread(&|t| Some(100.0 * t.retransmitted_share)),
                spread(&|t| Some(t.loaded.as_ref()?.rtt_p50_ms)),
            ]
        };
        let rows: Vec<Vec<String>> = test_names(&measurements, lang).iter().map(row).collect();
        let heads = [
            ("measure.head.test", None),
            ("measure.head.n", Some("")),
            ("measure.head.flows", Some("")),
            ("measure.head.goodput.range", Some("Mbit/s")),
            ("measure.head.control", None),
            ("measure.head.resent", Some("%")),
            ("measure.head.loaded", Some("ms")),
        ];
        Table::worded(lang, &heads, &rows)
    }

    /// A row for each measurement, or for each hour of the day in UTC: medians, with minimum and maximum.
    pub fn table_over_time(&self) -> Table<'static> {
        let (lang, by_hour) = (self.lang, self.runs.len() > MAX_ROWS);
        // The hour and minute of RFC 3339: `2026-11-30T14:05:00Z`.
        let label = |run: &SeriesRun| {
            let time = run.at.get(11..16).unwrap_or_default();
            if by_hour { format!("{}:00", time.get(..2).unwrap_or_default()) } else { time.to_string() }
        };
        let mut labels: Vec<String> = self.runs.iter().map(label).collect();
        match by_hour {
            true => labels.sort(),
            // One row each, even if two have the same minute.
            false => labels.truncate(self.runs.len()),
        }
        if by_hour {
            labels.dedup();
        }
        let row = |(i, name): (usize, &String)| {
            let runs = || {
                let is_in = move |(at, run): &(usize, &SeriesRun)| {
                    if by_hour { label(run) == *name } else { *at == i }
                };
                self.runs.iter().enumerate().filter(is_in).map(|(_, run)| run)
            };
            let all: Vec<&Measurement> = runs().filter_map(|run| run.measurement.as_ref()).collect();
            let goodput =
                |test: &str| spread(all.iter().filter_map(|m| Some(m.test(test)?.goodput_mbps)), lang);
            let loaded = |test: &str| {
                spread(all.iter().filter_map(|m| Some(m.test(test)?.loaded.as_ref()?.rtt_p50_ms)), lang)
            };
            vec![
                name.clone(),
                all.len().to_string(),
                (runs().count() - all.len()).to_string(),
                goodput("up"),
                goodput("down"),
                spread(all.iter().filter_map(|m| Some(m.idle.as_ref()?.rtt_p50_ms)), lang),
                loaded("up"),
            ]
        };
        let rows: Vec<Vec<String>> = labels.iter().enumerate().map(row).collect();
        let heads = [
            (if by_hour { "measure.head.hour" } else { "measure.head.time" }, None),
            ("measure.head.n", Some("")),
            ("measure.head.failed", Some("")),
            ("measure.head.up", Some("Mbit/s")),
            ("measure.head.down", Some("Mbit/s")),
            ("measure.head.idle", Some("ms")),
            ("measure.head.loaded-up", Some("ms")),
        ];
        Table::worded(lang, &heads, &rows)
    }
}

/// One line about a measurement of a series, or about its failure.
pub fn line(run: &SeriesRun, lang: Lang) -> String {
    let time = run.at.get(11..19).unwrap_or(&run.at);
    match (&run.measurement, &run.error) {
        (Some(m), _) => {
            let goodput = |d: Direction| {
                let mbps = m.test(d.name()).map_or("-".into(), |t| digits(t.goodput_mbps));
                format!("{} {mbps} Mbit/s", d.word(lang))
            };
            let idle = m.idle.as_ref().map_or("-".into(), |idle| digits(idle.rtt_p50_ms));
            let limit = m.limit_mbps(Direction::Up);
            let limit = limit.map(|rate| say!(lang, "measure.series.line.limit", rate = digits(rate)));
            let limit = limit.unwrap_or_default();
            let [up, down] = Direction::BOTH.map(goodput);
            say!(lang, "measure.series.line", time = time, up = up, down = down, idle = idle, limit = limit)
                + "\n"
        }
        (None, why) => {
            let why = why.as_deref().unwrap_or_else(|| word(lang, "measure.series.no-reason"));
            say!(lang, "measure.series.line.failed", time = time, why = why) + "\n"
        }
    }
}

/// Median, with minimum and maximum where they differ visibly; `-` without values.
fn spread(values: impl Iterator<Item = f64>, lang: Lang) -> String {
    let values = ascending(values);
    let Some(median) = quantile(&values, 0.5) else { return "-".into() };
    let [min, max] = [values[0], values[values.len() - 1]].map(digits);
    match min == max {
        true => digits(median),
        false => say!(lang, "measure.series.range", median = digits(median), min = min, max = max),
    }
}

/// The tests and cures of a measurement with their names in a series. The rate of the pacing cap differs a
/// little each time, so its name is without it.
fn named_tests(m: &Measurement, lang: Lang) -> impl Iterator<Item = (String, &StreamTest)> {
    let cures = m.cures.iter().map(move |c| match c.change.kind {
        ChangeKind::PacingCap => (say!(lang, "measure.cure.paced-below"), &c.test),
        _ => (cure_title(&c.change, lang), &c.test),
    });
    m.tests.iter().map(move |t| (test_title(t, lang), t)).chain(cures)
}

/// Names of the tests and cures of all measurements, each once, in the order in which they first appear.
fn test_names(measurements: &[&Measurement], lang: Lang) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in measurements.iter().flat_map(|m| named_tests(m, lang)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The quantities that describe measurements: round trips and losses of idle echoes, and for each test
/// goodput, retransmissions and the round trip under load.
pub fn quantities(measurements: &[&Measurement]) -> Vec<Measure> {
    let of = |subject: &str, quantity| Measure::new(quantity).of_subject(Subject::Flow(subject.into()));
    let mut all = vec![of("idle", Quantity::Rtt), of("idle", Quantity::Lost)];
    for d in Direction::BOTH {
        for test in [d.name(), d.several()] {
            all.extend([Quantity::Goodput, Quantity::ResentShare, Quantity::Rtt].map(|q| of(test, q)));
        }
    }
    all.retain(|measure| measurements.iter().any(|m| m.value(measure).is_some()));
    all
}

#[cfg(test)]
pub mod samples {
    use super::*;
    use crate::measure::model::EchoSummary;

    /// A measurement of the upload with one connection alone.
    pub fn upload(at: &str, mbps: f64, rtt_ms: f64) -> SeriesRun {
        let idle = EchoSummary { sent: 40, rtt_p50_ms: rtt_ms, ..EchoSummary::default() };
        let test = StreamTest {
            name: "up".into(),
            connections: 1,
            goodput_mbps: mbps,
            control: "reno".into(),
            mss: 1448,
            ..StreamTest::default()
        };
        let measurement = Measurement {
            at: at.into(),
            headline: format!("{mbps} Mbit/s."),
            idle: Some(idle),
            tests: vec![test],
            ..Measurement::default()
        };
        SeriesRun { at: at.into(), measurement: Some(measurement), error: None }
    }

    pub fn failed(at: &str) -> SeriesRun {
        SeriesRun { at: at.into(), measurement: None, error: Some("cannot connect".into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{failed, upload};
    use super::*;
    use diagnosis::train::{TrainDoubt, TrainFinding};

    #[test]
    fn a_series_shows_medians_with_their_spread_and_its_failures() {
        let at = |minute: u32| format!("2026-11-30T14:{minute:02}:00Z");
        let runs = [10.0, 12.0, 11.0].into_iter().zip(0..).map(|(mbps, i)| upload(&at(i), mbps, 20.0));
        let series = MeasurementSeries::of(runs.chain([failed(&at(3))]).collect());
        assert_eq!(series.headline, "Typical of 3 measurements: 11 Mbit/s. 1 of 4 measurements failed.");
        let goodput = series.figures.iter().find(|f| f.name == "up.goodput").expect("a figure");
        assert_eq!((goodput.n, goodput.five_numbers), (3, [10.0, 10.5, 11.0, 11.5, 12.0]));
        let text = series.text(100, false);
        assert!(text.contains("11.0 (10.0 to 12.0)"), "{text}");
        assert!(text.contains("first failure at 2026-11-30T14:03:00Z: cannot connect"), "{text}");
        let over_time = series.text(100, true);
        assert!(over_time.contains("14:01") && over_time.contains("12.0"), "{over_time}");
        assert_eq!(line(&series.runs[3], Lang::En), "14:03:00  failed: cannot connect\n");
        assert_eq!(
            line(&series.runs[0], Lang::En),
            "14:00:00  up 10.0 Mbit/s, down - Mbit/s, idle RTT 20.0 ms\n"
        );
    }

    #[test]
    fn the_typical_measurement_agrees_with_most_on_the_limit() {
        let policer = |rate: f64| Some(Limiter::of(TrainFinding::Policer { rate, bucket: 30e3 }, 2, 8000));
        let unknown = Some(Limiter::of(TrainFinding::Unknown(TrainDoubt::TooFew), 2, 8000));
        let limits = [policer(20e6), unknown.clone(), policer(20.2e6)];
        let runs = limits.into_iter().zip([4.0, 5.0, 6.0]).map(|(limiter, mbps)| {
            let mut run = upload("2026-11-30T14:00:00Z", mbps, 20.0);
            run.measurement.iter_mut().for_each(|m| m.up.limiter = limiter.clone());
            run
        });
        let mut runs: Vec<SeriesRun> = runs.collect();
        let series = MeasurementSeries::of(runs.clone());
        assert_eq!(series.limiter(Direction::Up).and_then(|l| l.rate_mbps), Some(20.0));
        assert_eq!(series.typical().map(|m| m.headline.as_str()), Some("4 Mbit/s."), "not the undecided one");
        runs[0].measurement.iter_mut().for_each(|m| m.up.limiter = unknown.clone());
        let series = MeasurementSeries::of(runs);
        assert_eq!(series.limiter(Direction::Up), None, "one of three");
        assert_eq!(series.typical().map(|m| m.headline.as_str()), Some("5 Mbit/s."));
    }

    #[test]
    fn many_measurements_are_shown_by_the_hour() {
        let runs = (0..48).map(|i| {
            let at = format!("2026-11-30T{:02}:{:02}:00Z", i / 2, 30 * (i % 2));
            upload(&at, f64::from(i / 2) + 1.0, 20.0)
        });
        let series = MeasurementSeries::of(runs.collect());
        assert_eq!(series.table_over_time().rows(), 24);
        let text = series.text(100, true);
        assert!(text.contains("23:00") && text.contains("24.0"), "{text}");
    }

    #[test]
    fn nothing_measured_is_said() {
        let series = MeasurementSeries::of(vec![failed("2026-11-30T14:00:00Z")]);
        assert_eq!(series.headline, "No measurement succeeded.");
        assert!(series.figures.is_empty() && series.typical().is_none());
    }
}
