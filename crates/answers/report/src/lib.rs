//! Results as text, plots and HTML pages: the tables and sparklines of `longfat run`, and the diagnosis of
//! `longfat diagnose`. All commands build their output from the same parts: [`Table`], [`plot`],
//! [`PlainPage`].

mod advice;
mod bands;
mod both;
pub mod diagnosis;
mod elide;
pub mod figures;
mod flows;
mod markup;
mod number;
mod outages;
mod page;
pub mod plot;
#[cfg(test)]
mod schema;
mod spark;
pub mod story;
mod strings;
mod style;
mod summary;
mod table;
mod trust;
mod warnings;
pub mod watch;
mod width;

pub use advice::{advice, commands};
pub use bands::{Band, Bands, PlottedSeries};
pub use figures::GroupBy;
pub use page::{PageData, PlainPage, Shown, packed, page, page_data};
pub use print::wrap;
pub use story::headline;
pub use strings::{Lang, say, word};
pub use style::{Grouping, Style, Tone};
pub use table::{Table, TableCell, TableColumn};
pub use trust::{deaths_of, distrust, distrust_of, distrust_sentence};
pub use warnings::warnings;

use result::{FlowSeries, Run};

/// The output of `longfat run`: the headline with its facts; a table of the variants, or of simulator, kernel
/// and their ratio for a run on both clocks; each variant's flows with their goodput over time; the effect of
/// faults on flows. `series` are the flow series of each variant's first repeat, in the order of
/// `run.variants`; without them the sparklines are left out.
///
/// The text ends with a newline. No line is wider than `style.width` (at least 60).
pub fn text(run: &Run, series: &[&[FlowSeries]], style: Style) -> String {
    let story = story::story(&[("", run)]);
    let mut text = wrap(&story.headline(Lang::En), style.columns(), "");
    for fact in story.facts(Lang::En) {
        text += &wrap(&fact, style.columns(), "- ");
    }
    let goals = story::table(&story, style);
    if !goals.is_empty() {
        text += "\n";
        text += &goals;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text += &if both::has_both(run) { both::table(run, style) } else { summary::table(run, style) };
    let flows = flows::lines(run, series, style);
    if !flows.is_empty() {
        text.push('\n');
        text.push_str(&flows);
    }
    let outages = outages::table(run, style);
    if !outages.is_empty() {
        text.push('\n');
        text.push_str(&outages);
    }
    text
}
