//! What operations say on their way, passed on to the user.

use pintle_tree::LogLine;

use crate::ui::Ui;

/// Passes on what operations report.
pub(crate) struct Reporting<'a>(pub(crate) &'a mut Ui);

impl pintle::Reporter for Reporting<'_> {
    fn log(&mut self, line: LogLine) {
        self.0.log(&line);
    }

    fn progress(&mut self, text: &str) {
        // What cannot be written any more shows when the output is flushed at the end.
        let _ = self.0.print(&format!("{}\n", text.trim_end_matches('\n')));
    }
}
