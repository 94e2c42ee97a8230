//! A plan as a page of its own: the sentence, the plot, the table, what to type.

use crate::chart::pareto;
use crate::model::Plan;
use crate::story::advised;
use crate::text::{commands, table};
use report::PlainPage;

/// The plan as HTML: the same table as in the terminal, finalists in the plot, the commands of the cure that is advised.
pub fn page(plan: &Plan) -> String {
    let mut page = PlainPage::new(&format!("Plan for {}", plan.scenario), &plan.advice);
    plan.facts.iter().for_each(|fact| page.text(fact));
    page.table(&table(plan));
    page.drawing(|look| pareto(plan, look));
    if advised(plan).is_some()
        && let Some(commands) = commands(plan, None)
    {
        page.heading("What to type");
        page.code(&commands);
    }
    page.html()
}
