//! Aligned columns. Cells are single lines of safe text; the last column is not padded.

use anstyle::Style;

use super::paint::{FAINT, PLAIN};
use super::{Output, text};

const GAP: &str = "  ";
/// A column is never cut below this, however narrow the terminal is.
const NARROWEST: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Left(&'static str),
    Right(&'static str),
    /// Left-aligned, and cut when the terminal is too narrow for the table.
    Flexible(&'static str),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Left(heading) | Self::Right(heading) | Self::Flexible(heading) => heading,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Makes any text safe to stand in a cell.
    pub fn styled(content: &str, style: Style) -> Self {
        Self { text: text::line(content), style }
    }

    /// Shifted to the right, to show that it belongs to the row above.
    pub fn indented(content: &str, style: Style) -> Self {
        Self { text: format!("  {}", text::line(content)), style }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(content: T) -> Self {
        Self::styled(content.as_ref(), PLAIN)
    }
}

enum Row {
    Cells(Vec<Cell>),
    /// A remark on the row above, not bound to the columns.
    Remark(Cell),
}

pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row::Cells(cells.into_iter().collect()));
    }

    pub fn remark(&mut self, remark: Cell) {
        self.rows.push(Row::Remark(remark));
    }

    pub fn render(&self, output: &Output) -> String {
        let widths = self.widths(output.width);
        let headings = self.columns.iter().map(|column| Cell::styled(column.heading(), FAINT)).collect();
        let mut lines = String::new();
        for row in std::iter::once(&Row::Cells(headings)).chain(&self.rows) {
            let line = match row {
                Row::Cells(cells) => self.line(cells, &widths, output),
                Row::Remark(remark) => format!("{GAP}{GAP}{}", output.paint.apply(remark.style, &remark.text)),
            };
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
        lines
    }

    fn line(&self, cells: &[Cell], widths: &[usize], output: &Output) -> String {
        let mut line = String::new();
        for ((column, width), cell) in self.columns.iter().zip(widths).zip(cells) {
            let content = text::fit(&cell.text, *width);
            let padding = " ".repeat(width.saturating_sub(text::width(&content)));
            let painted = output.paint.apply(cell.style, &content);
            match column {
                Column::Right(_) => line.push_str(&format!("{padding}{painted}{GAP}")),
                Column::Left(_) | Column::Flexible(_) => line.push_str(&format!("{painted}{padding}{GAP}")),
            }
        }
        line
    }

    fn widths(&self, available: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| text::width(column.heading())).collect();
        for row in &self.rows {
            let Row::Cells(cells) = row else { continue };
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(text::width(&cell.text));
            }
        }
        let Some(available) = available else { return widths };
        let total = widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
        let mut excess = total.saturating_sub(available);
        // The last flexible column gives first: it is the one people miss least.
        for (width, column) in widths.iter_mut().zip(&self.columns).rev() {
            if matches!(column, Column::Flexible(_)) {
                let given = excess.min(width.saturating_sub(NARROWEST));
                *width -= given;
                excess -= given;
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Paint;

    fn table() -> Table {
        let mut table = Table::new(&[Column::Left("ID"), Column::Right("TOKENS"), Column::Flexible("TITLE")]);
        table.row(["t1".into(), "1,234".into(), "Read the parser\nand fix it".into()]);
        table.row(["t2".into(), "7".into(), "日本語のタイトルはとても長い".into()]);
        table.remark("a remark".into());
        table.row([Cell::indented("t2/1", PLAIN), "≈12".into(), "\u{1b}[31mred".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_cut_in_a_pipe() {
        insta::assert_snapshot!(table().render(&Output::plain()), @r"
        ID      TOKENS  TITLE
        t1       1,234  Read the parser and fix it
        t2           7  日本語のタイトルはとても長い
            a remark
          t2/1     ≈12  \x1b[31mred
        ");
    }

    #[test]
    fn a_narrow_terminal_cuts_the_flexible_column_only() {
        let output = Output { width: Some(34), ..Output::plain() };
        let rendered = table().render(&output);
        assert!(rendered.lines().all(|line| text::width(line) <= 34), "{rendered}");
        assert!(rendered.contains("Read the parser a…"), "{rendered}");
        assert!(rendered.contains("日本語のタイトル…"), "{rendered}");
    }

    #[test]
    fn colours_do_not_disturb_the_alignment() {
        let mut table = Table::new(&[Column::Left("ID"), Column::Right("N")]);
        table.row([Cell::styled("t1", super::super::paint::ID), "1".into()]);
        let coloured = Output { paint: Paint::coloured(), ..Output::plain() };
        let rendered = table.render(&coloured);
        assert!(rendered.contains("\u{1b}["));
        let stripped: String = rendered
            .split('\u{1b}')
            .map(|piece| {
                piece.split_once('m').map_or(piece, |(code, rest)| if code.starts_with('[') { rest } else { piece })
            })
            .collect();
        assert_eq!(stripped, table.render(&Output::plain()));
    }
}
