//! The output of `images copy`: the plan and the results, as text or data.

use pintle::ops::CopyPlan;
use pintle::registry::copy::{CopyStats, DestinationStatus, Outcome, Planned};
use pintle_tree::Node;

use crate::copy_progress::{is_unchanged, size};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, print_data};
use crate::output::grid::{counted, print_rows};

/// Prints the plan.
pub(super) fn print_plan(invocation: &mut Invocation<'_>, plan: &CopyPlan) -> Result<(), Failure> {
    let format = Format::from_flags(&invocation.flags);
    if format.is_data() {
        let refused = plan.refused.iter().map(|(image, error)| {
            Record::default().with("source", image.as_str()).with("error", error.to_string())
        });
        let staying: Vec<Node> = plan.staying.iter().map(|image| image.as_str().into()).collect();
        let record = Record::default()
            .with_records("images", plan.planned.iter().map(planned_record).collect())
            .with_records("refused", refused.collect())
            .with("staying", staying);
        return print_data(invocation.ui, format, &record);
    }
    if plan.planned.is_empty() {
        return Ok(());
    }
    let headings = ["SOURCE", "DESTINATION", "STATE", "DIGEST", "SIZE", "TO COPY", "SIGNATURES"];
    let mut rows = vec![headings.map(ToOwned::to_owned).to_vec()];
    for planned in &plan.planned {
        rows.push(vec![
            planned.job.source.to_string(),
            planned.job.destination.to_string(),
            state(&planned.status).to_owned(),
            planned.digest.short().to_owned(),
            size(planned.bytes),
            size(planned.missing),
            planned.artifacts.to_string(),
        ]);
    }
    let missing = plan.planned.iter().map(|planned| planned.missing).sum();
    let count = plan.planned.len();
    print_rows(invocation, &rows, 0)?;
    invocation.ui.print(&format!("\n{}, at most {} to copy\n", counted(count, "image"), size(missing)))
}

fn state(standing: &DestinationStatus) -> &'static str {
    match standing {
        DestinationStatus::UpToDate => "there",
        DestinationStatus::Incomplete => "signatures missing",
        DestinationStatus::Replaces(_) => "overwrites",
        _ => "new",
    }
}

fn planned_record(planned: &Planned) -> Record {
    let platforms: Vec<Node> = planned.platforms.iter().map(|platform| platform.to_string().into()).collect();
    let before = match &planned.status {
        DestinationStatus::Replaces(digest) => Some(digest.to_string()),
        _ => None,
    };
    Record::default()
        .with("source", planned.job.source.to_string())
        .with("destination", planned.job.destination.to_string())
        .with("state", state(&planned.status))
        .with("digest", planned.digest.to_string())
        .with_option("before", before)
        .with("mediaType", planned.media_type.as_str())
        .with("platforms", platforms)
        .with("bytes", number(planned.bytes))
        .with("missing", number(planned.missing))
        .with("signatures", number(planned.artifacts as u64))
}

/// Prints the results.
pub(super) fn print_outcomes(invocation: &mut Invocation<'_>, outcomes: &[Outcome]) -> Result<(), Failure> {
    let format = Format::from_flags(&invocation.flags);
    let mut sum = CopyStats::default();
    let (mut copied, mut there, mut failed) = (0, 0, 0);
    for outcome in outcomes {
        match &outcome.result {
            Ok(tally) if is_unchanged(tally) => there += 1,
            Ok(tally) => {
                copied += 1;
                sum += *tally;
            }
            Err(_) => failed += 1,
        }
    }
    if format.is_data() {
        let summary = tally_record(Record::default(), &sum)
            .with("imagesCopied", number(copied))
            .with("imagesThere", number(there))
            .with("imagesFailed", number(failed));
        let record = Record::default()
            .with_records("images", outcomes.iter().map(outcome_record).collect())
            .with_record("summary", summary);
        return print_data(invocation.ui, format, &record);
    }
    let issue = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let CopyStats { copied: blobs, mounted, existing: known, bytes, artifacts, .. } = sum;
    invocation.ui.print(&format!(
        "{} copied, {there} were there{issue}\n\
         {} copied ({}), {mounted} mounted, {known} were there; {artifacts} signatures and the like\n",
        counted(usize::try_from(copied).unwrap_or(usize::MAX), "image"),
        counted(blobs, "blob"),
        size(bytes)
    ))
}

fn outcome_record(outcome: &Outcome) -> Record {
    let record = Record::default()
        .with("source", outcome.source.as_str())
        .with("destination", outcome.destination.as_str())
        .with("digest", outcome.digest.to_string());
    match &outcome.result {
        Ok(tally) => {
            tally_record(record.with("state", if is_unchanged(tally) { "there" } else { "copied" }), tally)
        }
        Err(error) => record.with("state", "failed").with("error", error.to_string()),
    }
}

fn tally_record(record: Record, tally: &CopyStats) -> Record {
    record
        .with("blobsCopied", number(tally.copied as u64))
        .with("blobsMounted", number(tally.mounted as u64))
        .with("blobsThere", number(tally.existing as u64))
        .with("bytes", number(tally.bytes))
        .with("manifests", number(tally.manifests as u64))
        .with("signatures", number(tally.artifacts as u64))
}

fn number(number: u64) -> Node {
    Node::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
