//! The reference page of exit codes, computed by what decides on them.

use crate::exit;
use crate::failure::FailureKind;
use crate::personality::Personality;
use crate::reference::line;

/// Every kind of failure, and when it happens.
const KINDS: &[(FailureKind, &str)] = &[
    (FailureKind::RunTime, "an operation failed"),
    (
        FailureKind::AlreadyReported,
        "an operation failed, and its own report says why: `lint`, `check`, `rehearse`, `unittest`",
    ),
    (FailureKind::BadInput, "the command line or a configuration file is wrong"),
    (FailureKind::BadChart, "a chart cannot be read"),
    (FailureKind::BadImage, "an image reference cannot be read, or too few images could be moved"),
    (FailureKind::Unsupported, "a chart has a structure that `--strict` rejects"),
    (
        FailureKind::Changes,
        "there are differences, where a command answers by its exit code (`--detailed-exitcode`, `drift`)",
    ),
    (FailureKind::Findings, "`preview --fail-on` found something"),
    (
        FailureKind::StalePlan,
        "`apply`: the state that a saved plan is based on has changed; nothing was applied",
    ),
    (FailureKind::Cancelled, "Ctrl-C"),
    (FailureKind::BrokenPipe, "the reader of the output has gone, as in `\\| head`"),
];

/// The page.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Exit codes\n\nUnder the name `helm`, every failure is 1, as in Helm. Under the name `pintle`, the code says what kind of \
         failure it was.\n\n| happened | `pintle` | `helm` |\n|---|---|---|\n| all is well | 0 | 0 |\n",
    );
    for (kind, meaning) in KINDS {
        let code = |personality| exit::code(personality, *kind);
        line(
            &mut page,
            format_args!("| {meaning} | {} | {} |", code(Personality::Pintle), code(Personality::Helm)),
        );
    }
    line(
        &mut page,
        format_args!(
            "| a plugin failed | that of the plugin | that of the plugin |\n| a bug in the program | {0} | {0} |\n\
             | a signal | 128 and its number | 128 and its number |",
            exit::BUG
        ),
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_page_are_those_of_the_program() {
        let page = page();
        assert!(page.contains("| a chart cannot be read | 3 | 1 |\n"), "{page}");
        assert!(page.contains("| Ctrl-C | 130 | 1 |\n"), "{page}");
    }
}
