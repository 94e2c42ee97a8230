//! Results for people: the table of variants and the flows' sparklines that `longfat run` prints, and plots; what
//! `longfat diagnose` says of a capture. What every command shows is made of the same parts: [`Table`], [`plot`],
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
mod width;

pub use advice::advice;
pub use bands::{Band, Bands, PlottedSeries};
pub use figures::GroupBy;
pub use page::{PageData, PlainPage, Shown, packed, page, page_data};
pub use print::wrap;
pub use story::headline;
pub use strings::Lang;
pub use style::{Grouping, Style, Tone};
pub use table::{Table, TableCell, TableColumn};
pub use trust::{deaths_of, distrust, distrust_of};
pub use warnings::warnings;

use result::{FlowSeries, Run};

/// What `longfat run` prints: a sentence on what happened, a table of the variants, then each variant's flows with their
/// goodput over time; of a run on both clocks simulator, kernel and their ratio; then what flows noticed of faults. `series` are the flow series of each variant's first repeat, in the order of
/// `run.variants`; where they are missing or empty the sparklines are left out.
///
/// The text ends with a newline and no line is wider than `style.width` (60 at least).
pub fn text(run: &Run, series: &[&[FlowSeries]], style: Style) -> String {
    let told = story::story(&[("", run)]);
    let mut text = wrap(&told.headline(Lang::En), style.columns(), "");
    for fact in told.facts(Lang::En) {
        text += &wrap(&fact, style.columns(), "- ");
    }
    let goals = story::table(&told, style);
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
