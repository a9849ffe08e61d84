//! Renames that were proven together, and the values with them.

use pintle_tree::{Map, Node, ValuePath};

use crate::facts::Effect;
use crate::report::{Finding, Rename, Verdict};
use crate::side::Side;
use crate::value_tree::{remove_at, set_at};

/// The user's values with renames applied, all at once, so that values can change places.
pub fn migrated(user: &Map<Node>, moves: &[Rename]) -> Map<Node> {
    let mut values = user.clone();
    let mut taken = Vec::new();
    for Rename { from, to, also, .. } in moves {
        if let Some(value) = from.find(user).cloned() {
            remove_at(&mut values, from.segments());
            taken.extend([to].into_iter().chain(also).map(|to| (to, value.clone())));
        }
    }
    for (to, value) in taken {
        set_at(&mut values, to.segments(), value);
    }
    values
}

/// The renames that are right together: with all of them, the new chart renders with the user's values what each did on its
/// own. Those that are not become questions.
pub(crate) fn confirmed(
    user: &Map<Node>,
    old: &Side<'_>,
    new: &Side<'_>,
    (proven, assumed): (&[Rename], &[Rename]),
    findings: &mut [Finding],
) -> Vec<Rename> {
    let mut moves: Vec<Rename> = proven.to_vec();
    // A value must not be written over one that stays.
    let froms: Vec<ValuePath> = moves.iter().map(|rename| rename.from.clone()).collect();
    moves.retain(|rename| {
        let stays = |path: &ValuePath| {
            path.find(user).is_some_and(|value| !value.is_nil())
                && !froms.iter().any(|from| path.is_within(from) || from.is_within(path))
        };
        !stays(&rename.to) && !rename.also.iter().any(stays)
    });
    while !moves.is_empty() {
        let Some(wrong) = contradicted(user, old, new, (&moves, assumed)) else { break };
        moves.retain(|rename| !wrong.contains(&rename.from));
    }
    for rename in findings.iter_mut().flat_map(|finding| &mut finding.renames) {
        let is_confirmed = moves.iter().any(|known| known.from == rename.from && known.to == rename.to);
        if rename.verdict == Verdict::Proven && !is_confirmed {
            rename.verdict = Verdict::Question;
            rename.confidence = rename.confidence.min(80);
            rename.evidence.push("together with the other values it does something else".to_owned());
        }
    }
    moves
}

/// The renames that do something else than the values did, if there are any; all of them, if the render fails.
fn contradicted(
    user: &Map<Node>,
    old: &Side<'_>,
    new: &Side<'_>,
    (moves, assumed): (&[Rename], &[Rename]),
) -> Option<Vec<ValuePath>> {
    let together: Vec<Rename> = moves.iter().chain(assumed).cloned().collect();
    let all = || Some(moves.iter().map(|rename| rename.from.clone()).collect());
    let (Ok(before), Ok(after)) = (old.render(user), new.render(&migrated(user, &together))) else {
        return all();
    };
    let mut wrong = Vec::new();
    for rename in moves {
        let mut without = user.clone();
        remove_at(&mut without, rename.from.segments());
        let rest: Vec<Rename> = together.iter().filter(|other| other.from != rename.from).cloned().collect();
        let (Ok(old_rest), Ok(new_rest)) = (old.render(&without), new.render(&migrated(&without, &rest)))
        else {
            wrong.push(rename.from.clone());
            continue;
        };
        let (did, does) = (Effect::between(&old_rest, &before), Effect::between(&new_rest, &after));
        let does_nothing = did.is_empty() && does.is_empty();
        if !does_nothing && !crate::proof::agreement(&did, &does).equal {
            wrong.push(rename.from.clone());
        }
    }
    (!wrong.is_empty()).then_some(wrong)
}
