//! What objects come to while an operation waits for them: a table that renews itself on a terminal, lines elsewhere.

use std::io::{self, Write};

use pintle::ObjectProgress;

use super::terminal::shown;

/// How many objects the table shows at once.
const ROWS: usize = 12;

/// The state of one object.
struct Row {
    name: String,
    state: String,
    message: String,
    ready: bool,
}

/// The objects that are waited for.
pub(crate) struct Live {
    rows: Vec<Row>,
    terminal: bool,
    /// How many lines of the table are on the terminal, right above the cursor.
    drawn: usize,
}

impl Live {
    /// Nothing to show yet.
    pub(crate) fn new(terminal: bool) -> Live {
        Live { rows: Vec::new(), terminal, drawn: 0 }
    }

    /// Takes note of an object, and shows it if it has changed.
    pub(crate) fn update(&mut self, progress: &ObjectProgress<'_>, out: &mut dyn Write) -> io::Result<()> {
        let row = Row {
            name: shown(&progress.id.to_string()).into_owned(),
            state: shown(progress.state).into_owned(),
            message: one_line(progress.message),
            ready: progress.ready,
        };
        match self.rows.iter_mut().find(|other| other.name == row.name) {
            Some(other) if other.state == row.state && other.message == row.message => return Ok(()),
            Some(other) => *other = row,
            None => self.rows.push(row),
        }
        if self.terminal { self.draw(out) } else { self.say_last(progress, out) }
    }

    fn say_last(&self, progress: &ObjectProgress<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (id, state) = (progress.id.to_string(), shown(progress.state));
        let name = shown(&id);
        match one_line(progress.message) {
            message if message.is_empty() => writeln!(out, "{name}: {state}"),
            message => writeln!(out, "{name}: {state}: {message}"),
        }
    }

    /// Takes the table off the terminal, for something else to be written.
    pub(crate) fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.drawn > 0 {
            // Up to the first line of the table, and everything below it goes.
            write!(out, "\u{1b}[{}A\r\u{1b}[J", self.drawn)?;
            self.drawn = 0;
        }
        out.flush()
    }

    fn draw(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.clear(out)?;
        let lines = self.lines();
        // Lines that are too long are cut by the terminal instead of being wrapped, so that they can be counted.
        write!(out, "\u{1b}[?7l")?;
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        write!(out, "\u{1b}[?7h")?;
        self.drawn = lines.len();
        out.flush()
    }

    /// Objects that are not ready come first; a last line counts.
    fn lines(&self) -> Vec<String> {
        let ready = self.rows.iter().filter(|row| row.ready).count();
        let waiting = self.rows.iter().filter(|row| !row.ready);
        let shown: Vec<&Row> = waiting.chain(self.rows.iter().filter(|row| row.ready)).take(ROWS).collect();
        let width = shown.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let state_width = shown.iter().map(|row| row.state.chars().count()).max().unwrap_or(0);
        let line = |row: &&Row| {
            let sign = if row.ready { '\u{2713}' } else { '\u{b7}' };
            format!("{sign} {:width$}  {:state_width$}  {}", row.name, row.state, row.message)
                .trim_end()
                .to_owned()
        };
        let mut lines: Vec<String> = shown.iter().map(line).collect();
        lines.push(format!("{ready} of {} objects are ready", self.rows.len()));
        lines
    }
}

fn one_line(text: &str) -> String {
    shown(&text.split_whitespace().collect::<Vec<&str>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle::objects::ObjectId;

    fn show(live: &mut Live, name: &str, message: &str, ready: bool) -> String {
        let id = ObjectId::new("apps/v1", "Deployment", "shop", name);
        let state = if ready { "Current" } else { "InProgress" };
        let mut out = Vec::new();
        live.update(&ObjectProgress { id: &id, state, message, ready }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_said_once_for_each_change() {
        let mut live = Live::new(false);
        assert_eq!(
            show(&mut live, "web", "0 of 1\npods", false),
            "Deployment/shop/web: InProgress: 0 of 1 pods\n"
        );
        assert_eq!(show(&mut live, "web", "0 of 1 pods", false), "");
        assert_eq!(show(&mut live, "web", "", true), "Deployment/shop/web: Current\n");
    }

    #[test]
    fn the_table_is_drawn_over_itself_with_what_is_missing_on_top() {
        let mut live = Live::new(true);
        show(&mut live, "web", "", true);
        let text = show(&mut live, "database", "starting", false);
        assert!(text.starts_with("\u{1b}[2A\r\u{1b}[J"), "{text:?}");
        let table: Vec<&str> = text.lines().collect();
        assert!(table[0].ends_with("\u{b7} Deployment/shop/database  InProgress  starting"), "{table:?}");
        assert_eq!(table[1], "\u{2713} Deployment/shop/web       Current");
        assert_eq!(table[2], "1 of 2 objects are ready");
    }
}
