//! A table that fits: columns have priorities, and the least wanted go when the width runs out.

use crate::style::{Style, Tone};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Widest and narrowest that a left-aligned text column may be.
const TEXT: (usize, usize) = (28, 10);

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
    /// Names are left-aligned and may be cut with an ellipsis; numbers are right-aligned and whole.
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
}

/// Control characters would move the cursor or colour the terminal, marks of writing direction turn round what follows;
/// names come from files.
pub(crate) fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}

/// `text` in at most `width` columns, with an ellipsis where it was cut.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let (mut clipped, mut used) = (String::new(), 0);
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > width {
            break;
        }
        clipped.push(c);
        used += w;
    }
    clipped + "…"
}

/// `text` padded to `width` columns.
pub(crate) fn pad(text: &str, width: usize, left: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(text.width()));
    if left { format!("{text}{fill}") } else { format!("{fill}{text}") }
}

/// The table, every line ended, none with blanks at its end.
pub(crate) fn render(mut columns: Vec<TableColumn>, style: Style) -> String {
    let (widths, gap) = fit(&mut columns, style.columns());
    let rows = columns.first().map_or(0, |c| c.cells.len());
    let line = |cell: &dyn Fn(&TableColumn) -> TableCell| {
        let mut line = String::new();
        for (column, &width) in columns.iter().zip(&widths) {
            let TableCell { text, tone } = cell(column);
            if !line.is_empty() {
                line.push_str(&" ".repeat(gap));
            }
            line.push_str(&style.paint(tone, &pad(&clip(&text, width), width, column.text)));
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

/// Widths and gap: two blanks between columns, else one and narrower names, else fewer columns.
fn fit(columns: &mut Vec<TableColumn>, room: usize) -> (Vec<usize>, usize) {
    loop {
        let mut widths: Vec<usize> = columns.iter().map(TableColumn::width).collect();
        for (width, column) in widths.iter_mut().zip(columns.iter()) {
            if column.text {
                *width = (*width).min(TEXT.0);
            }
        }
        for gap in [2, 1] {
            let total = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
            let mut excess = total.saturating_sub(room);
            if gap == 1 {
                for (width, _) in widths.iter_mut().zip(columns.iter()).filter(|(_, c)| c.text) {
                    let cut = excess.min(width.saturating_sub(TEXT.1));
                    *width -= cut;
                    excess -= cut;
                }
            }
            if excess == 0 {
                return (widths, gap);
            }
        }
        let Some(least) =
            (0..columns.len()).filter(|&i| columns[i].rank > 0).min_by_key(|&i| columns[i].rank)
        else {
            return (widths, 1);
        };
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
        let wide = render(columns(), Style { width: 80, color: false });
        assert!(wide.contains("less") && wide.contains("wanted"));
        let narrow = render(columns(), Style { width: 60, color: false });
        assert!(!narrow.contains("less") && narrow.contains("wanted"));
    }

    #[test]
    fn wide_characters_count_double_and_long_names_are_cut() {
        assert_eq!(clip("日本語の名前", 7), "日本語…");
        assert_eq!(clip("日本語", 6), "日本語");
        assert_eq!(pad("日本", 6, true), "日本  ");
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(printable("a\x1b[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }

    #[test]
    fn colour_only_when_asked() {
        let cells = vec![TableCell { text: "9.41".into(), tone: Tone::Good }];
        let table = |color| {
            let column =
                TableColumn { head: ["total", "Mbit/s"], text: false, rank: 0, cells: cells.clone() };
            render(vec![column], Style { width: 80, color })
        };
        assert!(!table(false).contains('\x1b'));
        assert!(table(true).contains("\x1b[32m  9.41\x1b[0m"));
    }
}
