//! Finalists as a plot: goodput against delay, and the line of those that no other beats in both.

use crate::model::{Plan, RankedCure};
use print::three_digits;
use std::fmt::Write;

/// Size of the drawing, and where its axes stand, pixels.
const SIZE: [f64; 2] = [860.0, 460.0];
const LEFT: f64 = 60.0;
const RIGHT: f64 = 520.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 400.0;
/// Room beyond the largest values.
const ROOM: f64 = 1.08;
/// Height of a number, and the square that a point takes, pixels.
const LABEL_HEIGHT: f64 = 12.0;
const DOT: [f64; 2] = [10.0, 10.0];
/// A number farther than this from its point has a line to it, pixels.
const NEAR: f64 = 14.0;
/// How far a number may stand beyond the plot's right end, pixels.
const ROOM_RIGHT: f64 = 12.0;
/// Lines of the grid, at most.
const TICKS: f64 = 5.0;

/// An axis from zero to a bit more than the largest value.
struct ChartAxis {
    most: f64,
    step: f64,
}

impl ChartAxis {
    fn of(values: impl Iterator<Item = f64>) -> ChartAxis {
        let most = values.fold(0.0, f64::max) * ROOM;
        let most = if most > 0.0 { most } else { 1.0 };
        // 1, 2 or 5 times a power of ten.
        let rough = most / TICKS;
        let power = print::ten_to(rough.log10().floor() as i32);
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        ChartAxis { most, step }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = (self.most / self.step) as u32;
        let step = self.step;
        (0..=count).map(move |i| f64::from(i) * step)
    }
}

/// The plot as SVG: a point for each finalist, numbered as in its legend, a ring for the scenario as it is.
pub fn pareto_svg(plan: &Plan) -> String {
    let finalists: Vec<&RankedCure> = plan.cures.iter().filter(|c| c.finalist).collect();
    let figures = || finalists.iter().map(|c| &c.figures).chain([&plan.now]);
    let x = ChartAxis::of(figures().map(|f| f.p95_delay_ms.mean));
    let y = ChartAxis::of(figures().map(|f| f.goodput_mbps.mean));
    let at = |delay: f64, goodput: f64| {
        [LEFT + (RIGHT - LEFT) * delay / x.most, BOTTOM - (BOTTOM - TOP) * goodput / y.most]
    };
    let [width, height] = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(&mut svg, [LEFT, 22.0], "start", &format!("{}: goodput against delay", plan.scenario));
    for tick in x.ticks() {
        let [px, _] = at(tick, 0.0);
        let _ = writeln!(svg, "<path d=\"M{px:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/>");
        text(&mut svg, [px, BOTTOM + 16.0], "middle", &tick_label(tick));
    }
    for tick in y.ticks() {
        let [_, py] = at(0.0, tick);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {py:.1}H{RIGHT}\" stroke=\"#ddd\"/>");
        text(&mut svg, [LEFT - 6.0, py + 4.0], "end", &tick_label(tick));
    }
    text(&mut svg, [(LEFT + RIGHT) / 2.0, BOTTOM + 36.0], "middle", "95th percentile of the round trip, ms");
    text(&mut svg, [LEFT - 50.0, TOP - 10.0], "start", "Mbit/s");
    line(&mut svg, &finalists, at);
    let [px, py] = at(plan.now.p95_delay_ms.mean, plan.now.goodput_mbps.mean);
    let _ = writeln!(
        svg,
        "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"6\" fill=\"none\" stroke=\"#555\" stroke-width=\"2\"/>"
    );
    legend(&mut svg, 0, "○", "as it is", false);
    let points: Vec<[f64; 2]> =
        finalists.iter().map(|c| at(c.figures.p95_delay_ms.mean, c.figures.goodput_mbps.mean)).collect();
    let places = placed(&points, [px, py]);
    for (i, (cure, &[px, py])) in finalists.iter().zip(&points).enumerate() {
        let color = if cure.pareto { "#0b62c4" } else { "#999" };
        let _ = writeln!(svg, "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"4\" fill=\"{color}\"/>");
        let [x, y] = places[i];
        if (x - px).hypot(y - py) > NEAR {
            let _ = writeln!(svg, "<path d=\"M{px:.1} {py:.1}L{x:.1} {y:.1}\" stroke=\"#bbb\"/>");
        }
        legend(&mut svg, i + 1, &(i + 1).to_string(), &cure.name, cure.pareto);
    }
    for (i, [x, y]) in places.into_iter().enumerate() {
        // White behind it, so that no line runs through a number.
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{LABEL_HEIGHT}\" fill=\"white\" fill-opacity=\"0.8\"/>",
            x - label_width(i) / 2.0,
            y - LABEL_HEIGHT / 2.0,
            label_width(i)
        );
        text(&mut svg, [x, y + 4.0], "middle", &(i + 1).to_string());
    }
    svg + "</svg>\n"
}

/// How wide the number of point `i` is: a digit of 12 pixels takes 7.
fn label_width(i: usize) -> f64 {
    7.0 * (i + 1).to_string().len() as f64 + 1.0
}

/// Whether two boxes, each given by its middle and its size, overlap.
fn overlap(a: [f64; 2], a_size: [f64; 2], b: [f64; 2], b_size: [f64; 2]) -> bool {
    (0..2).all(|k| (a[k] - b[k]).abs() < (a_size[k] + b_size[k]) / 2.0)
}

/// Where the middle of each point's number stands: as near to it as it covers no point, no other number and not `ring`, and
/// stays within the axes.
fn placed(points: &[[f64; 2]], ring: [f64; 2]) -> Vec<[f64; 2]> {
    /// Directions and distances that are tried, pixels.
    const DIRECTIONS: u32 = 16;
    const DISTANCES: u32 = 40;
    let mut places: Vec<[f64; 2]> = Vec::new();
    for (i, point) in points.iter().enumerate() {
        let size = [label_width(i), LABEL_HEIGHT];
        let free = |place: &[f64; 2]| {
            let [x, y] = *place;
            let inside = (LEFT..=RIGHT).contains(&(x - size[0] / 2.0))
                && x + size[0] / 2.0 <= RIGHT + ROOM_RIGHT
                && (TOP - LABEL_HEIGHT..=BOTTOM - size[1] / 2.0).contains(&y);
            let mut dots = points.iter().chain([&ring]);
            inside
                && !dots.any(|d| overlap(*place, size, *d, DOT))
                && !places
                    .iter()
                    .enumerate()
                    .any(|(j, p)| overlap(*place, size, *p, [label_width(j), LABEL_HEIGHT]))
        };
        let mut around = (0..DISTANCES).flat_map(|far| {
            let distance = NEAR - 2.0 + 3.0 * f64::from(far);
            (0..DIRECTIONS).map(move |k| {
                let angle = f64::from(k) / f64::from(DIRECTIONS) * std::f64::consts::TAU;
                [point[0] + distance * angle.cos(), point[1] - distance * angle.sin()]
            })
        });
        // Where no place is free the number stands on its point.
        let place = around.find(free).unwrap_or(*point);
        places.push(place);
    }
    places
}

/// The line of those that no other beats.
fn line(svg: &mut String, finalists: &[&RankedCure], at: impl Fn(f64, f64) -> [f64; 2]) {
    let mut best: Vec<(f64, f64)> = finalists
        .iter()
        .filter(|c| c.pareto)
        .map(|c| (c.figures.p95_delay_ms.mean, c.figures.goodput_mbps.mean))
        .collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points: Vec<String> = best
        .iter()
        .map(|&(delay, goodput)| at(delay, goodput))
        .map(|[px, py]| format!("{px:.1},{py:.1}"))
        .collect();
    let points = points.join(" ");
    let _ = writeln!(
        svg,
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"#0b62c4\" stroke-dasharray=\"4 3\"/>"
    );
}

fn legend(svg: &mut String, row: usize, sign: &str, name: &str, bold: bool) {
    let y = TOP + 8.0 + 18.0 * row as f64;
    text(svg, [RIGHT + 36.0, y], "end", sign);
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let x = RIGHT + 46.0;
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\"{weight}>{}</text>", escaped(name));
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str) {
    let _ =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
}

fn tick_label(value: f64) -> String {
    if value == value.trunc() { format!("{value:.0}") } else { three_digits(value) }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_holds_its_largest_value_and_has_few_round_ticks() {
        for most in [0.0, 0.37, 1.47, 36.4, 162.0, 2343.0] {
            let axis = ChartAxis::of([most / 2.0, most].into_iter());
            let ticks: Vec<f64> = axis.ticks().collect();
            assert!(axis.most >= most && (2..=6).contains(&ticks.len()), "{most}: {ticks:?}");
            let digits = axis.step / 10f64.powf(axis.step.log10().floor());
            assert!([1.0, 2.0, 5.0].iter().any(|d| (digits - d).abs() < 1e-9), "{most}: {}", axis.step);
        }
    }

    #[test]
    fn numbers_of_points_that_fall_together_stand_apart() {
        let ring = [300.0, 200.0];
        for step in [0.0, 0.5, 3.0, 20.0] {
            let points: Vec<[f64; 2]> = (0..16).map(|i| [300.0 + step * f64::from(i % 4), 200.0]).collect();
            let places = placed(&points, ring);
            let size = |i| [label_width(i), LABEL_HEIGHT];
            for (i, place) in places.iter().enumerate() {
                assert!(
                    points.iter().chain([&ring]).all(|p| !overlap(*place, size(i), *p, DOT)),
                    "{step}: {i}"
                );
                let mut others = places.iter().enumerate().filter(|(j, _)| *j != i);
                assert!(others.all(|(j, p)| !overlap(*place, size(i), *p, size(j))), "{step}: {i}");
            }
        }
        assert!((placed(&[[300.0, 300.0]], ring)[0][0] - 300.0) <= NEAR, "alone it is near");
    }
}
