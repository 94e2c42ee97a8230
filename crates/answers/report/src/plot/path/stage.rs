//! The box of a stage: kind, name, main settings and counters.

use crate::number::count;
use crate::plot::Look;
use crate::plot::drawing::{Anchor, Drawing, Pen, Point, rectangle};
use crate::plot::font;
use crate::plot::palette::Color;
use result::ElementResult;
use result::topology::PathStage;
use std::collections::BTreeMap;

/// Font size and line height, px.
const SIZE: f64 = 10.5;
const LINE: f64 = 14.0;
/// Maximum and minimum width of the text, px.
const TEXT: (f64, f64) = (126.0, 50.0);
/// Keys of the main settings, in the order of display.
const MAIN: [&str; 14] = [
    "rate",
    "burst",
    "excess_burst",
    "delay",
    "jitter",
    "probability",
    "model",
    "overhead",
    "every",
    "duration",
    "queue.kind",
    "queue.packets",
    "queue.bytes",
    "queue.target",
];
/// Settings in a box.
const MAX_SETTINGS: usize = 5;

/// Drops and maximum queue of each `link.direction.stage`.
pub(super) struct Counters {
    by_stage: BTreeMap<String, (u64, u64)>,
    max_drops: u64,
}

impl Counters {
    /// The counters of all elements. For flows measured one at a time (`element@flow`): the sum of drops and
    /// the maximum queue.
    pub fn new(elements: &[ElementResult]) -> Counters {
        let mut by_stage: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for e in elements {
            let name = e.name.split_once('@').map_or(e.name.as_str(), |(name, _)| name);
            let sum = by_stage.entry(name.into()).or_default();
            *sum = (sum.0.saturating_add(e.dropped_packets), sum.1.max(e.max_queue_packets));
        }
        let max_drops = by_stage.values().map(|v| v.0).max().unwrap_or(0);
        Counters { by_stage, max_drops }
    }
}

/// The kind of a line in a box, which determines its colour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoxTone {
    Kind,
    Plain,
    Drops,
}

/// A stage ready to draw.
pub(super) struct StageBox {
    lines: Vec<(String, BoxTone)>,
    /// Width, px.
    pub width: f64,
    /// No other stage dropped more packets.
    worst: bool,
}

impl StageBox {
    /// The box of a stage; `element` is its `link.direction.stage`.
    pub fn new(stage: &PathStage, element: &str, counters: &Counters, look: &Look) -> StageBox {
        let (drops, queue) = counters.by_stage.get(element).copied().unwrap_or_default();
        let mut lines = vec![(stage.kind.clone(), BoxTone::Kind)];
        if stage.assumed && stage.kind == "link" {
            lines.push((look.text("ui.path.assumed").to_string(), BoxTone::Plain));
        } else if stage.name != stage.kind {
            lines.push((stage.name.clone(), BoxTone::Plain));
        }
        lines.extend(settings(stage).into_iter().map(|line| (line, BoxTone::Plain)));
        if drops > 0 {
            lines.push((look.fill("plot.path.drops", &[("n", &count(drops))]), BoxTone::Drops));
        }
        if queue > 0 {
            lines.push((look.fill("plot.path.queue", &[("n", &count(queue))]), BoxTone::Kind));
        }
        for (text, _) in &mut lines {
            *text = font::clip(text, SIZE, TEXT.0);
        }
        let text = lines.iter().map(|(l, _)| font::width(l, SIZE)).fold(TEXT.1, f64::max);
        StageBox { lines, width: text + 16.0, worst: drops > 0 && drops == counters.max_drops }
    }

    /// The height, px.
    pub fn height(&self) -> f64 {
        self.lines.len() as f64 * LINE + 10.0
    }

    /// Draws the box; `(x, y)` is the middle of its left side.
    pub fn draw(&self, drawing: &mut Drawing, (x, y): Point, look: &Look) {
        let colors = look.colors();
        let top = y - self.height() / 2.0;
        let outline = rectangle(x, top, self.width, self.height());
        let (ground, pen) = if self.worst {
            (colors.drop.toward(colors.ground, 0.86), Pen::new(colors.drop, 2.0))
        } else {
            (colors.ground, Pen::new(colors.muted, 1.0))
        };
        drawing.areas(vec![outline.clone()], ground);
        drawing.lines(vec![super::closed(outline)], pen);
        let color = |tone| -> Color {
            match tone {
                BoxTone::Kind => colors.ink,
                BoxTone::Plain => colors.muted,
                BoxTone::Drops => colors.drop.toward(colors.ink, 0.25),
            }
        };
        for (i, (text, tone)) in self.lines.iter().enumerate() {
            let at = (x + self.width / 2.0, top + 5.0 + LINE * (i as f64 + 0.75));
            drawing.text(text, at, SIZE, color(*tone), Anchor::Middle);
        }
    }
}

/// The main settings as `key value`.
fn settings(stage: &PathStage) -> Vec<String> {
    let main = MAIN.iter().filter_map(|key| stage.settings.get_key_value(*key));
    main.take(MAX_SETTINGS).map(|(key, value)| format!("{key} {value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_settings_come_first() {
        let pairs =
            [("nat_traversal", "false"), ("queue.packets", "200"), ("burst", "10kB"), ("rate", "8.6Mbit/s")];
        let settings_map = pairs.map(|(k, v)| (k.to_string(), v.to_string())).into();
        let stage = PathStage { settings: settings_map, ..PathStage::default() };
        assert_eq!(settings(&stage), ["rate 8.6Mbit/s", "burst 10kB", "queue.packets 200"]);
    }

    #[test]
    fn counters_of_single_flow_runs_add_up() {
        let element = |name: &str, dropped_packets, max_queue_packets| ElementResult {
            name: name.into(),
            dropped_packets,
            max_queue_packets,
            ..ElementResult::default()
        };
        let all = [element("wan.forward.p@up", 3, 9), element("wan.forward.p@down", 4, 5)];
        let counters = Counters::new(&all);
        assert_eq!((counters.by_stage["wan.forward.p"], counters.max_drops), ((7, 9), 7));
    }
}
