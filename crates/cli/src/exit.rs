//! Exit codes, decided here and nowhere else.

use crate::failure::FailureKind;
use crate::personality::Personality;

/// The exit code of a failure: 1 for everything as Helm; else 1 for failures while running, 2 for bad input or
/// configuration, 3 for a chart that does not parse, 4 for an image that cannot be worked with, 5 for what `--strict`
/// refuses, 130 after Ctrl-C. A reader who went away is no failure.
pub(crate) fn code(personality: Personality, class: FailureKind) -> u8 {
    match (personality, class) {
        (_, FailureKind::BrokenPipe) => 0,
        (Personality::Helm, _)
        | (_, FailureKind::RunTime | FailureKind::NotBuilt | FailureKind::AlreadyReported) => 1,
        (Personality::Pintle, FailureKind::Cancelled) => CANCELLED,
        (Personality::Pintle, FailureKind::BadInput) => 2,
        (Personality::Pintle, FailureKind::BadChart) => 3,
        (Personality::Pintle, FailureKind::BadImage) => 4,
        (Personality::Pintle, FailureKind::Unsupported) => 5,
    }
}

/// The exit code after Ctrl-C, as shells have it.
const CANCELLED: u8 = 130;

/// Ends the program at once, for a user who does not want to wait until everything is in order, or before whom nothing was
/// begun.
#[expect(clippy::exit, reason = "the user has asked twice, or nothing has been done yet")]
pub(crate) fn at_once() -> ! {
    std::process::exit(i32::from(CANCELLED))
}

/// The exit code after a bug of ours.
pub(crate) const BUG: u8 = 101;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helm_fails_with_one_and_we_tell_why() {
        let codes = |personality| {
            [FailureKind::RunTime, FailureKind::BadInput, FailureKind::BadChart, FailureKind::BrokenPipe]
                .map(|c| code(personality, c))
        };
        assert_eq!(codes(Personality::Helm), [1, 1, 1, 0]);
        assert_eq!(codes(Personality::Pintle), [1, 2, 3, 0]);
    }
}
