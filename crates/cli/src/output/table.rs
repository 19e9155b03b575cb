//! Aligned columns. Cells are single lines of safe text; the last column is not padded.

use anstyle::Style;

use super::paint::{FAINT, PLAIN};
use super::{Output, text};

const GAP: &str = "  ";
/// The minimum width of a cut column.
const NARROWEST: usize = 12;
/// Below this width of a flexible column, other columns are dropped first.
const COMFORTABLE: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Left(&'static str),
    Right(&'static str),
    /// Left-aligned, and cut if the terminal is too narrow.
    Flexible(&'static str),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Left(heading) | Self::Right(heading) | Self::Flexible(heading) => heading,
        }
    }

    fn is_flexible(self) -> bool {
        matches!(self, Self::Flexible(_))
    }
}

/// A line of text in pieces with different styles.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pieces: Vec<(String, Style)>,
}

impl Cell {
    /// Makes any text safe for a cell.
    pub fn styled(content: &str, style: Style) -> Self {
        Self { pieces: vec![(text::line(content), style)] }
    }

    /// Indented, to show that it belongs to the row above.
    pub fn indented(content: &str, style: Style) -> Self {
        Self::styled(content, style).shifted()
    }

    pub fn shifted(mut self) -> Self {
        self.pieces.insert(0, (GAP.to_owned(), PLAIN));
        self
    }

    /// With this piece appended.
    pub fn then(self, content: &str, style: Style) -> Self {
        self.then_safe(&text::line(content), style)
    }

    /// With a piece of a safe line appended, including spaces at its ends.
    pub fn then_safe(mut self, piece: &str, style: Style) -> Self {
        self.pieces.push((piece.to_owned(), style));
        self
    }

    /// With a space appended.
    pub fn space(self) -> Self {
        self.then_safe(" ", PLAIN)
    }

    fn width(&self) -> usize {
        self.pieces.iter().map(|(piece, _)| text::width(piece)).sum()
    }

    /// Cut to this many columns. Its width is already known.
    fn painted(&self, width: usize, columns: usize, output: &Output) -> String {
        let paint = |(piece, style): &(String, Style)| output.paint.apply(*style, piece);
        if width <= columns {
            return self.pieces.iter().map(paint).collect();
        }
        let whole: String = self.pieces.iter().map(|(piece, _)| piece.as_str()).collect();
        let cut = text::fit(&whole, columns);
        let mut left = cut.chars().count().saturating_sub(1);
        let mut painted = String::new();
        for (piece, style) in &self.pieces {
            let shown: String = piece.chars().take(left).collect();
            left = left.saturating_sub(piece.chars().count());
            painted.push_str(&output.paint.apply(*style, &shown));
        }
        if !cut.is_empty() {
            painted.push('…');
        }
        painted
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(content: T) -> Self {
        Self::styled(content.as_ref(), PLAIN)
    }
}

enum Row {
    Cells(Vec<Cell>),
    /// A remark on the row above, across the columns.
    Remark(Cell),
}

pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Headings of optional columns, in the order in which they are dropped.
    dispensable: &'static [&'static str],
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), dispensable: &[] }
    }

    /// In a narrow terminal, these columns are dropped, the first one first, until the rest fits.
    pub fn dispensing(self, dispensable: &'static [&'static str]) -> Self {
        Self { dispensable, ..self }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row::Cells(cells.into_iter().collect()));
    }

    pub fn remark(&mut self, remark: Cell) {
        self.rows.push(Row::Remark(remark));
    }

    pub fn render(&self, output: &Output) -> String {
        let widths = self.widths(output.width);
        let headings = Row::Cells(self.columns.iter().map(|column| Cell::styled(column.heading(), FAINT)).collect());
        let is_headed = self.columns.iter().any(|column| !column.heading().is_empty());
        let mut lines = String::new();
        for row in is_headed.then_some(&headings).into_iter().chain(&self.rows) {
            let line = match row {
                Row::Cells(cells) => self.line(cells, &widths, output),
                Row::Remark(remark) => format!("{GAP}{GAP}{}", remark.painted(0, usize::MAX, output)),
            };
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
        lines
    }

    fn line(&self, cells: &[Cell], widths: &[Option<usize>], output: &Output) -> String {
        let mut line = String::new();
        for ((column, width), cell) in self.columns.iter().zip(widths).zip(cells) {
            let Some(width) = width else { continue };
            let used = cell.width();
            let padding = " ".repeat(width.saturating_sub(used));
            let painted = cell.painted(used, *width, output);
            match column {
                Column::Right(_) => line.push_str(&format!("{padding}{painted}{GAP}")),
                Column::Left(_) | Column::Flexible(_) => line.push_str(&format!("{painted}{padding}{GAP}")),
            }
        }
        line
    }

    /// The width of each column; none for a dropped one.
    fn widths(&self, available: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| text::width(column.heading())).collect();
        for row in &self.rows {
            let Row::Cells(cells) = row else { continue };
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.width());
            }
        }
        let mut widths: Vec<Option<usize>> = widths.into_iter().map(Some).collect();
        let Some(available) = available else { return widths };
        let comfortable = |(width, column): (&Option<usize>, &Column)| match column.is_flexible() {
            true => width.map(|width| width.min(COMFORTABLE)),
            false => *width,
        };
        for heading in self.dispensable {
            if total(widths.iter().zip(&self.columns).filter_map(comfortable)) <= available {
                break;
            }
            let gone = widths.iter_mut().zip(&self.columns).find(|(_, column)| column.heading() == *heading);
            gone.into_iter().for_each(|(width, _)| *width = None);
        }
        let mut excess = total(widths.iter().flatten().copied()).saturating_sub(available);
        // The last flexible column shrinks first.
        for (width, column) in widths.iter_mut().zip(&self.columns).rev() {
            if let Some(width) = width.as_mut().filter(|_| column.is_flexible()) {
                let given = excess.min(width.saturating_sub(NARROWEST));
                *width -= given;
                excess -= given;
            }
        }
        widths
    }
}

fn total(widths: impl Iterator<Item = usize>) -> usize {
    let (number, sum) = widths.fold((0, 0), |(number, sum), width| (number + 1, sum + width));
    sum + GAP.len() * usize::saturating_sub(number, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;
    use crate::output::paint::{BAD, ID};

    fn table() -> Table {
        let mut table = Table::new(&[Column::Left("ID"), Column::Right("TOKENS"), Column::Flexible("TITLE")]);
        table.row(["t1".into(), "1,234".into(), "Read the parser\nand fix it".into()]);
        table.row(["t2".into(), "7".into(), "日本語のタイトルはとても長い".into()]);
        table.remark("a remark".into());
        table.row([Cell::indented("t2/1", PLAIN), "≈12".into(), "\u{1b}[31mred".into()]);
        table
    }

    fn stripped(rendered: &str) -> String {
        let piece = |piece: &str| {
            let code = piece.split_once('m').filter(|(code, _)| code.starts_with('['));
            code.map_or(piece, |(_, rest)| rest).to_owned()
        };
        rendered.split('\u{1b}').map(piece).collect()
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
        let output = Output::narrow(34);
        let rendered = table().render(&output);
        assert!(rendered.lines().all(|line| text::width(line) <= 34), "{rendered}");
        assert!(rendered.contains("Read the parser a…"), "{rendered}");
        assert!(rendered.contains("日本語のタイトル…"), "{rendered}");
    }

    #[test]
    fn what_can_be_missed_goes_before_the_rest_becomes_unreadable() {
        let render = |width| table().dispensing(&["TOKENS"]).render(&Output { width, ..Output::plain() });
        for width in [None, Some(60), Some(44)] {
            assert!(render(width).contains("TOKENS"), "{width:?}: {}", render(width));
        }
        insta::assert_snapshot!(render(Some(34)), @r"
        ID      TITLE
        t1      Read the parser and fix it
        t2      日本語のタイトルはとても…
            a remark
          t2/1  \x1b[31mred
        ");
    }

    #[test]
    fn colours_do_not_disturb_the_alignment() {
        let mut table = Table::new(&[Column::Left("ID"), Column::Right("N"), Column::Flexible("TITLE")]);
        let title = Cell::styled("[deleted]", BAD).space().then("a title that is long", PLAIN);
        table.row([Cell::styled("t1", ID), "1".into(), title]);
        for width in [None, Some(30), Some(22)] {
            let plain = Output { width, ..Output::plain() };
            let coloured = Output { paint: Paint::coloured(), ..plain.clone() };
            let rendered = table.render(&coloured);
            assert!(rendered.contains("\u{1b}["));
            assert_eq!(stripped(&rendered), table.render(&plain));
        }
    }
}
