//! The one table: columns of names and of numbers, and what writes them: for the terminal, as Markdown, as HTML.
//!
//! In the terminal a table fits: columns have ranks, and those of the lowest go when the width runs out.

use crate::elide::elide;
use crate::markup::escaped;
use crate::style::{Style, Tone};
use crate::width::{clip, pad, printable};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// No column of names is made narrower than this.
const NAME: usize = 10;
/// Of more names than these the ends are cut: trying every width would take long.
const MOST_NAMES: usize = 500;
/// Columns of this rank and below go before a part of a name that tells it from another is cut.
const LESS_THAN_A_NAME: u8 = 60;

/// One value with its tone.
#[derive(Clone, Debug, Default)]
pub struct TableCell {
    /// As it is shown.
    pub text: String,
    /// What it is.
    pub tone: Tone,
}

impl TableCell {
    /// A text in a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> TableCell {
        TableCell { text: text.into(), tone }
    }
}

impl<S: Into<String>> From<S> for TableCell {
    fn from(text: S) -> TableCell {
        TableCell { text: text.into(), tone: Tone::Plain }
    }
}

/// A column: a head of two lines, a cell for each row.
#[derive(Clone, Debug)]
pub struct TableColumn<'a> {
    /// The head's lines; a line that is empty in all columns is left out.
    pub head: [&'a str; 2],
    /// Names are left-aligned and may be shortened; numbers are right-aligned and whole.
    pub text: bool,
    /// Columns of the lowest rank are left out first where the terminal is narrow; 0 never.
    pub rank: u8,
    /// Row by row.
    pub cells: Vec<TableCell>,
}

impl<'a> TableColumn<'a> {
    /// A column of names without rows.
    pub fn names(head: &'a str) -> TableColumn<'a> {
        TableColumn { head: [head, ""], text: true, rank: 0, cells: Vec::new() }
    }

    /// A column of numbers without rows, its unit in the head's second line.
    pub fn numbers(head: &'a str, unit: &'a str) -> TableColumn<'a> {
        TableColumn { head: [head, unit], text: false, rank: 0, cells: Vec::new() }
    }

    /// The column with a rank.
    pub fn ranked(self, rank: u8) -> TableColumn<'a> {
        TableColumn { rank, ..self }
    }

    fn width(&self) -> usize {
        let head = self.head.iter().map(|h| h.width()).max().unwrap_or(0);
        self.cells.iter().map(|c| c.text.width()).max().unwrap_or(0).max(head)
    }

    fn texts(&self) -> Vec<&str> {
        self.cells.iter().map(|c| c.text.as_str()).collect()
    }

    /// The least width in which names stay distinct, with `whole` without cutting what tells them apart.
    fn narrowest(&self, whole: bool) -> usize {
        let full = self.width();
        if self.cells.len() > MOST_NAMES {
            return NAME.min(full);
        }
        let fits = |width: &usize| elide(&self.texts(), *width).is_some_and(|e| e.whole || !whole);
        (NAME.min(full)..full).find(fits).unwrap_or(full)
    }

    /// Shortens its names to `width`.
    fn shorten(&mut self, width: usize) {
        let clipped = || self.cells.iter().map(|c| clip(&c.text, width)).collect();
        let short = elide(&self.texts(), width).map_or_else(clipped, |e| e.names);
        for (cell, text) in self.cells.iter_mut().zip(short) {
            cell.text = text;
        }
    }
}

/// The table of these columns for the terminal.
pub(crate) fn render(columns: Vec<TableColumn<'_>>, style: Style) -> String {
    Table::of(columns).text(style)
}

/// A table: columns, and headings between their rows.
#[derive(Clone, Debug, Default)]
pub struct Table<'a> {
    columns: Vec<TableColumn<'a>>,
    /// Row number and text: what stands above that row, over all columns.
    headings: Vec<(usize, String)>,
}

impl<'a> Table<'a> {
    /// Of columns with or without rows.
    pub fn of(columns: Vec<TableColumn<'a>>) -> Table<'a> {
        Table { columns, headings: Vec::new() }
    }

    /// Of heads and rows of texts; a head is of numbers with their unit, or of names with `None`.
    pub fn filled(heads: &[(&'a str, Option<&'a str>)], rows: &[Vec<String>]) -> Table<'a> {
        let column = |&(head, unit): &(&'a str, Option<&'a str>)| {
            unit.map_or_else(|| TableColumn::names(head), |unit| TableColumn::numbers(head, unit))
        };
        let mut table = Table::of(heads.iter().map(column).collect());
        rows.iter().for_each(|row| table.row(row.iter().map(|text| text.as_str().into())));
        table
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.cells.len())
    }

    /// Appends a row, a cell for each column in their order. Cells are one line of visible characters in all that writes
    /// them, whatever names hold.
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

    /// For the terminal: every line ended, none with blanks at its end.
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

    /// As a table of Markdown; the two lines of a head are one, and headings are rows of their own.
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

    /// As an element of HTML. A head's upper line spans the columns after it whose own is empty.
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

/// Widths and gap: two blanks between columns, else one and shorter names, else fewer columns. What tells one name from
/// another is cut only when no lesser column is left to go.
fn fit(columns: &mut Vec<TableColumn<'_>>, room: usize) -> (Vec<usize>, usize) {
    // Least widths of names, with and without cutting what tells them apart; found out when they are needed.
    let mut floors: [Option<Vec<usize>>; 2] = [None, None];
    loop {
        let whole = columns.iter().any(|c| c.rank > 0 && c.rank <= LESS_THAN_A_NAME);
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
        let least = (0..columns.len()).filter(|&i| columns[i].rank > 0).min_by_key(|&i| columns[i].rank);
        let Some(least) = least else { return (widths, 1) };
        columns.remove(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column<'a>(head: &'a str, rank: u8, cell: &str) -> TableColumn<'a> {
        TableColumn { head: [head, ""], text: rank == 0, rank, cells: vec![cell.into()] }
    }

    #[test]
    fn the_least_wanted_column_goes_first() {
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
    fn lesser_columns_go_before_names_become_alike() {
        let names = ["shaper-fifo-with-a-long-queue-cubic", "shaper-fifo-with-a-long-queue-bbr"];
        let columns = |rank, digits| {
            let cells = |list: [&str; 2]| list.map(Into::into).to_vec();
            let numbers = |rank, digit: &str| TableColumn {
                head: ["n", ""],
                text: false,
                rank,
                cells: cells([&digit.repeat(digits), digit]),
            };
            let name = TableColumn { head: ["variant", ""], text: true, rank: 0, cells: cells(names) };
            vec![name, numbers(200, "1"), numbers(rank, "2")]
        };
        let wide = render(columns(30, 24), Style { width: 100, ..Style::default() });
        assert!(names.iter().all(|n| wide.contains(n)), "{wide}");
        let table = render(columns(30, 24), Style { width: 60, ..Style::default() });
        assert!(table.contains("shap…cubic") && table.contains("shaper…bbr"), "{table}");
        // With less room the lesser column goes, and the name has what it leaves.
        let table = render(columns(30, 26), Style { width: 60, ..Style::default() });
        assert!(table.contains("…cubic") && table.contains(names[1]) && !table.contains("22"), "{table}");
        assert!(table.lines().all(|l| l.width() <= 60), "{table}");
    }

    #[test]
    fn colour_only_when_asked() {
        let cells = vec![TableCell { text: "9.41".into(), tone: Tone::Good }];
        let table = |color| {
            let column =
                TableColumn { head: ["total", "Mbit/s"], text: false, rank: 0, cells: cells.clone() };
            render(vec![column], Style { color, ..Style::default() })
        };
        assert!(!table(false).contains('\x1b'));
        assert!(table(true).contains("\x1b[32m  9.41\x1b[0m"));
    }
}
