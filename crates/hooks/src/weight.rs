//! The weights of a hook per event: by name, by position, one for all, or none.

use crate::annotation::{Annotations, EventVocabulary, WEIGHT, WEIGHTS};
use crate::error::Problem;

/// The events of a hook in the order of its annotations, each with its weight.
///
/// `helm.sh/hook-weights` takes precedence over a list in `helm.sh/hook-weight`, that over a single weight, that over
/// 0. Without `helm.sh/hook`, `helm.sh/hook-weights` lists the events.
pub(crate) fn event_weights(
    annotations: &Annotations,
    vocabulary: EventVocabulary,
) -> Result<Vec<(&'static str, i64)>, Problem> {
    let Some(list) = &annotations.hook else {
        return derive(annotations.weights.as_deref().unwrap_or_default(), vocabulary);
    };
    let events = vocabulary.events(list)?;
    let weights = match (&annotations.weights, &annotations.weight) {
        (Some(weights), _) if weights.contains('=') => by_name(weights, &events, vocabulary)?,
        (Some(weights), _) => by_position(weights, WEIGHTS, events.len())?,
        (None, Some(weight)) if weight.contains(',') => by_position(weight, WEIGHT, events.len())?,
        (None, Some(weight)) => vec![number(weight, WEIGHT)?; events.len()],
        (None, None) => vec![0; events.len()],
    };
    Ok(events.into_iter().zip(weights).collect())
}

/// Events and weights from `helm.sh/hook-weights` alone.
fn derive(weights: &str, vocabulary: EventVocabulary) -> Result<Vec<(&'static str, i64)>, Problem> {
    let mut events: Vec<(&'static str, i64)> = Vec::new();
    for (event, weight) in pairs(weights)? {
        let event = vocabulary.event(event)?;
        if events.iter().any(|(known, _)| *known == event) {
            return Err(Problem::DuplicateEvent { event: event.to_owned() });
        }
        events.push((event, number(weight, WEIGHTS)?));
    }
    if events.is_empty() { Err(Problem::NoNames) } else { Ok(events) }
}

/// Weights by event name; 0 for the others. The last duplicate wins.
fn by_name(weights: &str, events: &[&'static str], vocabulary: EventVocabulary) -> Result<Vec<i64>, Problem> {
    let mut result = vec![0; events.len()];
    for (event, weight) in pairs(weights)? {
        let event = vocabulary.event(event)?;
        let Some(position) = events.iter().position(|known| *known == event) else {
            return Err(Problem::ForeignEvent { event: event.to_owned() });
        };
        result[position] = number(weight, WEIGHTS)?;
    }
    Ok(result)
}

/// Weights by position.
fn by_position(weights: &str, annotation: &'static str, events: usize) -> Result<Vec<i64>, Problem> {
    let weights =
        weights.split(',').map(|weight| number(weight, annotation)).collect::<Result<Vec<_>, _>>()?;
    if weights.len() == events {
        Ok(weights)
    } else {
        Err(Problem::Count { annotation, weights: weights.len(), events })
    }
}

/// Parses `event=weight` entries. Empty entries are ignored.
fn pairs(weights: &str) -> Result<Vec<(&str, &str)>, Problem> {
    let entries = weights.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| match entry.split_once('=') {
            // `pre-install=` is more likely a template without its value than a 0.
            Some((_, weight)) if weight.trim().is_empty() => {
                Err(Problem::NoNumber { annotation: WEIGHTS, text: entry.to_owned() })
            }
            Some(pair) => Ok(pair),
            None if weights.contains('=') => Err(Problem::Mixed { entry: entry.to_owned() }),
            None => Err(Problem::NoNames),
        })
        .collect()
}

/// Parses a weight; an empty one is 0, and a sign is allowed, as in Helm. Helm uses the machine's int and falls back
/// to 0 on overflow; 32 bits make a weight mean the same on every machine.
fn number(text: &str, annotation: &'static str) -> Result<i64, Problem> {
    match text.trim() {
        "" => Ok(0),
        text => text
            .parse::<i32>()
            .map(i64::from)
            .map_err(|_| Problem::NoNumber { annotation, text: text.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights for annotations given as `hook | hook-weight | hook-weights`, where `-` stands for none.
    fn weighed(row: &str) -> Result<String, Problem> {
        let fields: Vec<Option<String>> =
            row.split('|').map(|field| Some(field.trim().to_owned()).filter(|text| text != "-")).collect();
        let [hook, weight, weights] = fields.try_into().expect("three fields");
        let annotations = Annotations { hook, weight, weights, ..Annotations::default() };
        let weights = event_weights(&annotations, EventVocabulary::Filter)?;
        Ok(weights.iter().map(|(event, weight)| format!("{event}={weight}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_most_exact_annotation_wins() {
        for (row, expected) in [
            ("test | 4 | -", "test=4"),
            ("test | - | -", "test=0"),
            ("pre-install | - | pre-install=-3", "pre-install=-3"),
            ("pre-install | - | 5", "pre-install=5"),
            ("pre-install,post-install | - | -", "pre-install=0 post-install=0"),
            ("pre-install,post-install | 7 | -", "pre-install=7 post-install=7"),
            ("pre-install, post-install | -9, 30 | -", "pre-install=-9 post-install=30"),
            ("pre-install,post-install | - | 1,2", "pre-install=1 post-install=2"),
            ("pre-install,post-install | - | post-install=9", "pre-install=0 post-install=9"),
            ("pre-install,post-install | 50 | 1,2", "pre-install=1 post-install=2"),
            ("pre-install,post-install | abc | 1,2", "pre-install=1 post-install=2"),
            ("- | - | pre-delete=-2, post-delete = 2", "pre-delete=-2 post-delete=2"),
            ("- | - | post-delete=4", "post-delete=4"),
            ("pre-install,post-install | - | 1,", "pre-install=1 post-install=0"),
            ("pre-install,test | - | test=1,test=2,", "pre-install=0 test=2"),
            ("pre-install, | 3 | -", "pre-install=3"),
            ("test | +3 | -", "test=3"),
            ("test | -2147483648 | -", "test=-2147483648"),
        ] {
            assert_eq!(weighed(row).as_deref(), Ok(expected), "{row}");
        }
    }

    #[test]
    fn contradictions_are_problems_that_say_what_is_wrong() {
        for (row, expected) in [
            (
                "- | - | 1,2",
                "`helm.sh/hook-weights` without `helm.sh/hook` must name events, as in `pre-install=5`",
            ),
            (
                "- | - | ",
                "`helm.sh/hook-weights` without `helm.sh/hook` must name events, as in `pre-install=5`",
            ),
            ("pre-install,test | - | ", "`helm.sh/hook-weights` has 1 weights for 2 events"),
            (
                "pre-install,test | - | pre-install=1,2",
                "`helm.sh/hook-weights` mixes `event=weight` with bare weights, as in `2`",
            ),
            (
                "pre-install | - | test=1",
                "`helm.sh/hook-weights` has a weight for `test`, which `helm.sh/hook` does not name",
            ),
            ("- | - | test=1,test=2", "the event `test` is named twice"),
            ("test,test | - | -", "the event `test` is named twice"),
            ("test | abc | -", "the weight `abc` in `helm.sh/hook-weight` is not a 32-bit integer"),
            ("test | 1.5 | -", "the weight `1.5` in `helm.sh/hook-weight` is not a 32-bit integer"),
            (
                "test | - | test=2147483648",
                "the weight `2147483648` in `helm.sh/hook-weights` is not a 32-bit integer",
            ),
            ("test | - | test=", "the weight `test=` in `helm.sh/hook-weights` is not a 32-bit integer"),
            ("pre-install,post-install,test | 5,10 | -", "`helm.sh/hook-weight` has 2 weights for 3 events"),
            ("test | 1,2 | -", "`helm.sh/hook-weight` has 2 weights for 1 events"),
            (" | - | -", "`helm.sh/hook` is empty"),
        ] {
            assert_eq!(
                weighed(row).map_err(|problem| problem.to_string()),
                Err(expected.to_owned()),
                "{row}"
            );
        }
    }

    #[test]
    fn every_answer_has_each_event_once_and_is_the_same_natively() {
        let vocabulary = ["", "pre-install", "pre-delete", "pre-install=1", "pre-delete=-2", "=", "7", "x"];
        let lists: Vec<Option<String>> = std::iter::once(None)
            .chain(vocabulary.iter().map(|word| Some((*word).to_owned())))
            .chain(vocabulary.iter().flat_map(|one| vocabulary.map(|two| Some(format!("{one},{two}")))))
            .collect();
        let mut answers = 0;
        for hook in &lists {
            for weights in &lists {
                for weight in [None, Some("5".to_owned()), Some("1,2".to_owned())] {
                    let annotations = Annotations {
                        hook: hook.clone(),
                        weight,
                        weights: weights.clone(),
                        ..Annotations::default()
                    };
                    let Ok(events) = event_weights(&annotations, EventVocabulary::Filter) else { continue };
                    answers += 1;
                    assert_eq!(
                        event_weights(&annotations, EventVocabulary::Native).as_ref(),
                        Ok(&events),
                        "{annotations:?}"
                    );
                    assert!(!events.is_empty());
                    for (index, (event, _)) in events.iter().enumerate() {
                        assert!(
                            events[..index].iter().all(|(earlier, _)| earlier != event),
                            "{annotations:?}"
                        );
                    }
                }
            }
        }
        assert!(answers > 100, "{answers} answers are too few to tell");
    }
}
