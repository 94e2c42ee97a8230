//! Tables of all outputs: columns of names and numbers, written for the terminal, as Markdown or as HTML.
//!
//! In the terminal a table fits the width: columns have ranks, and those with the lowest rank are left out
//! first.

use crate::elide::elide;
use crate::markup::escaped;
use crate::strings::{Lang, word};
use crate::style::{Style, Tone};
use crate::width::{clip, pad, printable};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Minimum width of a column of names.
const MIN_NAME_WIDTH: usize = 10;
/// With more names than this, only their ends are cut: trying every width would take long.
const MAX_ELIDED_NAMES: usize = 500;
/// Columns up to this rank are left out before the distinguishing part of a name is cut.
const MAX_RANK_BELOW_NAMES: u8 = 60;

/// A cell: a text with its tone.
#[derive(Clone, Debug, Default)]
pub struct TableCell {
    pub text: String,
    pub tone: Tone,
}

impl TableCell {
    /// A cell with a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> TableCell {
        TableCell { text: text.into(), tone }
    }
}

impl<S: Into<String>> From<S> for TableCell {
    fn from(text: S) -> TableCell {
        TableCell { text: text.into(), tone: Tone::Plain }
    }
}

/// A column: a head of two lines, and a cell for each row.
#[derive(Clone, Debug, Default)]
pub struct TableColumn<'a> {
    /// The head's lines; a line that is empty in all columns is not printed.
    pub head: [&'a str; 2],
    /// Names (true) are left-aligned and may be shortened; numbers (false) are right-aligned and never cut.
    pub text: bool,
    /// Whether names are never shortened, because the user has to type them.
    pub uncut: bool,
    /// In a narrow terminal columns with the lowest rank are left out first; those with rank 0 never.
    pub rank: u8,
    pub cells: Vec<TableCell>,
}

impl<'a> TableColumn<'a> {
    /// A column of names without rows.
    pub fn names(head: &'a str) -> TableColumn<'a> {
        TableColumn { head: [head, ""], text: true, ..TableColumn::default() }
    }

    /// A column of numbers without rows; the unit is in the head's second line.
    pub fn numbers(head: &'a str, unit: &'a str) -> TableColumn<'a> {
        TableColumn { head: [head, unit], ..TableColumn::default() }
    }

    /// The column with a rank.
    pub fn ranked(self, rank: u8) -> TableColumn<'a> {
        TableColumn { rank, ..self }
    }

    /// The column with names that are never shortened.
    pub fn uncut(self) -> TableColumn<'a> {
        TableColumn { uncut: true, ..self }
    }

    fn width(&self) -> usize {
        let head = self.head.iter().map(|h| h.width()).max().unwrap_or(0);
        self.cells.iter().map(|c| c.text.width()).max().unwrap_or(0).max(head)
    }

    fn texts(&self) -> Vec<&str> {
        self.cells.iter().map(|c| c.text.as_str()).collect()
    }

    /// The minimum width in which names stay distinct; with `whole`, without cutting the parts that differ.
    fn narrowest(&self, whole: bool) -> usize {
        let full = self.width();
        if self.uncut {
            return full;
        }
        if self.cells.len() > MAX_ELIDED_NAMES {
            return MIN_NAME_WIDTH.min(full);
        }
        let fits = |width: &usize| elide(&self.texts(), *width).is_some_and(|e| e.whole || !whole);
        (MIN_NAME_WIDTH.min(full)..full).find(fits).unwrap_or(full)
    }

    /// Shortens the names to `width`.
    fn shorten(&mut self, width: usize) {
        let clipped = || self.cells.iter().map(|c| clip(&c.text, width)).collect();
        let short = elide(&self.texts(), width).map_or_else(clipped, |e| e.names);
        for (cell, text) in self.cells.iter_mut().zip(short) {
            cell.text = text;
        }
    }
}

/// Renders a table of these columns for the terminal.
pub(crate) fn render(columns: Vec<TableColumn<'_>>, style: Style) -> String {
    Table::of(columns).text(style)
}

/// A table: columns, and headings between their rows.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    columns: Vec<TableColumn<'a>>,
    /// Row number and text of headings, which stand above that row over all columns.
    headings: Vec<(usize, String)>,
}

impl<'a> Table<'a> {
    /// A table of columns with or without rows.
    pub fn of(columns: Vec<TableColumn<'a>>) -> Table<'a> {
        Table { columns, headings: Vec::new() }
    }

    /// A table of heads and rows of texts. A head with a unit is of numbers, a head with `None` of names.
    pub fn filled(heads: &[(&'a str, Option<&'a str>)], rows: &[Vec<String>]) -> Table<'a> {
        let column = |&(head, unit): &(&'a str, Option<&'a str>)| {
            unit.map_or_else(|| TableColumn::names(head), |unit| TableColumn::numbers(head, unit))
        };
        let mut table = Table::of(heads.iter().map(column).collect());
        rows.iter().for_each(|row| table.row(row.iter().map(|text| text.as_str().into())));
        table
    }

    /// Like [`Table::filled`], with the keys of the heads' texts; an empty key has no text.
    pub fn worded(lang: Lang, heads: &[(&str, Option<&'a str>)], rows: &[Vec<String>]) -> Table<'a> {
        let head = |key: &str| if key.is_empty() { "" } else { word(lang, key) };
        let heads: Vec<_> = heads.iter().map(|(key, unit)| (head(key), *unit)).collect();
        Table::filled(&heads, rows)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.cells.len())
    }

    /// Appends a row with a cell for each column. Line breaks and invisible characters in cells are replaced.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TableCell>) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.cells.push(TableCell { text: printable(&cell.text.replace('\n', " ")), ..cell });
        }
    }

    /// Appends a heading for the rows that follow.
    pub fn heading(&mut self, text: &str) {
        self.headings.push((self.rows(), printable(text)));
    }

    fn head(&self) -> impl Iterator<Item = usize> + '_ {
        (0..2).filter(|&line| self.columns.iter().any(|c| !c.head[line].is_empty()))
    }

    fn above(&self, row: usize) -> impl Iterator<Item = &str> {
        self.headings.iter().filter(move |(at, _)| *at == row).map(|(_, text)| text.as_str())
    }

    /// The table for the terminal. Every line ends with a newline and none with spaces.
    pub fn text(mut self, style: Style) -> String {
        let rows = self.rows();
        let (widths, gap) = fit(&mut self.columns, style.columns());
        self.columns.iter_mut().zip(&widths).filter(|(c, _)| c.text).for_each(|(c, &width)| c.shorten(width));
        let line = |cell: &dyn Fn(&TableColumn) -> TableCell| {
            let mut line = String::new();
            for (column, &width) in self.columns.iter().zip(&widths) {
                let TableCell { text, tone } = cell(column);
                if !line.is_empty() {
                    line.push_str(&" ".repeat(gap));
                }
                line.push_str(&style.paint(tone, &pad(&text, width, column.text)));
            }
            line.truncate(line.trim_end().len());
            line + "\n"
        };
        let head = |i: usize| line(&|c| TableCell::toned(c.head[i], Tone::Head));
        let mut text: String = self.head().map(head).collect();
        let total = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
        text += &(style.paint(Tone::Dim, &"─".repeat(total)) + "\n");
        for row in 0..rows {
            self.above(row).for_each(|heading| text += &print::wrap(heading, style.columns(), ""));
            text += &line(&|c| c.cells.get(row).cloned().unwrap_or_default());
        }
        text
    }

    /// The table as Markdown. The two lines of a head are joined, and headings are rows of their own.
    pub fn markdown(&self) -> String {
        let row = |cells: &mut dyn Iterator<Item = String>| {
            cells.fold(String::from("|"), |line, text| line + &format!(" {} |", text.replace('|', "\\|")))
                + "\n"
        };
        let head = |c: &TableColumn| {
            let parts: Vec<&str> = c.head.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join(", ")
        };
        let mut text = row(&mut self.columns.iter().map(head)).replacen("|  |", "| |", 1);
        text += &format!("|{}\n", "---|".repeat(self.columns.len()));
        for i in 0..self.rows() {
            for heading in self.above(i) {
                let rest = self.columns.iter().skip(1).map(|_| String::new());
                text += &row(&mut std::iter::once(heading.to_string()).chain(rest));
            }
            text += &row(&mut self.columns.iter().map(|c| c.cells[i].text.clone()));
        }
        text
    }

    /// The table as HTML. The upper line of a head spans the following columns without an upper line.
    pub(crate) fn html(&self) -> String {
        let mut out = String::from("<div class=\"table-scroll\"><table><thead>");
        for line in self.head() {
            out += "<tr>";
            let mut at = 0;
            while at < self.columns.len() {
                let after = self.columns[at + 1..].iter().take_while(|c| line == 0 && c.head[0].is_empty());
                let span = if self.columns[at].head[line].is_empty() { 1 } else { 1 + after.count() };
                let class = if self.columns[at].text { " class=\"text\"" } else { "" };
                let wide = if span > 1 { format!(" colspan=\"{span}\"") } else { String::new() };
                let _ = write!(out, "<th{class}{wide}>{}</th>", escaped(self.columns[at].head[line]));
                at += span;
            }
            out += "</tr>";
        }
        out += "</thead>\n<tbody>";
        for row in 0..self.rows() {
            for heading in self.above(row) {
                let _ = writeln!(
                    out,
                    "<tr><th class=\"text\" colspan=\"{}\">{}</th></tr>",
                    self.columns.len(),
                    escaped(heading)
                );
            }
            out += "<tr>";
            for column in &self.columns {
                let TableCell { text, tone } = &column.cells[row];
                let classes = [column.text.then_some("text"), tone.class()];
                let classes: Vec<&str> = classes.into_iter().flatten().collect();
                let class = if classes.is_empty() {
                    String::new()
                } else {
                    format!(" class=\"{}\"", classes.join(" "))
                };
                let _ = write!(out, "<td{class}>{}</td>", escaped(text));
            }
            out += "</tr>\n";
        }
        out + "</tbody></table></div>\n"
    }
}

/// The widths and the gap: two spaces between columns; if that is too wide, one space and shorter names, then
/// fewer columns. The distinguishing parts of names are cut only if no column of a lower rank is left.
fn fit(columns: &mut Vec<TableColumn<'_>>, room: usize) -> (Vec<usize>, usize) {
    // Minimum widths of names, with and without cutting the parts that differ; computed when needed.
    let mut floors: [Option<Vec<usize>>; 2] = [None, None];
    loop {
        let whole = columns.iter().any(|c| c.rank > 0 && c.rank <= MAX_RANK_BELOW_NAMES);
        let mut widths: Vec<usize> = columns.iter().map(TableColumn::width).collect();
        let gaps = widths.len().saturating_sub(1);
        let total = widths.iter().sum::<usize>();
        if total + 2 * gaps <= room {
            return (widths, 2);
        }
        let floors = floors[usize::from(whole)]
            .get_or_insert_with(|| columns.iter().filter(|c| c.text).map(|c| c.narrowest(whole)).collect());
        let mut excess = (total + gaps).saturating_sub(room);
        let names = widths.iter_mut().zip(columns.iter()).filter(|(_, c)| c.text).map(|(w, _)| w);
        for (width, floor) in names.zip(floors.iter()) {
            let cut = excess.min(width.saturating_sub(*floor));
            *width -= cut;
            excess -= cut;
        }
        if excess == 0 {
            return (widths, 1);
        }
        let lowest = (0..columns.len()).filter(|&i| columns[i].rank > 0).min_by_key(|&i| columns[i].rank);
        let Some(lowest) = lowest else { return (widths, 1) };
        columns.remove(lowest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column<'a>(head: &'a str, rank: u8, cell: &str) -> TableColumn<'a> {
        TableColumn {
            head: [head, ""],
            text: rank == 0,
            rank,
            cells: vec![cell.into()],
            ..TableColumn::default()
        }
    }

    #[test]
    fn the_column_of_the_lowest_rank_is_left_out_first() {
        let columns = || {
            vec![
                column("name", 0, "x"),
                column("wanted", 9, &"1".repeat(30)),
                column("less", 1, &"2".repeat(30)),
            ]
        };
        let wide = render(columns(), Style::default());
        assert!(wide.contains("less") && wide.contains("wanted"));
        let narrow = render(columns(), Style { width: 60, ..Style::default() });
        assert!(!narrow.contains("less") && narrow.contains("wanted"));
    }

    #[test]
    fn columns_of_low_rank_are_left_out_before_names_become_alike() {
        let names = ["shaper-fifo-with-a-long-queue-cubic", "shaper-fifo-with-a-long-queue-bbr"];
        let columns = |rank, digits| {
            let cells = |list: [&str; 2]| list.map(Into::into).to_vec();
            let numbers = |rank, digit: &str| TableColumn {
                rank,
                cells: cells([&digit.repeat(digits), digit]),
                ..TableColumn::numbers("n", "")
            };
            let name = TableColumn { cells: cells(names), ..TableColumn::names("variant") };
            vec![name, numbers(200, "1"), numbers(rank, "2")]
        };
        let wide = render(columns(30, 24), Style { width: 100, ..Style::default() });
        assert!(names.iter().all(|n| wide.contains(n)), "{wide}");
        let table = render(columns(30, 24), Style { width: 60, ..Style::default() });
        assert!(table.contains("shap…cubic") && table.contains("shaper…bbr"), "{table}");
        // With less room the column of the lower rank is left out, and names are longer again.
        let table = render(columns(30, 26), Style { width: 60, ..Style::default() });
        assert!(table.contains("…cubic") && table.contains(names[1]) && !table.contains("22"), "{table}");
        assert!(table.lines().all(|l| l.width() <= 60), "{table}");
    }

    #[test]
    fn names_that_are_to_be_typed_are_never_cut() {
        let long = "shaper-fifo+connections";
        let name = TableColumn { cells: vec![long.into(), "as it is".into()], ..TableColumn::names("cure") };
        let who = ["sender+limiter", ""].map(TableCell::from).to_vec();
        let who = TableColumn { cells: who, ..TableColumn::names("who") };
        let cells = vec!["1".repeat(25).into(), "2".into()];
        let number = TableColumn { cells, ..TableColumn::numbers("n", "").ranked(90) };
        let style = Style { width: 60, ..Style::default() };
        let table = |name| render(vec![name, who.clone(), number.clone()], style);
        let cut = table(name.clone());
        assert!(!cut.contains(long), "{cut}");
        let whole = table(name.uncut());
        assert!(
            whole.contains(long) && whole.contains("111") && !whole.contains("sender+limiter"),
            "{whole}"
        );
        assert!(whole.lines().all(|l| l.width() <= 60), "{whole}");
    }

    #[test]
    fn colours_are_used_only_on_request() {
        let cells = vec![TableCell { text: "9.41".into(), tone: Tone::Good }];
        let table = |color| {
            let column = TableColumn { cells: cells.clone(), ..TableColumn::numbers("total", "Mbit/s") };
            render(vec![column], Style { color, ..Style::default() })
        };
        assert!(!table(false).contains('\x1b'));
        assert!(table(true).contains("\x1b[32m  9.41\x1b[0m"));
    }
}
