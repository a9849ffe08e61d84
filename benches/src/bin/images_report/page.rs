//! The report as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pintle_images::{Image, Obstacle, Outcome as ImageOutcome};

use crate::Outcome;
use crate::figures::Figures;

/// How many charts are listed with reasons.
const WORST: usize = 10;

/// The whole page.
pub(crate) fn page(outcomes: &[Outcome<'_>], seconds: f64) -> String {
    let mut total = Figures::default();
    let mut charts: BTreeMap<&str, Figures> = BTreeMap::new();
    let mut defaults = Figures::default();
    for outcome in outcomes {
        let Ok(done) = &outcome.done else { continue };
        total.add(done);
        charts.entry(&outcome.case.chart).or_default().add(done);
        if outcome.case.values.is_none() {
            defaults.add(done);
        }
    }
    let mut text = HEAD.to_owned();
    summary(&mut text, &charts, &defaults, &total);
    let unrendered = outcomes.iter().filter(|outcome| outcome.done.is_err()).count();
    let _ = writeln!(
        text,
        "\nThe run took {seconds:.0} s for {} renders; {unrendered} cases do not render without further values and are \
         left out.",
        total.renders
    );
    let _ = writeln!(
        text,
        "Beside these fields, {} strings elsewhere look like images (operators' resources, configuration, arguments). \
         They are\nreported; {} of them are moved along, because the same value makes them. {} images that are not \
         rendered with the\nvalues at hand are moved, too.",
        total.suspects, total.carried, total.unrendered
    );
    worst(&mut text, outcomes, &charts);
    problems(&mut text, outcomes);
    all_charts(&mut text, &charts);
    text
}

const HEAD: &str = "\
# Images of the corpus

How many images of real charts can be pointed at another registry. `cargo xtask images-report --write` makes this page;
CI fails when its figures get worse. The truth is what a kubelet would read: the image fields of all pod descriptions in
the rendered objects, hooks and custom resources included. Every image is to move to `hub.corp:5000`.

- *found in values*: some value reaches the image.
- *by values*: overrides move it, and rendering before and after proves that nothing else changes.
- *needs rewrite*: values cannot move it; `pintle images rewrite` and `--rewrite-images` do.
- *missed*: neither moved it. *strays*: cases whose overrides change anything else.

";

fn summary(text: &mut String, charts: &BTreeMap<&str, Figures>, defaults: &Figures, total: &Figures) {
    let _ = writeln!(
        text,
        "| what | charts | cases | images | found in values | by values | needs rewrite | missed | strays |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for (name, figures) in [("default values", defaults), ("all values files", total)] {
        let cell = |part: usize| format!("{part} ({:.1} %)", figures.rate(part));
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            charts.len(),
            figures.cases,
            figures.images - figures.unparsable,
            cell(figures.found - figures.unparsable.min(figures.found)),
            cell(figures.by_values),
            cell(figures.rewrite),
            figures.missed,
            figures.stray,
        );
    }
}

/// The charts with the most images that values do not move, and why.
fn worst(text: &mut String, outcomes: &[Outcome<'_>], charts: &BTreeMap<&str, Figures>) {
    let mut worst: Vec<(&&str, &Figures)> =
        charts.iter().filter(|(_, figures)| figures.rewrite > 0).collect();
    worst.sort_by_key(|(name, figures)| (std::cmp::Reverse(figures.rewrite), **name));
    let _ = writeln!(text, "\n## The ten charts with the most images that values cannot move\n");
    for (name, figures) in worst.into_iter().take(WORST) {
        let _ = writeln!(text, "- **{name}**: {} of {} images", figures.rewrite, figures.images);
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for done in
            outcomes.iter().filter(|outcome| outcome.case.chart == **name).flat_map(|outcome| &outcome.done)
        {
            for reason in done.relocation.images.iter().filter_map(reason) {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        for (reason, count) in reasons {
            let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
            let _ = writeln!(text, "  - {reason}{times}");
        }
    }
}

/// Why values do not move an image, in a sentence.
fn reason(image: &Image) -> Option<String> {
    let ImageOutcome::NeedsRewrite(obstacle) = &image.outcome else { return None };
    let location =
        image.written.as_ref().map_or_else(|| image.field.location.template.clone(), ToString::to_string);
    let why = match obstacle {
        Obstacle::Hardcoded => "is written there".to_owned(),
        Obstacle::Shape => "is put together there in a way that no registry fits into".to_owned(),
        Obstacle::Shared { value, other } => format!("shares `{value}` with `{other}`"),
        Obstacle::SideEffect { value, what } => format!("needs `{value}`, which would also change {what}"),
    };
    Some(format!("`{}` in {location}: {why}", image.field.image))
}

/// Failures, which should be none.
fn problems(text: &mut String, outcomes: &[Outcome<'_>]) {
    let mut lines = Vec::new();
    for outcome in outcomes {
        let Ok(done) = &outcome.done else { continue };
        let values = outcome.case.values.as_deref().unwrap_or("default values");
        let all = done.missed.iter().chain(&done.stray);
        lines.extend(all.map(|line| format!("- {} ({values}): {line}", outcome.case.chart)));
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "\n## Missed images and strays\n\n{}", lines.join("\n"));
    }
}

fn all_charts(text: &mut String, charts: &BTreeMap<&str, Figures>) {
    let _ = writeln!(
        text,
        "\n## All charts\n\n| chart | cases | images | found in values | by values | needs rewrite | missed |\n\
         |---|---|---|---|---|---|---|"
    );
    for (name, figures) in charts {
        let images = figures.images - figures.unparsable;
        let found = figures.found.min(images);
        let (by_values, rewrite) = (figures.by_values, figures.rewrite);
        let _ = writeln!(
            text,
            "| {name} | {} | {images} | {found} | {by_values} | {rewrite} | {} |",
            figures.cases, figures.missed
        );
    }
}

/// All details of some cases, for debugging one chart.
pub(crate) fn details(outcomes: &[Outcome<'_>]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let values = outcome.case.values.as_deref().unwrap_or("default values");
        match &outcome.done {
            Err(error) => {
                let _ = writeln!(text, "{} ({values}): {error:#}", outcome.case.chart);
            }
            Ok(done) => {
                let _ = writeln!(
                    text,
                    "{} ({values}): {} images, {} renders, {:?}",
                    outcome.case.chart,
                    done.relocation.images.len(),
                    done.relocation.renders,
                    done.time
                );
                let reasons = done.relocation.images.iter().filter_map(reason);
                for line in reasons.chain(done.missed.iter().cloned()).chain(done.stray.iter().cloned()) {
                    let _ = writeln!(text, "  {line}");
                }
            }
        }
    }
    text
}
