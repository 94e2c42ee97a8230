//! Plots of a result for papers and slides, drawn without a browser and written as SVG or PNG.
//!
//! A plot is a list of lines, areas and texts ([`Drawing`]). `frame` draws title and legend, `chart` draws
//! plots with two numeric axes, and each kind of plot has its own file. [`xy`], [`bars`], [`heat`] and
//! [`distribution`] draw the plots of other crates: plans, sweeps, studies.

mod bars;
mod chart;
mod compare;
mod cwnd;
mod drawing;
mod drops;
mod font;
mod frame;
mod heat;
mod names;
mod palette;
mod path;
mod pick;
mod png;
mod queue;
mod rtt;
mod scale;
mod sequence;
mod states;
mod svg;
mod thin;
mod throughput;
mod xy;

pub use crate::strings::Lang;
pub use bars::{BarRow, bars};
pub use compare::compare;
pub use drawing::Drawing;
pub use heat::{HeatMap, heat};
pub use palette::Theme;
pub use xy::{XyMark, XyPlot, XySeries, distribution, xy};

use result::{ElementSeries, FlowSeries, VariantResult};

/// The input of plots: a variant with its series.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub variant: &'a VariantResult,
    /// The variant's name in titles.
    pub label: &'a str,
    /// Series of the variant's flows, in their order; empty without samples.
    pub flows: &'a [FlowSeries],
    /// Series of the variant's elements, in their order; empty without samples.
    pub elements: &'a [ElementSeries],
}

/// Theme, language and width of plots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub theme: Theme,
    /// The language of titles, axes and legends.
    pub lang: Lang,
    /// Width, at least 320 px; a path with many stages may become wider.
    pub width: f64,
}

impl Default for Look {
    fn default() -> Look {
        Look { theme: Theme::Light, lang: Lang::En, width: 900.0 }
    }
}

impl Look {
    fn text(&self, key: &str) -> &'static str {
        crate::strings::text(key, self.lang)
    }

    fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        crate::strings::fill(key, self.lang, values)
    }

    fn colors(&self) -> &'static palette::Palette {
        self.theme.palette()
    }

    fn width(&self) -> f64 {
        if self.width.is_finite() { self.width.clamp(320.0, 10_000.0) } else { Look::default().width }
    }
}

/// A plot of one variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Goodput over time.
    Throughput,
    Rtt,
    /// Congestion windows and packets in flight.
    Cwnd,
    /// Queues and token buckets.
    Queue,
    /// Drops and marks.
    Drops,
    /// States of the congestion control.
    States,
    /// Bytes sent, acknowledged and retransmitted.
    Sequence,
    /// Hosts, links and their stages.
    Path,
}

/// All kinds of plots, in the order of display.
pub const KINDS: [PlotKind; 8] = [
    PlotKind::Throughput,
    PlotKind::Rtt,
    PlotKind::Cwnd,
    PlotKind::Queue,
    PlotKind::Drops,
    PlotKind::States,
    PlotKind::Sequence,
    PlotKind::Path,
];

impl PlotKind {
    /// A short name for file names.
    pub fn name(self) -> &'static str {
        match self {
            PlotKind::Throughput => "throughput",
            PlotKind::Rtt => "rtt",
            PlotKind::Cwnd => "cwnd",
            PlotKind::Queue => "queue",
            PlotKind::Drops => "drops",
            PlotKind::States => "states",
            PlotKind::Sequence => "sequence",
            PlotKind::Path => "path",
        }
    }
}

/// Draws a plot; `None` if the result lacks the data: no series, no queue, no topology.
pub fn draw(kind: PlotKind, input: &Input, look: &Look) -> Option<Drawing> {
    match kind {
        PlotKind::Throughput => throughput::draw(input, look),
        PlotKind::Rtt => rtt::draw(input, look),
        PlotKind::Cwnd => cwnd::draw(input, look),
        PlotKind::Queue => queue::draw(input, look),
        PlotKind::Drops => drops::draw(input, look),
        PlotKind::States => states::draw(input, look),
        PlotKind::Sequence => sequence::draw(input, look),
        PlotKind::Path => path::draw(input, look),
    }
}
