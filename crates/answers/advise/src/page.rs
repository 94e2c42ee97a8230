//! Shows a plan as an HTML page: the advice, the plot, the table, the commands.

use crate::chart::pareto;
use crate::model::Plan;
use crate::story::advised;
use crate::text::{commands, table};
use report::PlainPage;

/// Returns the page, with the same table as in the terminal, a plot of the finalists, and the commands of the
/// advised cure.
pub fn page(plan: &Plan) -> String {
    let mut page = PlainPage::new(&format!("Plan for {}", plan.scenario), &plan.advice);
    page.facts(&plan.facts);
    page.table(&table(plan));
    page.drawing(|look| pareto(plan, look));
    if advised(plan).is_some()
        && let Some(commands) = commands(plan, None)
    {
        page.heading("Commands");
        page.code(&commands);
    }
    page.html()
}
