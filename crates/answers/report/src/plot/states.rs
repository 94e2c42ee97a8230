//! The plot of congestion control states: a ribbon for each flow.

use super::chart::{end, time_axis};
use super::drawing::{Anchor, Drawing, rectangle};
use super::font;
use super::frame::{Item, MARGIN, SLACK, Swatch, TEXT, frame};
use super::pick::{Picked, TIMEOUT, flows};
use super::scale::Scale;
use super::{Input, Look};
use result::Stretch;
use std::collections::BTreeMap;

/// Distance of ribbons and height of a ribbon, px.
const ROW: f64 = 30.0;
const RIBBON: f64 = 18.0;
/// Maximum width of a flow's name, px.
const MAX_NAME: f64 = 170.0;
/// Columns per px. A state shorter than a column is drawn only if no other state takes longer in that column.
const COLUMNS: f64 = 2.0;

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let end = end(input)?;
    let colors = look.colors();
    let (picked, rest) = flows(input, colors, |s| s.states.iter().any(|s| !s.is_empty()));
    let ribbons: Vec<(Picked, Vec<Stretch>)> =
        picked.into_iter().map(|p| (p.series.timeline(), p)).map(|(t, p)| (p, t)).collect();
    let legend = legend(&ribbons, rest, look)?;
    let (mut drawing, top) = frame(look, look.text("plot.states"), input.label, &legend);
    let names: Vec<String> = ribbons.iter().map(|(p, _)| font::clip(&p.label, TEXT, MAX_NAME)).collect();
    let widest = names.iter().map(|n| font::width(n, TEXT)).fold(0.0, f64::max);
    let sides = (MARGIN + widest * SLACK + 10.0, drawing.width - MARGIN - 8.0);
    let bottom = top + ROW * ribbons.len() as f64 + 2.0;
    let x = time_axis(&mut drawing, end, sides, (top, bottom), look);
    for (i, (name, (_, timeline))) in names.iter().zip(&ribbons).enumerate() {
        let y = top + ROW * i as f64 + (ROW - RIBBON) / 2.0;
        drawing.text(name, (sides.0 - 10.0, y + RIBBON / 2.0 + 4.0), TEXT, colors.ink, Anchor::End);
        ribbon(&mut drawing, timeline, &x, y, look);
    }
    drawing.height = bottom + 46.0;
    Some(drawing)
}

/// The legend: states in order of first appearance; `None` without states.
fn legend(ribbons: &[(Picked, Vec<Stretch>)], rest: usize, look: &Look) -> Option<Vec<Item>> {
    let mut names: Vec<&str> = Vec::new();
    for stretch in ribbons.iter().flat_map(|(_, timeline)| timeline) {
        if !names.contains(&stretch.state) {
            names.push(stretch.state);
        }
    }
    let item = |name: &&str| Item::new(Swatch::Area(look.colors().state(name)), state_name(name, look));
    let items: Vec<Item> = names.iter().map(item).chain(Item::more(rest, look)).collect();
    (!names.is_empty()).then_some(items)
}

/// The displayed name of a state; phases of a model keep the algorithm's names.
fn state_name(state: &str, look: &Look) -> String {
    match state {
        "slow start" => look.text("plot.state.slow-start").into(),
        "avoidance" => look.text("plot.state.avoidance").into(),
        "disorder" => look.text("plot.state.disorder").into(),
        "recovery" => look.text("plot.state.recovery").into(),
        "cwr" => look.text("plot.state.cwr").into(),
        TIMEOUT => look.text("plot.timeout").into(),
        other => other.into(),
    }
}

/// Draws a timeline, one path for each state.
fn ribbon(drawing: &mut Drawing, timeline: &[Stretch], x: &Scale, y: f64, look: &Look) {
    let mut areas: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (state, from, to) in columns(timeline, x) {
        let width = (to - from) / COLUMNS;
        let outline = rectangle(x.low + from / COLUMNS, y, width, RIBBON);
        areas.entry(state).or_default().push(outline);
    }
    for (state, outlines) in areas {
        drawing.areas(outlines, look.colors().state(state));
    }
}

/// The state of each column, with equal neighbours joined: (state, first column, column after the last). A
/// column shows the state that took most of its time; a timeout always shows.
fn columns<'a>(timeline: &[Stretch<'a>], x: &Scale) -> Vec<(&'a str, f64, f64)> {
    let place = |t: f64| (x.at(t) - x.low) * COLUMNS;
    let mut joined: Vec<(&str, f64, f64)> = Vec::new();
    // The state with the largest weight in the current column.
    let mut claim: Option<(f64, &str, f64)> = None;
    let mut settle = |claim: &mut Option<(f64, &'a str, f64)>| {
        let Some((column, state, _)) = claim.take() else { return };
        match joined.last_mut() {
            Some(last) if last.0 == state && last.2 == column => last.2 = column + 1.0,
            _ => joined.push((state, column, column + 1.0)),
        }
    };
    for stretch in timeline {
        let (start, end) = (place(stretch.start_s), place(stretch.end_s));
        if !(start.is_finite() && end.is_finite() && end >= start && start >= 0.0) {
            continue;
        }
        let last = ((x.high - x.low) * COLUMNS - 1.0).floor().max(0.0);
        let mut column = start.floor().min(last);
        loop {
            let held = (end.min(column + 1.0) - start.max(column)).max(0.0);
            let weight = if stretch.state == TIMEOUT { 2.0 + held } else { held };
            if claim.as_ref().is_some_and(|c| c.0 != column) {
                settle(&mut claim);
            }
            if claim.as_ref().is_none_or(|c| weight > c.2) {
                claim = Some((column, stretch.state, weight));
            }
            column += 1.0;
            if column >= end || column > last {
                break;
            }
        }
    }
    settle(&mut claim);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(state: &str, start_s: f64, end_s: f64) -> Stretch<'_> {
        Stretch { state, start_s, end_s }
    }

    #[test]
    fn columns_show_the_longest_and_every_timeout() {
        // 10 s on 10 px: two columns a second.
        let x = Scale::exact(0.0, 10.0, 5.0, (100.0, 110.0));
        let timeline = [
            stretch("a", 0.0, 2.0),
            stretch("b", 2.0, 2.1),
            stretch("a", 2.1, 5.0),
            stretch(TIMEOUT, 5.0, 5.01),
            stretch("b", 5.01, 10.0),
        ];
        let got = columns(&timeline, &x);
        assert_eq!(got, [("a", 0.0, 10.0), (TIMEOUT, 10.0, 11.0), ("b", 11.0, 20.0)]);
    }

    #[test]
    fn a_million_changes_are_few_columns() {
        let x = Scale::exact(0.0, 10.0, 5.0, (0.0, 800.0));
        let at = |i: u32| f64::from(i) / 1e5;
        let flips: Vec<Stretch> =
            (0..1_000_000).map(|i| stretch(if i % 3 == 0 { "a" } else { "b" }, at(i), at(i + 1))).collect();
        assert!(columns(&flips, &x).len() <= 1600);
    }
}
