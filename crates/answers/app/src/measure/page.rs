//! A measurement, or several, as an HTML page.

use super::headline::advised;
use super::model::{Direction, Measurement};
use super::series::MeasurementSeries;
use super::text::{commands, table};
use report::PlainPage;
use report::plot::{XyMark, XyPlot, XySeries, xy};

/// Measurements from which on they are drawn over time.
const MIN_DRAWN: usize = 3;
/// Duration of a series up to which its axis has minutes, s.
const MAX_MINUTES: f64 = 2.0 * 3600.0;

/// Returns the page: headline, facts, tables, the course over time, and the commands of the best cure.
pub fn page(series: &MeasurementSeries) -> String {
    let typical = series.typical();
    let title = typical.map_or("Measurements".into(), |m| format!("The path to {}", m.server));
    let mut page = PlainPage::new(&title, &series.headline);
    let n = series.runs.len();
    if n > 1 {
        series.facts().iter().for_each(|fact| page.text(fact));
        page.heading(&format!("{n} measurements"));
        page.table(&series.table_of_tests());
        page.table(&series.table_over_time());
        page.note("Medians, with minimum and maximum in parentheses.");
        over_time(&mut page, series);
    }
    if let Some(m) = typical {
        page.heading(if n > 1 { "The typical measurement" } else { "Evidence" });
        m.facts.iter().for_each(|fact| page.text(fact));
        m.cannot_tell.iter().for_each(|why| page.text(&format!("Cannot tell: {why}")));
        page.table(&table(m));
        if let Some(cure) = advised(m) {
            page.heading("How to apply the best cure");
            page.code(commands(cure).trim_end());
        }
        page.note(&format!(
            "{} to {}, {}, {:.0} s, {:.1} MB of payload; longfat {}.",
            m.client,
            m.server,
            m.at,
            m.seconds,
            m.bytes() as f64 / 1e6,
            m.longfat
        ));
    }
    page.html()
}

/// Draws the goodput of both directions and the idle RTT over the measurements.
fn over_time(page: &mut PlainPage, series: &MeasurementSeries) {
    let times: Vec<f64> = series.runs.iter().filter_map(|run| seconds(&run.at)).collect();
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return };
    let (unit, word) = if last - first < MAX_MINUTES { (60.0, "minutes") } else { (3600.0, "hours") };
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
        XySeries::new(XyMark::Line, Some(0), "upload", up),
        XySeries::new(XyMark::Line, Some(1), "download", down),
    ];
    let x = format!("{word} since the first measurement");
    let plot = |title, y, series| XyPlot { title, x: &x, y, right: "", series };
    page.drawing(|look| xy(&plot("Goodput of one connection", "Mbit/s", &lines), look));
    let rtt = [XySeries::line("idle", points(&|m| Some(m.idle.as_ref()?.rtt_p50_ms)))];
    page.drawing(|look| xy(&plot("Median round trip on the idle path", "ms", &rtt), look));
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
