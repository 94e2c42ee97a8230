//! A table that fits: columns have priorities, and the least wanted go when the width runs out.

use crate::elide::elide;
use crate::style::{Style, Tone};
use crate::width::{clip, pad};
use unicode_width::UnicodeWidthStr;

/// No column of names is made narrower than this.
const NAME: usize = 10;
/// Of more names than these the ends are cut: trying every width would take long.
const MOST_NAMES: usize = 500;
/// Columns of this rank and below go before a part of a name that tells it from another is cut.
const LESS_THAN_A_NAME: u8 = 60;

/// One value with its tone.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableCell {
    pub text: String,
    pub tone: Tone,
}

impl<S: Into<String>> From<S> for TableCell {
    fn from(text: S) -> TableCell {
        TableCell { text: text.into(), tone: Tone::Plain }
    }
}

/// A column: a head of two lines, a cell for each row.
pub(crate) struct TableColumn {
    pub head: [&'static str; 2],
    /// Names are left-aligned and may be shortened as [`elide`] does; numbers are right-aligned and whole.
    pub text: bool,
    /// Columns of the lowest rank are left out first; 0 never.
    pub rank: u8,
    pub cells: Vec<TableCell>,
}

impl TableColumn {
    fn width(&self) -> usize {
        let head = self.head.iter().map(|h| h.width()).max().unwrap_or(0);
        self.cells.iter().map(|c| c.text.width()).max().unwrap_or(0).max(head)
    }

    fn names(&self) -> Vec<&str> {
        self.cells.iter().map(|c| c.text.as_str()).collect()
    }

    /// The least width in which names stay distinct, with `whole` without cutting what tells them apart.
    fn narrowest(&self, whole: bool) -> usize {
        let full = self.width();
        if self.cells.len() > MOST_NAMES {
            return NAME.min(full);
        }
        let fits = |width: &usize| elide(&self.names(), *width).is_some_and(|e| e.whole || !whole);
        (NAME.min(full)..full).find(fits).unwrap_or(full)
    }

    /// Shortens its names to `width`.
    fn shorten(&mut self, width: usize) {
        let clipped = || self.cells.iter().map(|c| clip(&c.text, width)).collect();
        let short = elide(&self.names(), width).map_or_else(clipped, |e| e.names);
        for (cell, text) in self.cells.iter_mut().zip(short) {
            cell.text = text;
        }
    }
}

/// The table, every line ended, none with blanks at its end.
pub(crate) fn render(mut columns: Vec<TableColumn>, style: Style) -> String {
    let (widths, gap) = fit(&mut columns, style.columns());
    columns.iter_mut().zip(&widths).filter(|(c, _)| c.text).for_each(|(c, &width)| c.shorten(width));
    let rows = columns.first().map_or(0, |c| c.cells.len());
    let line = |cell: &dyn Fn(&TableColumn) -> TableCell| {
        let mut line = String::new();
        for (column, &width) in columns.iter().zip(&widths) {
            let TableCell { text, tone } = cell(column);
            if !line.is_empty() {
                line.push_str(&" ".repeat(gap));
            }
            line.push_str(&style.paint(tone, &pad(&text, width, column.text)));
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    };
    let head = |i: usize| line(&|c| TableCell { text: c.head[i].into(), tone: Tone::Head });
    let total = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
    let rule = style.paint(Tone::Dim, &"─".repeat(total)) + "\n";
    let body = (0..rows).map(|r| line(&|c| c.cells.get(r).cloned().unwrap_or_default()));
    [head(0), head(1), rule].into_iter().chain(body).collect()
}

/// Widths and gap: two blanks between columns, else one and shorter names, else fewer columns. What tells one name from
/// another is cut only when no lesser column is left to go.
fn fit(columns: &mut Vec<TableColumn>, room: usize) -> (Vec<usize>, usize) {
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

    fn column(head: &'static str, rank: u8, cell: &str) -> TableColumn {
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
