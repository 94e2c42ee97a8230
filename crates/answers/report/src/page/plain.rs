//! Pages without script: headings, text, tables and drawings, with the head and style sheet of the report
//! page.

use super::shell::without_script;
use crate::markup::escaped;
use crate::plot::{Drawing, Look, Theme};
use crate::strings::Lang;
use crate::table::Table;
use std::fmt::Write;

/// A page that is written from top to bottom. All content is escaped, and nothing is loaded from elsewhere.
///
/// The page follows the system's light or dark theme, and prints in the light one.
#[derive(Clone, Debug)]
pub struct PlainPage {
    lang: Lang,
    title: String,
    body: String,
}

impl PlainPage {
    /// An English page with its title and, below it, a headline.
    pub fn new(title: &str, headline: &str) -> PlainPage {
        PlainPage::in_language(title, headline, Lang::En)
    }

    /// A page in a language, with its title and, below it, a headline.
    pub fn in_language(title: &str, headline: &str, lang: Lang) -> PlainPage {
        let mut page = PlainPage { lang, title: title.into(), body: String::new() };
        page.element("h1", "", title);
        if !headline.is_empty() {
            let _ =
                writeln!(page.body, "<div class=\"story\"><p class=\"long\">{}</p></div>", escaped(headline));
        }
        page
    }

    /// A heading of a section.
    pub fn heading(&mut self, text: &str) {
        self.element("h2", "section-head", text);
    }

    /// A heading within a section.
    pub fn subheading(&mut self, text: &str) {
        self.element("h3", "section-head", text);
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) {
        self.element("p", "", text);
    }

    /// A list of facts, unless there are none.
    pub fn facts<T: AsRef<str>>(&mut self, facts: impl IntoIterator<Item = T>) {
        let items: String =
            facts.into_iter().map(|fact| format!("<li>{}</li>\n", escaped(fact.as_ref()))).collect();
        if !items.is_empty() {
            let _ = writeln!(self.body, "<div class=\"story summary\"><ul>\n{items}</ul></div>");
        }
    }

    /// A less important paragraph.
    pub fn note(&mut self, text: &str) {
        self.element("p", "hint", text);
    }

    /// Preformatted lines, for example commands.
    pub fn code(&mut self, text: &str) {
        self.element("pre", "table-scroll", text);
    }

    /// A table, unless it has no rows.
    pub fn table(&mut self, table: &Table<'_>) {
        if table.rows() > 0 {
            self.body += &table.html();
        }
    }

    /// A drawing, which `draw` makes for each theme; left out if there is nothing to draw.
    pub fn drawing(&mut self, draw: impl Fn(&Look) -> Option<Drawing>) {
        let themes = [Theme::Light, Theme::Dark]
            .map(|theme| draw(&Look { theme, lang: self.lang, ..Look::default() }));
        if let [Some(light), Some(dark)] = themes {
            self.body += &light.svg_with(&dark);
        }
    }

    fn element(&mut self, tag: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(self.body, "<{tag}{class}>{}</{tag}>", escaped(text));
    }

    /// The whole file.
    pub fn html(&self) -> String {
        without_script(&self.title, &self.body, self.lang)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{XyPlot, XySeries, xy};
    use crate::table::{TableCell, TableColumn};

    const HOSTILE: &str = "</style><img src=x onerror=alert(1)>\"'&amp;{{title}}";

    #[test]
    fn all_content_of_a_page_is_escaped() {
        let mut page = PlainPage::new(HOSTILE, HOSTILE);
        page.heading(HOSTILE);
        page.subheading(HOSTILE);
        page.note(HOSTILE);
        page.facts([HOSTILE]);
        page.code(HOSTILE);
        let mut table = Table::of(vec![TableColumn::names(HOSTILE), TableColumn::numbers("n", HOSTILE)]);
        table.heading(HOSTILE);
        table.row([HOSTILE.into(), TableCell::from(HOSTILE)]);
        page.table(&table);
        let series = [XySeries::line(HOSTILE, vec![(0.0, 1.0), (1.0, 2.0)])];
        page.drawing(|look| {
            xy(&XyPlot { title: HOSTILE, x: HOSTILE, y: HOSTILE, right: "", series: &series }, look)
        });
        let html = page.html();
        assert!(!html.contains("<img") && !html.contains("<script"), "{html}");
        assert_eq!(html.matches("</style>").count(), 1);
        assert!(html.matches("{{title}}").count() >= 10, "a marker in a name is not replaced");
        assert!(html.contains("light-dark(#") && html.contains("<svg "));
    }

    #[test]
    fn empty_parts_are_left_out() {
        let mut page = PlainPage::new("t", "");
        page.table(&Table::of(vec![TableColumn::names("n")]));
        page.drawing(|_| None);
        page.facts([""; 0]);
        assert!(["<table", "<svg ", "<ul"].iter().all(|part| !page.html().contains(part)));
    }
}
