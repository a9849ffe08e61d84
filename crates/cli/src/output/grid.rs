//! Tables for people: as wide as the terminal, with relative ages, short ids and elided middles.
//!
//! Helm's layout is in [`super::table`]. This one is for `pintle` on a terminal, where a row that wraps cannot be read; what
//! goes into files and pipes is not shortened.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::table::table;
use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::suggest::{NameOf, question};

/// The blanks between two columns.
const GAP: usize = 2;

/// The narrowest that a column gets before others are left out.
const NARROWEST: usize = 8;

/// How a column gives way if there is not enough room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It never does.
    Keep,
    /// Long cells lose their middle, because beginning and end tell them apart: `ingress-ngi…troller`.
    Middle,
    /// Long cells lose their end: texts.
    End,
    /// It is left out, from the highest number on; `-o wide` shows it.
    Drop(u8),
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The heading, which `--columns` and `--sort-by` name in any case, with dashes for blanks.
    pub(crate) heading: Cow<'static, str>,
    pub(crate) fit: Fit,
    /// Whether it has numbers, which are aligned at their end.
    pub(crate) is_number: bool,
}

impl Column {
    pub(crate) const fn new(heading: &'static str, fit: Fit) -> Column {
        Column { heading: Cow::Borrowed(heading), fit, is_number: false }
    }

    pub(crate) const fn number(mut self) -> Column {
        self.is_number = true;
        self
    }

    /// The name for flags.
    fn name(&self) -> String {
        self.heading.to_lowercase().replace(' ', "-")
    }
}

/// A cell, with what it is sorted by and the color of its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    sort: Option<i64>,
    color: Option<u8>,
}

impl Cell {
    /// Sorts the cell by a number instead of by its text.
    pub(crate) fn sorted_by(mut self, number: i64) -> Cell {
        self.sort = Some(number);
        self
    }

    /// Colors the text, by the number of an ANSI color.
    pub(crate) fn colored(mut self, color: Option<u8>) -> Cell {
        self.color = color;
        self
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        // A cell is one line.
        let text: String = text.into();
        let text = if text.contains(['\n', '\t']) {
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            text
        };
        Cell { text, sort: None, color: None }
    }
}

/// A table.
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    /// The width of the terminal; `None` for no limit.
    pub(crate) width: Option<usize>,
    pub(crate) headings: bool,
    pub(crate) colors: bool,
}

impl Grid {
    pub(crate) fn new(columns: Vec<Column>) -> Grid {
        Grid { columns, rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Sorts the rows by a column.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn sort_by(&mut self, name: &str) -> Result<(), Failure> {
        if name.is_empty() {
            return Ok(());
        }
        let at = self.find("--sort-by", name)?;
        let key = |row: &Vec<Cell>| row.get(at).map(|cell| (cell.sort.unwrap_or(0), cell.text.clone()));
        let is_number = self.columns[at].is_number;
        self.rows.sort_by_cached_key(|row| {
            let (number, text) = key(row).unwrap_or_default();
            let parsed = text.parse::<i64>().ok().filter(|_| is_number);
            (parsed.unwrap_or(number), text)
        });
        Ok(())
    }

    /// Keeps only the named columns, in the order of the names.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn select(&mut self, names: &[String]) -> Result<(), Failure> {
        if names.is_empty() {
            return Ok(());
        }
        let chosen =
            names.iter().map(|name| self.find("--columns", name)).collect::<Result<Vec<usize>, Failure>>()?;
        // Who names a column wants to see it.
        let keep = |column: &Column| match column.fit {
            Fit::Drop(_) => Column { fit: Fit::Middle, ..column.clone() },
            _ => column.clone(),
        };
        self.columns = chosen.iter().map(|at| keep(&self.columns[*at])).collect();
        for row in &mut self.rows {
            *row = chosen.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect();
        }
        Ok(())
    }

    fn find(&self, flag: &str, name: &str) -> Result<usize, Failure> {
        let wanted = name.trim().to_lowercase().replace([' ', '_'], "-");
        let names: Vec<String> = self.columns.iter().map(Column::name).collect();
        names.iter().position(|known| *known == wanted).ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let near =
                question(NameOf::Other, &wanted, &known).map(|text| format!("{text} ")).unwrap_or_default();
            Failure::usage(format!("{flag}: there is no column `{name}`"))
                .hint(format!("{near}the columns are {}", known.join(", ")))
        })
    }

    /// The text, with a line break after each row.
    pub(crate) fn text(&self, layout: Layout) -> String {
        let shown = self.shown(layout);
        let widths = self.widths(&shown, layout);
        let mut text = String::new();
        if layout.headings {
            let cells = shown.iter().map(|at| Cell::from(self.columns[*at].heading.as_ref()));
            let bold =
                |padded: String| if layout.colors { format!("\u{1b}[1m{padded}\u{1b}[22m") } else { padded };
            self.push_line(&mut text, &shown, &widths, cells.collect(), &|_, padded| bold(padded));
        }
        for row in &self.rows {
            let cells: Vec<Cell> = shown.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect();
            self.push_line(&mut text, &shown, &widths, cells, &|cell, padded| match cell.color {
                Some(color) if layout.colors => format!("\u{1b}[{color}m{padded}\u{1b}[0m"),
                _ => padded,
            });
        }
        text
    }

    fn push_line(
        &self,
        text: &mut String,
        shown: &[usize],
        widths: &[usize],
        cells: Vec<Cell>,
        paint: &dyn Fn(&Cell, String) -> String,
    ) {
        let mut blanks = 0;
        for ((cell, at), width) in cells.iter().zip(shown).zip(widths) {
            let column = &self.columns[*at];
            let fitted = match column.fit {
                Fit::End => cut_end(&cell.text, *width),
                _ => cut_middle(&cell.text, *width),
            };
            let rest = width.saturating_sub(fitted.width());
            text.push_str(&" ".repeat(blanks + if column.is_number { rest } else { 0 }));
            text.push_str(&paint(cell, fitted));
            // Blanks at the end of a line are left out.
            blanks = GAP + if column.is_number { 0 } else { rest };
        }
        text.push('\n');
    }

    /// The natural width of a column.
    fn natural(&self, at: usize, layout: Layout) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
        let heading = if layout.headings { self.columns[at].heading.width() } else { 0 };
        cells.chain([heading]).max().unwrap_or(0)
    }

    /// The least width of a column.
    fn least(&self, at: usize, layout: Layout) -> usize {
        let natural = self.natural(at, layout);
        match self.columns[at].fit {
            Fit::Keep | Fit::Drop(_) => natural,
            Fit::Middle | Fit::End => {
                let heading = if layout.headings { self.columns[at].heading.width() } else { 0 };
                natural.min(NARROWEST.max(heading))
            }
        }
    }

    /// The columns that there is room for.
    fn shown(&self, layout: Layout) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let Some(width) = layout.width else { return shown };
        loop {
            let needed: usize = shown.iter().map(|at| self.least(*at, layout)).sum();
            let gaps = GAP * shown.len().saturating_sub(1);
            let droppable = shown.iter().copied().filter_map(|at| match self.columns[at].fit {
                Fit::Drop(priority) => Some((priority, at)),
                _ => None,
            });
            match droppable.max() {
                Some((_, at)) if needed + gaps > width => shown.retain(|other| *other != at),
                _ => return shown,
            }
        }
    }

    /// The width of each shown column: the natural one, unless that is too much in all.
    fn widths(&self, shown: &[usize], layout: Layout) -> Vec<usize> {
        let mut widths: Vec<usize> = shown.iter().map(|at| self.natural(*at, layout)).collect();
        let Some(width) = layout.width else { return widths };
        let room = width.saturating_sub(GAP * shown.len().saturating_sub(1));
        // The widest that may give way does, one step at a time, so that short columns stay whole.
        while widths.iter().sum::<usize>() > room {
            let candidates = shown.iter().enumerate().filter(|(index, at)| {
                matches!(self.columns[**at].fit, Fit::Middle | Fit::End)
                    && widths[*index] > self.least(**at, layout)
            });
            let Some((index, _)) = candidates.max_by_key(|(index, _)| widths[*index]) else { break };
            widths[index] -= 1;
        }
        // What still does not fit is cut at the last column that may be.
        while widths.iter().sum::<usize>() > room {
            let Some(index) = (0..widths.len()).rev().find(|index| widths[*index] > 1) else { break };
            widths[index] -= 1;
        }
        widths
    }
}

/// The beginning and the end of a text.
fn cut_middle(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let (front, back) = (room - room / 2, room / 2);
    format!("{}…{}", start_of(text, front), end_of(text, back))
}

fn cut_end(text: &str, width: usize) -> String {
    match text.width() <= width {
        true => text.to_owned(),
        false => format!("{}…", start_of(text, width.saturating_sub(1)).trim_end()),
    }
}

fn start_of(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= width
    };
    text.chars().take_while(fits).collect()
}

fn end_of(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= width
    };
    let letters: Vec<char> = text.chars().rev().take_while(fits).collect();
    letters.into_iter().rev().collect()
}

/// Prints a table of `pintle`, by the flags of [`crate::flag::groups::TABLE`] if the command has them. `summary` is the line
/// below it, which only people see.
pub(crate) fn print(
    invocation: &mut Invocation<'_>,
    mut grid: Grid,
    headings: bool,
    summary: &str,
) -> Result<(), Failure> {
    let flags = &invocation.flags;
    if flags.declares(names::SORT_BY) {
        grid.sort_by(flags.text(names::SORT_BY))?;
        grid.select(flags.list(names::COLUMNS))?;
    }
    let terminal = terminal_width(invocation.environment);
    let width = terminal.filter(|_| !is_wide(invocation));
    let text = grid.text(Layout { width, headings, colors: invocation.ui.paint().on });
    invocation.ui.print(&text)?;
    if terminal.is_some() && headings && !summary.is_empty() {
        invocation.ui.print(&format!("\n{summary}\n"))?;
    }
    Ok(())
}

/// Prints rows, of which the first has the headings: fitted to a terminal, and else in Helm's layout with at most `limit`
/// characters in a cell.
pub(crate) fn print_rows(
    invocation: &mut Invocation<'_>,
    rows: &[Vec<String>],
    limit: usize,
) -> Result<(), Failure> {
    let text = rows_text(invocation, rows, limit);
    invocation.ui.print(&text)
}

/// As [`print_rows`], as text.
pub(crate) fn rows_text(invocation: &Invocation<'_>, rows: &[Vec<String>], limit: usize) -> String {
    let (Some((headings, rows)), true) = (rows.split_first(), is_wanted(invocation)) else {
        return format!("{}\n", table(rows, limit));
    };
    let last = headings.len().saturating_sub(1);
    let column = |(at, heading): (usize, &String)| Column {
        heading: Cow::Owned(heading.trim().to_owned()),
        fit: if at == last { Fit::End } else { Fit::Middle },
        is_number: false,
    };
    let mut grid = Grid::new(headings.iter().enumerate().map(column).collect());
    rows.iter().for_each(|row| grid.push(row.iter().map(|cell| Cell::from(cell.trim_end())).collect()));
    let width = terminal_width(invocation.environment).filter(|_| !is_wide(invocation));
    grid.text(Layout { width, headings: true, colors: invocation.ui.paint().on })
}

/// Whether a command prints a table for people: on a terminal, and where a flag asks for it. What goes into files and pipes
/// has the layout that scripts know.
pub(crate) fn is_wanted(invocation: &Invocation<'_>) -> bool {
    let flags = &invocation.flags;
    let is_asked =
        flags.declares(names::SORT_BY) && (flags.given(names::SORT_BY) || flags.given(names::COLUMNS));
    invocation.personality == Personality::Pintle
        && (is_asked || is_wide(invocation) || terminal_width(invocation.environment).is_some())
}

/// Whether `-o wide` is set.
pub(crate) fn is_wide(invocation: &Invocation<'_>) -> bool {
    invocation.flags.declares(names::OUTPUT) && invocation.flags.text(names::OUTPUT) == "wide"
}

/// `1 release`, `3 releases`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// The width of the terminal that output goes to; `None` for files and pipes. `COLUMNS` overrides it.
pub(crate) fn terminal_width(environment: &Environment) -> Option<usize> {
    let given = environment.variable("COLUMNS").and_then(|text| text.trim().parse().ok());
    given.or_else(of_terminal).filter(|width| *width >= 20)
}

fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// The time since a moment, as kubectl writes it: `45s`, `5m`, `3h12m`, `2d`, `3y40d`.
pub(crate) fn age(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |whole: i64, unit: &str, rest: i64, smaller: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{smaller}"),
    };
    match seconds.max(0) {
        seconds if seconds < 2 * MINUTE => format!("{seconds}s"),
        seconds if seconds < 10 * MINUTE => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        seconds if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        seconds if seconds < 8 * HOUR => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        seconds if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        seconds if seconds < 8 * DAY => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        seconds if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        seconds => two(seconds / YEAR, "y", seconds % YEAR / DAY, "d"),
    }
}

/// The first letters of an id that is long and random.
pub(crate) fn short_id(id: &str) -> String {
    const SHOWN: usize = 10;
    id.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![
            Column::new("NAME", Fit::Middle),
            Column::new("REVISION", Fit::Keep).number(),
            Column::new("CHART", Fit::Drop(1)),
            Column::new("DESCRIPTION", Fit::End),
        ]);
        for (name, revision) in [("ingress-nginx-controller-internal", "10"), ("web", "9")] {
            let cells =
                [name, revision, "ingress-nginx-4.11.3", "Upgrade complete, and a long text about it"];
            grid.push(cells.map(Cell::from).to_vec());
        }
        grid
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        for width in 20..140 {
            let text = grid().text(Layout { width: Some(width), headings: true, colors: false });
            let widest = text.lines().map(|line| line.width()).max().unwrap_or(0);
            assert!(widest <= width, "{width}: {widest}\n{text}");
        }
        let whole = grid().text(Layout { width: None, headings: true, colors: false });
        assert!(whole.contains("ingress-nginx-controller-internal") && !whole.contains('…'));
    }

    #[test]
    fn columns_give_way_in_their_own_ways() {
        let text = grid().text(Layout { width: Some(44), headings: true, colors: false });
        insta::assert_snapshot!(text, @r"
        NAME              REVISION  DESCRIPTION
        ingress-…nternal        10  Upgrade complet…
        web                      9  Upgrade complet…
        ");
    }

    #[test]
    fn columns_are_chosen_and_sorted_by_their_names() {
        let mut chosen = grid();
        chosen.sort_by("revision").expect("a column");
        chosen.select(&["Revision".to_owned(), "NAME".to_owned()]).expect("columns");
        let text = chosen.text(Layout { width: None, headings: false, colors: false });
        assert_eq!(text, " 9  web\n10  ingress-nginx-controller-internal\n");
        let failure = grid().sort_by("nmae").expect_err("no column");
        assert!(failure.hint.as_deref().is_some_and(|hint| hint.contains("did you mean `name`?")));
    }

    #[test]
    fn ages_are_those_of_kubectl() {
        let ages =
            [0, 119, 120, 125, 3600, 4 * 3600 + 60, 86_400, 3 * 86_400, 400 * 86_400, 800 * 86_400].map(age);
        assert_eq!(ages, ["0s", "119s", "2m", "2m5s", "60m", "4h1m", "24h", "3d", "400d", "2y70d"]);
    }
}
