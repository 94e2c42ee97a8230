//! A measurement, or several, as an HTML page.

use super::headline::advised;
use super::model::{Direction, Measurement};
use super::series::MeasurementSeries;
use super::text::{commands, table};
use report::plot::{XyMark, XyPlot, XySeries, xy};
use report::{PlainPage, word};

/// Measurements from which on they are drawn over time.
const MIN_DRAWN: usize = 3;
/// Duration of a series up to which its axis has minutes, s.
const MAX_MINUTES: f64 = 2.0 * 3600.0;

/// Returns the page: headline, facts, tables, the course over time, and the commands of the best cure.
pub fn page(series: &MeasurementSeries) -> String {
    let typical = series.typical();
    let lang = series.lang;
    let title = match typical {
        Some(m) => say!(lang, "measure.page.title", server = m.server),
        None => say!(lang, "measure.page.title.none"),
    };
    let mut page = PlainPage::in_language(&title, &series.headline, lang);
    let n = series.runs.len();
    if n > 1 {
        page.facts(series.facts());
        page.heading(&say!(lang, "measure.page.count", n = n));
        page.table(&series.table_of_tests());
        page.table(&series.table_over_time());
        page.note(word(lang, "measure.page.medians"));
        over_time(&mut page, series);
    }
    if let Some(m) = typical {
        page.heading(word(lang, if n > 1 { "measure.page.typical" } else { "measure.page.evidence" }));
        let unknown = m.cannot_tell.iter().map(|why| say!(lang, "measure.Cannot-tell", why = why));
        page.facts(m.facts.iter().cloned().chain(unknown));
        page.table(&table(m));
        if let Some(cure) = advised(m) {
            page.heading(word(lang, "measure.page.apply"));
            page.code(commands(cure, lang).trim_end());
        }
        page.note(&say!(
            lang,
            "measure.page.note",
            client = m.client,
            server = m.server,
            at = m.at,
            seconds = format!("{:.0}", m.seconds),
            megabytes = format!("{:.1}", m.bytes() as f64 / 1e6),
            version = m.longfat
        ));
    }
    page.html()
}

/// Draws the goodput of both directions and the idle RTT over the measurements.
fn over_time(page: &mut PlainPage, series: &MeasurementSeries) {
    let times: Vec<f64> = series.runs.iter().filter_map(|run| seconds(&run.at)).collect();
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return };
    let lang = series.lang;
    let (unit, x) = match last - first < MAX_MINUTES {
        true => (60.0, word(lang, "measure.page.minutes")),
        false => (3600.0, word(lang, "measure.page.hours")),
    };
    let passed = |at: &str| seconds(at).map(|s| (s - first) / unit);
    let points = |of: &dyn Fn(&Measurement) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |run: &super::series::SeriesRun| {
            // A measurement that failed interrupts the line.
            Some((passed(&run.at)?, run.measurement.as_ref().and_then(of).unwrap_or(f64::NAN)))
        };
        series.runs.iter().filter_map(point).collect()
    };
    if series.measurements().count() < MIN_DRAWN {
        return;
    }
    let goodput = |d: Direction| points(&move |m| Some(m.test(d.name())?.goodput_mbps));
    let [up, down] = Direction::BOTH.map(goodput);
    let lines = [
        XySeries::new(XyMark::Line, Some(0), Direction::Up.load(lang), up),
        XySeries::new(XyMark::Line, Some(1), Direction::Down.load(lang), down),
    ];
    let plot = |title, y, series| XyPlot { title, x, y, right: "", series };
    page.drawing(|look| xy(&plot(word(lang, "measure.page.goodput"), "Mbit/s", &lines), look));
    let rtt =
        [XySeries::line(word(lang, "measure.page.idle"), points(&|m| Some(m.idle.as_ref()?.rtt_p50_ms)))];
    page.drawing(|look| xy(&plot(word(lang, "measure.page.rtt"), "ms", &rtt), look));
}

/// Seconds since 1970 of a time by RFC 3339; `None` for another text.
fn seconds(at: &str) -> Option<f64> {
    chrono::DateTime::parse_from_rfc3339(at).ok().map(|time| time.timestamp() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::series::samples::{failed, upload};

    #[test]
    fn a_page_has_the_headline_tables_and_the_course_over_time() {
        let runs = (0..4).map(|i| upload(&format!("2026-11-30T1{i}:00:00Z"), 10.0 + f64::from(i), 20.0));
        let html = page(&MeasurementSeries::of(runs.chain([failed("2026-11-30T15:00:00Z")]).collect()));
        for part in ["Typical of 4 measurements", "10.0 to 13.0", "<svg", "hours since the first", "failed"] {
            assert!(html.contains(part), "{part}");
        }
        let one = page(&MeasurementSeries::of(vec![upload("2026-11-30T10:00:00Z", 10.0, 20.0)]));
        assert!(one.contains("Evidence") && !one.contains("<svg "), "no course of a single measurement");
    }
}
