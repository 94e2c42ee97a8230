//! The drawing of the path: hosts, the links between them, and each link's stages. The upper lane has the
//! stages of packets to the right, the lower lane those of packets to the left.

mod order;
mod stage;

use super::drawing::{Anchor, Drawing, Pen, Point, rectangle};
use super::font;
use super::frame::{MARGIN, SMALL, TEXT, frame};
use super::{Input, Look};
use order::{DrawnLink, DrawnRow, rows};
use result::Topology;
use stage::{Counters, StageBox};

/// Minimum and maximum gap between boxes, in which the line and its arrow are visible, px.
const MIN_GAP: f64 = 20.0;
const MAX_GAP: f64 = 46.0;
/// Gap between the two lanes, and between rows, px.
const LANE_GAP: f64 = 30.0;
const ROW_GAP: f64 = 26.0;
/// Maximum width of a host's name, px.
const MAX_HOST: f64 = 120.0;

/// One direction of a hop: its stages from left to right.
type Lane = Vec<StageBox>;

/// The layout of a hop: both directions.
struct HopSpan {
    name: String,
    lanes: [Lane; 2],
}

pub(super) fn draw(input: &Input, look: &Look) -> Option<Drawing> {
    let topology = input.variant.path.as_ref().filter(|t| !t.links.is_empty())?;
    let counters = Counters::new(&input.variant.elements);
    let (mut drawing, mut y) = frame(look, look.text("plot.path"), input.label, &[]);
    y += 4.0;
    let span = |hop: &DrawnLink| span(hop, &counters, look);
    let room = drawing.width - 2.0 * MARGIN;
    let rows = rows(topology, room, |hop| span(hop).width(), |host| host_width(host, topology, look));
    for row in &rows {
        let spans: Vec<HopSpan> = row.hops.iter().map(span).collect();
        let hosts: f64 = row.hosts().map(|h| host_width(h, topology, look)).sum();
        let least = hosts + spans.iter().map(HopSpan::width).sum::<f64>();
        // A row that does not fit makes the drawing wider.
        drawing.width = drawing.width.max(least + 2.0 * MARGIN);
        let gaps: usize = spans.iter().map(HopSpan::gaps).sum();
        let gap = (MIN_GAP + (drawing.width - 2.0 * MARGIN - least) / gaps as f64).clamp(MIN_GAP, MAX_GAP);
        y = draw_row(&mut drawing, row, &spans, (y, gap), topology, look) + ROW_GAP;
    }
    drawing.height = y - ROW_GAP + MARGIN;
    Some(drawing)
}

fn span(hop: &DrawnLink, counters: &Counters, look: &Look) -> HopSpan {
    let lane = |stages: &[result::topology::PathStage], direction: &str, reverse: bool| {
        let mut lane: Lane = stages
            .iter()
            .map(|stage| {
                StageBox::new(stage, &format!("{}.{direction}.{}", hop.link.name, stage.name), counters, look)
            })
            .collect();
        // Packets to the left reach the rightmost stage first.
        if reverse {
            lane.reverse();
        }
        lane
    };
    let (forward, backward) = (&hop.link.forward, &hop.link.backward);
    let lanes = if hop.flipped {
        [lane(backward, "backward", false), lane(forward, "forward", true)]
    } else {
        [lane(forward, "forward", false), lane(backward, "backward", true)]
    };
    HopSpan { name: font::clip(&hop.link.name, SMALL, 200.0), lanes }
}

impl HopSpan {
    /// The number of gaps in the lane with the most stages.
    fn gaps(&self) -> usize {
        self.lanes.iter().map(Vec::len).max().unwrap_or(0) + 1
    }

    /// The width with gaps of a given size, px.
    fn wide(&self, gap: f64) -> f64 {
        let lane = |lane: &Lane| boxes(lane) + gap * (lane.len() + 1) as f64;
        let name = font::width(&self.name, SMALL) + 40.0;
        self.lanes.iter().map(lane).fold(name.max(70.0), f64::max)
    }

    /// The minimum width, px.
    fn width(&self) -> f64 {
        self.wide(MIN_GAP)
    }
}

fn boxes(lane: &Lane) -> f64 {
    lane.iter().map(|b| b.width).sum()
}

/// The lines in a host's box: its name and its relays.
fn host_lines(host: &str, topology: &Topology, look: &Look) -> Vec<String> {
    let relays = topology.relays.iter().filter(|r| r.host == host);
    let relay = |name: &String| format!("{} {}", look.text("plot.path.relay"), name);
    let lines = std::iter::once(host.to_string()).chain(relays.map(|r| relay(&r.name)));
    lines.map(|line| font::clip(&line, TEXT, MAX_HOST)).collect()
}

fn host_width(host: &str, topology: &Topology, look: &Look) -> f64 {
    let lines = host_lines(host, topology, look);
    lines.iter().map(|l| font::width(l, TEXT)).fold(36.0, f64::max) + 20.0
}

/// Draws a row from `y` with gaps of `gap`, and returns the y below the row.
fn draw_row(
    drawing: &mut Drawing,
    row: &DrawnRow,
    spans: &[HopSpan],
    (y, gap): (f64, f64),
    topology: &Topology,
    look: &Look,
) -> f64 {
    let height =
        |lane: usize| spans.iter().flat_map(|s| &s.lanes[lane]).map(StageBox::height).fold(28.0, f64::max);
    let (above, below) = (height(0), height(1));
    let bottom = y + above + LANE_GAP + below;
    let middles = [y + above / 2.0, bottom - below / 2.0];
    let mut x = MARGIN;
    for (i, host) in row.hosts().enumerate() {
        let width = host_width(host, topology, look);
        draw_host(drawing, host, (x, y), (width, bottom - y), topology, look);
        x += width;
        let Some(span) = spans.get(i) else { break };
        let sides = (x, x + span.wide(gap));
        let name = ((sides.0 + sides.1) / 2.0, y + above + LANE_GAP / 2.0 + 4.0);
        drawing.text(&span.name, name, SMALL, look.colors().muted, Anchor::Middle);
        for (i, lane) in span.lanes.iter().enumerate() {
            draw_lane(drawing, lane, sides, middles[i], i == 0, look);
        }
        x = sides.1;
    }
    bottom
}

fn draw_host(
    drawing: &mut Drawing,
    host: &str,
    (x, y): Point,
    (width, height): (f64, f64),
    topology: &Topology,
    look: &Look,
) {
    let colors = look.colors();
    let outline = rectangle(x, y, width, height);
    drawing.areas(vec![outline.clone()], colors.grid.toward(colors.ground, 0.4));
    drawing.lines(vec![closed(outline)], Pen::new(colors.muted, 1.2));
    let lines = host_lines(host, topology, look);
    let first = y + height / 2.0 - (lines.len() as f64 - 1.0) * 8.0 + 4.0;
    for (i, line) in lines.iter().enumerate() {
        let color = if i == 0 { colors.ink } else { colors.muted };
        drawing.text(line, (x + width / 2.0, first + 16.0 * i as f64), TEXT, color, Anchor::Middle);
    }
}

/// Draws a lane: a line with an arrow at its end, and its stages spread evenly on it.
fn draw_lane(
    drawing: &mut Drawing,
    lane: &Lane,
    (left, right): (f64, f64),
    y: f64,
    rightward: bool,
    look: &Look,
) {
    let colors = look.colors();
    let (tip, back) = if rightward { (right, -9.0) } else { (left, 9.0) };
    let line = if rightward { [(left, y), (right - 6.0, y)] } else { [(left + 6.0, y), (right, y)] };
    drawing.line(line[0], line[1], Pen::new(colors.muted, 1.3));
    drawing.areas(vec![vec![(tip, y), (tip + back, y - 4.0), (tip + back, y + 4.0)]], colors.muted);
    let gap = (right - left - boxes(lane)) / (lane.len() + 1) as f64;
    let mut x = left + gap;
    for block in lane {
        block.draw(drawing, (x, y), look);
        x += block.width + gap;
    }
}

/// Closes an outline for drawing as a line.
fn closed(mut outline: Vec<Point>) -> Vec<Point> {
    outline.extend(outline.first().copied());
    outline
}
