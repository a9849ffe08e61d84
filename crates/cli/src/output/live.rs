//! The progress of `--wait`: a table that is redrawn in place on a terminal, one line for each change elsewhere.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use pintle::ObjectProgress;
use pintle::cluster::wait::PodProgress;
use pintle::objects::ObjectId;

use super::terminal::sanitize;

/// The most objects the table lists. It must fit on a small terminal: lines that have scrolled off cannot be erased.
const MAX_ROWS: usize = 12;

/// How many pods of one object are listed.
const MAX_PODS: usize = 3;

/// An object that is waited for.
struct Row {
    id: ObjectId,
    first_seen: Instant,
    state: RowState,
}

#[derive(PartialEq, Eq)]
struct RowState {
    state: String,
    message: String,
    /// The name of each pod that is not ready, and the reason.
    pods: Vec<(String, String)>,
    ready: bool,
}

impl RowState {
    fn new(progress: &ObjectProgress) -> RowState {
        let pod = |pod: &PodProgress| (sanitize(&pod.name).into_owned(), one_line(&pod.reason));
        RowState {
            state: sanitize(progress.state).into_owned(),
            message: one_line(&progress.message),
            pods: progress.pods.iter().map(pod).collect(),
            ready: progress.ready,
        }
    }
}

/// The objects that are waited for, and how many lines of them are on the terminal.
pub(crate) struct ProgressTable {
    rows: Vec<Row>,
    terminal: bool,
    /// The number of lines of the table that are right above the cursor.
    drawn: usize,
}

impl ProgressTable {
    pub(crate) fn new(terminal: bool) -> ProgressTable {
        ProgressTable { rows: Vec::new(), terminal, drawn: 0 }
    }

    /// Records the state of an object at the time `now`, and shows it if it has changed.
    pub(crate) fn update(
        &mut self,
        progress: &ObjectProgress,
        now: Instant,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let state = RowState::new(progress);
        let index = match self.rows.iter().position(|row| row.id == progress.id) {
            Some(index) if self.rows[index].state == state => return Ok(()),
            // The time since it was first seen goes on.
            Some(index) => {
                self.rows[index].state = state;
                index
            }
            None => {
                self.rows.push(Row { id: progress.id.clone(), first_seen: now, state });
                self.rows.len() - 1
            }
        };
        if self.terminal { self.draw(now, out) } else { write_line(&self.rows[index], out) }
    }

    /// Draws a table that is on the terminal again, for the elapsed times. One that was cleared stays off until an
    /// object changes, so that this cannot interleave with other output.
    pub(crate) fn refresh(&mut self, now: Instant, out: &mut dyn Write) -> io::Result<()> {
        if self.drawn > 0 { self.draw(now, out) } else { Ok(()) }
    }

    /// Erases the table, so that other output can be written.
    pub(crate) fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.drawn > 0 {
            // Cursor to the first line of the table, then erase to the end of the screen.
            write!(out, "\u{1b}[{}A\r\u{1b}[J", self.drawn)?;
            self.drawn = 0;
        }
        out.flush()
    }

    fn draw(&mut self, now: Instant, out: &mut dyn Write) -> io::Result<()> {
        self.clear(out)?;
        let lines = self.lines(now);
        // Without automatic wrapping the terminal cuts long lines off; a wrapped one would not be erased as a whole.
        write!(out, "\u{1b}[?7l")?;
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        write!(out, "\u{1b}[?7h")?;
        self.drawn = lines.len();
        out.flush()
    }

    /// A row for each object that is not ready, below it its pods, and a line that counts the ready ones.
    fn lines(&self, now: Instant) -> Vec<String> {
        let waiting: Vec<&Row> = self.rows.iter().filter(|row| !row.state.ready).collect();
        let ready = self.rows.len() - waiting.len();
        let omitted = waiting.len().saturating_sub(MAX_ROWS);
        // The namespace is noise while there is only one.
        let namespaces = self.rows.iter().any(|row| row.id.namespace != self.rows[0].id.namespace);
        // Objects come first; pods get the lines that are left.
        let mut spare = MAX_ROWS.saturating_sub(waiting.len());
        let mut cells: Vec<[String; 3]> = Vec::new();
        for row in waiting.iter().take(MAX_ROWS) {
            let elapsed = short_duration(now.saturating_duration_since(row.first_seen));
            let why = reason(&row.state.state, &row.state.message);
            cells.push([name(&row.id, namespaces), elapsed, why]);
            let pods = pod_cells(&row.state.pods, spare);
            spare -= pods.len();
            cells.extend(pods);
        }
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (names, times) = (width(0), width(1));
        let mut lines: Vec<String> = cells
            .iter()
            .map(|[name, elapsed, reason]| format!("{name:names$}  {elapsed:>times$}  {reason}"))
            .collect();
        let more = if omitted > 0 { format!(", {omitted} more not shown") } else { String::new() };
        lines.push(format!("{ready} of {} ready{more}", self.rows.len()));
        lines
    }
}

/// The rows of an object's pods, at most `lines`. The last one counts those that are left out.
fn pod_cells(pods: &[(String, String)], lines: usize) -> Vec<[String; 3]> {
    let shown = pods.len().min(MAX_PODS).min(lines);
    let mut cells: Vec<[String; 3]> = pods[..shown]
        .iter()
        .map(|(name, reason)| [format!("  {name}"), String::new(), reason.clone()])
        .collect();
    if let (Some(last), more @ 1..) = (cells.last_mut(), pods.len() - shown) {
        last[2] = format!("{} (and {more} more)", last[2]);
    }
    cells
}

fn write_line(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let RowState { state, message, pods, .. } = &row.state;
    let mut line = format!("{}: {state}", name(&row.id, true));
    if !message.is_empty() {
        line = format!("{line}: {message}");
    }
    for (pod, reason) in pods.iter().take(MAX_PODS) {
        line = format!("{line}; pod {pod}: {reason}");
    }
    writeln!(out, "{line}")
}

fn name(id: &ObjectId, namespaces: bool) -> String {
    let text = if namespaces { id.to_string() } else { format!("{}/{}", id.kind, id.name) };
    sanitize(&text).into_owned()
}

/// Why an object is not ready. The state is left out where the message implies it: every object in the table is in
/// progress, and kstatus' messages mostly name the other states (`Job failed`, `Resource not found`).
fn reason(state: &str, message: &str) -> String {
    let squeezed = |text: &str| text.replace(' ', "").to_lowercase();
    if message.is_empty() {
        state.to_owned()
    } else if state == "InProgress" || squeezed(message).contains(&squeezed(state)) {
        message.to_owned()
    } else {
        format!("{state}: {message}")
    }
}

/// The two largest units, as kubectl shows ages: `8s`, `2m5s`, `1h2m`.
fn short_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, _) => format!("{hours}h{minutes}m"),
    }
}

fn one_line(text: &str) -> String {
    sanitize(&text.split_whitespace().collect::<Vec<&str>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Terminal {
        table: ProgressTable,
        start: Instant,
        /// The pods of the next update.
        pods: Vec<(&'static str, &'static str)>,
    }

    impl Terminal {
        fn new(terminal: bool) -> Terminal {
            Terminal { table: ProgressTable::new(terminal), start: Instant::now(), pods: Vec::new() }
        }

        /// Sends the progress of an object `seconds` after the start, and returns what is written.
        fn update(&mut self, seconds: u64, object: &str, state: &'static str, message: &str) -> String {
            let (namespace, name) = object.split_once('/').unwrap_or(("shop", object));
            let id = ObjectId::new("apps/v1", "Deployment", namespace, name);
            let pods: Vec<PodProgress> = self
                .pods
                .iter()
                .map(|(name, reason)| PodProgress { name: (*name).into(), reason: (*reason).into() })
                .collect();
            let ready = state == "Current";
            let progress = ObjectProgress { id, state, message: message.to_owned(), pods, ready };
            let mut out = Vec::new();
            self.table.update(&progress, self.after(seconds), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        }

        fn after(&self, seconds: u64) -> Instant {
            self.start + Duration::from_secs(seconds)
        }

        fn lines(&self, seconds: u64) -> Vec<String> {
            self.table.lines(self.after(seconds))
        }
    }

    #[test]
    fn without_a_terminal_each_change_is_one_line() {
        let mut output = Terminal::new(false);
        assert_eq!(
            output.update(0, "web", "InProgress", "0 of 1\npods"),
            "Deployment/shop/web: InProgress: 0 of 1 pods\n"
        );
        assert_eq!(output.update(1, "web", "InProgress", "0 of 1 pods"), "");
        assert_eq!(output.update(2, "web", "Current", ""), "Deployment/shop/web: Current\n");
    }

    #[test]
    fn ready_objects_are_counted_and_the_others_listed_with_reason_and_elapsed_time() {
        let mut output = Terminal::new(true);
        output.update(0, "web", "InProgress", "0 of 1 replicas available");
        output.update(5, "database", "InProgress", "starting");
        output.update(6, "cache", "Current", "");
        output.update(7, "web", "InProgress", "image cannot be pulled");
        assert_eq!(
            output.lines(65),
            [
                "Deployment/web       1m5s  image cannot be pulled",
                "Deployment/database  1m0s  starting",
                "1 of 3 ready"
            ]
        );
        output.update(66, "web", "Current", "");
        output.update(67, "database", "Current", "");
        assert_eq!(output.lines(70), ["3 of 3 ready"]);
    }

    #[test]
    fn pods_that_are_not_ready_are_listed_below_their_object() {
        let mut output = Terminal::new(true);
        output.pods = vec![
            ("web-1", "pulling image \"nginx:1\""),
            ("web-2", "pending: 0/3 nodes are available"),
            ("web-3", "starting"),
            ("web-4", "starting"),
        ];
        output.update(0, "web", "InProgress", "0 of 4 replicas available");
        output.pods.clear();
        output.update(0, "database", "InProgress", "starting");
        assert_eq!(
            output.lines(8),
            [
                "Deployment/web       8s  0 of 4 replicas available",
                "  web-1                  pulling image \"nginx:1\"",
                "  web-2                  pending: 0/3 nodes are available",
                "  web-3                  starting (and 1 more)",
                "Deployment/database  8s  starting",
                "0 of 2 ready"
            ]
        );
        for number in 0..10 {
            output.update(9, &format!("more-{number}"), "InProgress", "");
        }
        assert!(!output.lines(9).iter().any(|line| line.contains("web-1")), "objects come first");
        output.update(10, "web", "Current", "");
        assert!(!output.lines(10).iter().any(|line| line.contains("web-1")), "the object is ready");
    }

    #[test]
    fn without_a_terminal_pods_are_part_of_the_line() {
        let mut output = Terminal::new(false);
        output.pods = vec![("web-1", "starting")];
        assert_eq!(
            output.update(0, "web", "InProgress", "0 of 1 pods"),
            "Deployment/shop/web: InProgress: 0 of 1 pods; pod web-1: starting\n"
        );
        output.pods = vec![("web-1", "readiness probe of container app has not succeeded yet")];
        assert!(output.update(1, "web", "InProgress", "0 of 1 pods").contains("readiness probe"));
        assert_eq!(output.update(2, "web", "InProgress", "0 of 1 pods"), "");
    }

    #[test]
    fn the_table_is_redrawn_in_place_until_it_is_cleared() {
        let mut output = Terminal::new(true);
        output.update(0, "web", "InProgress", "starting");
        let text = output.update(1, "database", "Current", "");
        assert!(text.starts_with("\u{1b}[2A\r\u{1b}[J"), "{text:?}");

        let refresh = |output: &mut Terminal, seconds| {
            let mut out = Vec::new();
            let now = output.after(seconds);
            output.table.refresh(now, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = refresh(&mut output, 9);
        assert!(text.starts_with("\u{1b}[2A\r\u{1b}[J"), "{text:?}");
        assert!(text.contains("Deployment/web  9s  starting\n1 of 2 ready\n"), "{text:?}");
        output.table.clear(&mut Vec::new()).unwrap();
        assert_eq!(refresh(&mut output, 10), "");
    }

    #[test]
    fn the_state_is_shown_where_the_message_does_not_say_it() {
        for (state, message, expected) in [
            ("InProgress", "", "InProgress"),
            ("InProgress", "0 of 1 pods", "0 of 1 pods"),
            ("NotFound", "Resource not found", "Resource not found"),
            ("Failed", "Job Failed. failed: 1/1", "Job Failed. failed: 1/1"),
            ("Failed", "deadline exceeded", "Failed: deadline exceeded"),
        ] {
            assert_eq!(reason(state, message), expected);
        }
    }

    #[test]
    fn namespaces_are_shown_if_there_are_several_and_the_rows_are_limited() {
        let mut output = Terminal::new(true);
        for number in 0..20 {
            output.update(0, &format!("shop/web-{number:02}"), "InProgress", "");
        }
        output.update(0, "other/web", "Current", "");
        let lines = output.lines(3600);
        assert_eq!(lines.len(), MAX_ROWS + 1);
        assert_eq!(lines[0], "Deployment/shop/web-00  1h0m  InProgress");
        assert_eq!(lines[MAX_ROWS], "1 of 21 ready, 8 more not shown");
    }
}
