//! The values of the user: those that nothing reads any more, those that mean something else, and where they moved.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Map, Node, ValuePath};

use crate::candidates::{Candidate, Finder, fits};
use crate::facts::{Effect, Fact};
use crate::guard;
use crate::keys::{self, Unit, Unread};
use crate::proof::{Probe, Prober, agreement};
use crate::report::{Finding, FindingKind, Rename, Severity, Verdict};
use crate::side::Side;
use crate::value_tree::{leaves, remove_at, set_at, type_name};

/// The most values that are looked at one by one because something about them differs.
const MAX_SUSPECTS: usize = 48;

/// A question needs at least this score to be shown.
const MIN_SHOWN: f64 = 2.0;

/// With this score no other places are tried.
const CERTAIN: f64 = 5.0;

/// The first guess needs less.
const MIN_FIRST: f64 = 1.5;

/// The values of the user under both charts.
pub(crate) struct Values<'a> {
    pub(crate) user: &'a Map<Node>,
    pub(crate) old: &'a Side<'a>,
    pub(crate) new: &'a Side<'a>,
    pub(crate) finder: Finder<'a>,
}

/// What was found about values.
#[derive(Debug, Default)]
pub(crate) struct ValueFindings {
    pub(crate) findings: Vec<Finding>,
    /// The renames that were proven one by one.
    pub(crate) proven: Vec<Rename>,
    /// Likely renames that are not proven. Other values are proven in their company.
    pub(crate) assumed: Vec<Rename>,
}

/// A value that reads differently in the new chart, with what it did.
struct Suspect {
    unit: Unit,
    /// `None` if it does nothing that can be compared.
    probe: Option<Probe>,
    /// Whether the new chart still reads it.
    is_read: bool,
    conflict: Option<Conflict>,
    /// What the same path does in the new chart, if it is still read.
    kept: Option<crate::proof::Agreement>,
    guesses: Vec<Guess>,
}

/// What the new chart writes besides a value that it still reads.
#[derive(Clone, Debug)]
enum Conflict {
    /// What the value replaced in the old chart is there although the value is set.
    Returned(Fact),
    /// Something is written again with the value.
    Repeated(Fact),
}

impl Conflict {
    fn message(&self) -> String {
        match self {
            Conflict::Returned(fact) => format!(
                "the new chart reads this value, but it no longer replaces {} of {}, which comes back",
                fact.field, fact.object
            ),
            Conflict::Repeated(fact) => format!(
                "the new chart reads this value, and writes what it has to {} of {} once more",
                fact.field, fact.object
            ),
        }
    }
}

/// A candidate after rendering.
#[derive(Clone)]
struct Guess {
    candidate: Candidate,
    equal: bool,
    share: f64,
    /// How much of what the value set is in the same objects, in other fields.
    near: f64,
    score: f64,
    switches: Vec<ValuePath>,
    /// Other values that have to be set as well.
    also: Vec<ValuePath>,
}

impl Values<'_> {
    pub(crate) fn check(&self) -> ValueFindings {
        let unread = keys::unread(self.user, self.old, self.new);
        let mut units: Vec<(Unit, bool, Option<Conflict>)> = Vec::new();
        units.extend(unread.iter().flat_map(|unread| unread.units.clone()).map(|unit| (unit, false, None)));
        let kept = self.kept_units(&unread);
        let mut differing = self.differing(&kept);
        let listed: BTreeSet<ValuePath> = differing.iter().map(|(unit, _)| unit.path.clone()).collect();
        differing.extend(
            kept.iter()
                .filter(|unit| self.finder.may_have_moved(&unit.path) && !listed.contains(&unit.path))
                .map(|unit| (unit.clone(), None)),
        );
        let mut findings = ValueFindings::default();
        if differing.len() > MAX_SUSPECTS {
            let rest = differing.len() - MAX_SUSPECTS;
            findings.findings.push(Finding::new(
                FindingKind::Undecided,
                Severity::Warning,
                differing[MAX_SUSPECTS].0.path.to_string(),
                format!(
                    "{rest} more values were not compared one by one, because too many do something else"
                ),
            ));
            differing.truncate(MAX_SUSPECTS);
        }
        units.extend(differing.into_iter().map(|(unit, conflict)| (unit, true, conflict)));
        let mut base = self.user.clone();
        for (unit, ..) in &units {
            remove_at(&mut base, unit.path.segments());
        }
        let before = Prober::new(self.old, base.clone());
        let after = Prober::new(self.new, base);
        let mut suspects: Vec<Suspect> = units
            .into_iter()
            .map(|(unit, is_read, conflict)| Suspect {
                conflict,
                ..self.suspect(unit, is_read, &before, &after)
            })
            .collect();
        self.claim_taken(&mut suspects, &before, &after, &kept);
        settle(&mut suspects);
        self.report(&unread, &suspects, &mut findings);
        self.report_items(&mut findings);
        findings
    }

    /// The values of the user that both charts read.
    fn kept_units(&self, unread: &[Unread]) -> Vec<Unit> {
        let mut kept = self.user.clone();
        for unread in unread {
            remove_at(&mut kept, unread.path.segments());
        }
        let mut units = Vec::new();
        for (key, node) in kept.iter() {
            units.extend(keys::units(&ValuePath::root().key(key.clone()), node, self.old));
        }
        units.retain(|unit| unit.was_read);
        units
    }

    /// The values that do something else in the new chart: those whose removal has another effect, and those that no longer
    /// replace what they replaced, with an example. Groups are divided until single values are left.
    fn differing(&self, kept: &[Unit]) -> Vec<(Unit, Option<Conflict>)> {
        let mut full = Map::new();
        for unit in kept {
            set_at(&mut full, unit.path.segments(), unit.value.clone());
        }
        let (Ok(old_full), Ok(new_full)) = (self.old.render(&full), self.new.render(&full)) else {
            return Vec::new();
        };
        let without = |side: &Side<'_>, whole: &crate::side::Render, units: &[Unit]| -> Option<Effect> {
            let mut values = full.clone();
            for unit in units {
                remove_at(&mut values, unit.path.segments());
            }
            Some(Effect::between(&side.render(&values).ok()?, whole))
        };
        let nothing = crate::side::Render::default();
        let in_old = Effect::between(&nothing, &old_full).added;
        let in_new = Effect::between(&nothing, &new_full).added;
        let mut found = Vec::new();
        let mut waiting: Vec<&[Unit]> = if kept.is_empty() { Vec::new() } else { vec![kept] };
        while let Some(units) = waiting.pop() {
            if found.len() > MAX_SUSPECTS {
                found.extend(units.iter().map(|unit| (unit.clone(), None)));
                continue;
            }
            let old = without(self.old, &old_full, units);
            let new = without(self.new, &new_full, units);
            let conflict = old.as_ref().zip(new.as_ref()).and_then(|(old, new)| {
                let returned = old.removed.intersection(&in_new).next().cloned().map(Conflict::Returned);
                let again = |fact: &&Fact| fact.copy > 1 && !in_old.contains(*fact);
                returned.or_else(|| new.added.iter().find(again).cloned().map(Conflict::Repeated))
            });
            let is_same = match (&old, &new) {
                // Further fields that the new chart fills from the same value are no reason to look.
                (Some(old), Some(new)) => old.added.is_subset(&new.added) && conflict.is_none(),
                _ => false,
            };
            match units {
                _ if is_same => {}
                [unit] => found.push((unit.clone(), conflict)),
                _ => {
                    let (first, second) = units.split_at(units.len() / 2);
                    waiting.extend([second, first]);
                }
            }
        }
        found
    }

    fn suspect(&self, unit: Unit, is_read: bool, before: &Prober<'_>, after: &Prober<'_>) -> Suspect {
        let probe = unit.was_read.then(|| before.probe(&unit.path, &unit.value)).flatten();
        let kept = probe.as_ref().filter(|_| is_read).map(|probe| {
            let effect = after.like(probe, &[&unit.path]);
            agreement(&probe.effect, &effect)
        });
        let mut guesses = Vec::new();
        let is_settled = kept.is_some_and(|kept| kept.equal);
        if unit.was_read && (!is_settled || self.finder.may_have_moved(&unit.path)) {
            let taken = |path: &ValuePath| path.find(self.user).is_some();
            let candidates = self.finder.candidates(&unit.path, &unit.value, &taken);
            guesses =
                candidates.into_iter().map(|candidate| guess(candidate, probe.as_ref(), after)).collect();
            sort(&mut guesses);
            if let Some(probe) = &probe {
                join(&mut guesses, probe, after);
                self.add_unfamiliar(&unit, probe, after, &mut guesses);
            }
        }
        Suspect { unit, probe, is_read, conflict: None, kept, guesses }
    }

    /// Where no name says where a value went, what it does may: it turns up in the same object, or does all that it did.
    fn add_unfamiliar(&self, unit: &Unit, probe: &Probe, after: &Prober<'_>, guesses: &mut Vec<Guess>) {
        if guesses.iter().any(|guess| guess.equal || guess.score >= CERTAIN) {
            return;
        }
        let known: Vec<Candidate> = guesses.iter().map(|guess| guess.candidate.clone()).collect();
        let others = self.finder.unfamiliar(&unit.path, &unit.value, &known);
        let others = others.into_iter().map(|candidate| guess(candidate, Some(probe), after));
        guesses.extend(others.filter(|guess| guess.share > 0.0 || guess.near > 0.0));
        sort(guesses);
    }

    /// If a value moves to the place of another one of the user, that one has to move too, although nothing else says so.
    fn claim_taken(
        &self,
        suspects: &mut Vec<Suspect>,
        before: &Prober<'_>,
        after: &Prober<'_>,
        kept: &[Unit],
    ) {
        let targets: Vec<ValuePath> = suspects
            .iter()
            .filter_map(|suspect| Some(suspect.guesses.first()?.candidate.path.clone()))
            .collect();
        for unit in kept {
            let is_known = suspects.iter().any(|suspect| suspect.unit.path == unit.path);
            if !is_known && targets.contains(&unit.path) {
                suspects.push(self.suspect(unit.clone(), true, before, after));
            }
        }
    }

    fn report(&self, unread: &[Unread], suspects: &[Suspect], found: &mut ValueFindings) {
        for unread in unread {
            let own: Vec<&Suspect> =
                suspects.iter().filter(|suspect| suspect.unit.path.is_within(&unread.path)).collect();
            let finding = self.unread_finding(unread, &own, &mut found.proven);
            found.assumed.extend(likely(&finding));
            found.findings.push(finding);
        }
        for suspect in suspects.iter().filter(|suspect| suspect.is_read) {
            if let Some(finding) = self.meaning_finding(suspect, &mut found.proven) {
                found.assumed.extend(likely(&finding));
                found.findings.push(finding);
            }
        }
    }

    fn unread_finding(&self, unread: &Unread, own: &[&Suspect], proven: &mut Vec<Rename>) -> Finding {
        let path = &unread.path;
        let was_read = own.iter().any(|suspect| suspect.unit.was_read);
        if !was_read {
            let message = "neither chart reads this value, so it has no effect";
            return Finding::new(FindingKind::UnreadValue, Severity::Info, path.to_string(), message);
        }
        let parts: Vec<String> = unread.parts.iter().map(ToString::to_string).collect();
        let mut message = match parts.is_empty() {
            true => "the new chart does not read this value".to_owned(),
            false => format!("the new chart reads other parts of this value, but not {}", parts.join(", ")),
        };
        if let Some(text) = self.check_of(path) {
            message = format!("{message}; it only checks it: {text}");
        } else if let Some(mention) = self.finder.removal(path) {
            message = format!("{message}; see {}", mention.at);
        }
        if own.iter().all(|suspect| suspect.probe.is_none()) {
            message.push_str("; it changed nothing in the old one either");
        }
        let objects: BTreeSet<String> = own
            .iter()
            .filter_map(|suspect| suspect.probe.as_ref())
            .flat_map(|probe| probe.effect.objects().into_iter().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let mut finding =
            Finding::new(FindingKind::UnreadValue, Severity::Warning, path.to_string(), message)
                .about(objects);
        for suspect in own {
            add_renames(suspect, &mut finding, proven);
        }
        finding
    }

    /// The text with which the new chart rejects or mentions a value.
    fn check_of(&self, path: &ValuePath) -> Option<String> {
        let parts = crate::side::segments(path);
        let check = self.new.checks.iter().find(|check| {
            check.path.len() <= parts.len()
                && check.path.iter().zip(&parts).all(|(left, right)| left == right)
        })?;
        guard::message(&self.new.all, check)
    }

    fn meaning_finding(&self, suspect: &Suspect, proven: &mut Vec<Rename>) -> Option<Finding> {
        let path = suspect.unit.path.to_string();
        let best = suspect.guesses.first();
        if let Some(default) = self.new.default_at(&suspect.unit.path)
            && !fits(&suspect.unit.value, default)
        {
            let (before, after) = (type_name(&suspect.unit.value), type_name(default));
            let message = format!("the new chart has a {after} here; this is a {before}");
            let mut finding = Finding::new(FindingKind::ChangedType, Severity::Warning, path, message);
            add_renames(suspect, &mut finding, proven);
            return Some(finding);
        }
        let probe = suspect.probe.as_ref()?;
        let kept = suspect.kept?;
        // A value that only the new chart reads is in its place already, so the values are those of the new chart.
        let is_done = |best: &Guess| {
            let path = &best.candidate.path;
            path.find(self.user).is_some() && (path.is_within(&suspect.unit.path) || !self.old.reads(path))
        };
        if best.is_some_and(is_done) {
            return None;
        }
        let moved = best.is_some_and(|best| {
            best.equal || best.candidate.document > 0.7 || best.score > 4.0 && best.share > kept.share
        });
        let objects = probe.effect.objects().into_iter().map(str::to_owned).collect::<Vec<_>>();
        if let Some(conflict) = suspect.conflict.as_ref().filter(|_| !moved) {
            let message = conflict.message();
            let mut finding =
                Finding::new(FindingKind::ChangedMeaning, Severity::Warning, path, message).about(objects);
            add_renames(suspect, &mut finding, &mut Vec::new());
            return Some(finding);
        }
        if kept.equal && best.is_none_or(|best| best.candidate.document <= 0.7) {
            return None;
        }
        let (severity, message) = match kept.share {
            _ if kept.equal => {
                (Severity::Info, "the new chart still honours this value, but names another place for it")
            }
            _ if moved => (Severity::Warning, "the new chart reads this value for something else"),
            0.0 => (Severity::Warning, "the new chart reads this value, but it reaches other fields or none"),
            _ => (Severity::Info, "the new chart does not do exactly the same with this value"),
        };
        let mut finding = Finding::new(FindingKind::ChangedMeaning, severity, path, message).about(objects);
        if moved {
            // What still works is not moved without being asked.
            let mut unwritten = Vec::new();
            add_renames(suspect, &mut finding, if kept.equal { &mut unwritten } else { proven });
        }
        Some(finding)
    }

    fn report_items(&self, found: &mut ValueFindings) {
        for (path, key) in keys::unread_item_fields(self.user, self.old, self.new) {
            let message = "the new chart does not read this field of the items";
            let subject = format!("{path}[*].{key}");
            found.findings.push(Finding::new(FindingKind::UnreadValue, Severity::Warning, subject, message));
        }
    }
}

fn guess(candidate: Candidate, probe: Option<&Probe>, after: &Prober<'_>) -> Guess {
    let Some(probe) = probe else {
        return Guess {
            score: candidate.score,
            candidate,
            equal: false,
            share: 0.0,
            near: 0.0,
            switches: Vec::new(),
            also: Vec::new(),
        };
    };
    let effect = after.like(probe, &[&candidate.path]);
    let mut agreement = agreement(&probe.effect, &effect);
    if !agreement.equal
        && let Some(converted) = converted(&probe.value, &candidate)
    {
        // The value would have to be rewritten, so this is no proof.
        let probe = Probe { value: converted, ..probe.clone() };
        agreement.share = agreement
            .share
            .max(self::agreement(&probe.effect, &after.like(&probe, &[&candidate.path])).share);
    }
    let near = crate::proof::near(&probe.effect, &effect);
    let mut score = candidate.score;
    if agreement.equal {
        score += 4.0;
    } else if agreement.share > 0.0 || near > 0.0 {
        score += (2.5 * agreement.share).max(1.5 * near);
    } else if !effect.is_empty() {
        score -= 1.5;
    } else {
        score -= 0.5;
    }
    let switches = probe.switches.clone();
    Guess {
        candidate,
        equal: agreement.equal,
        share: agreement.share,
        near,
        score,
        switches,
        also: Vec::new(),
    }
}

/// A list of one item as that item, where the new chart has no list, and the reverse.
fn converted(value: &Node, candidate: &Candidate) -> Option<Node> {
    match (value, candidate.default_type?) {
        (Node::List(items), "string" | "number") if items.len() == 1 => items.first().cloned(),
        (Node::Str(_) | Node::Int(_) | Node::Float(_), "list") => Some(Node::List(vec![value.clone()])),
        _ => None,
    }
}

fn sort(guesses: &mut [Guess]) {
    guesses.sort_by(|left, right| {
        let (first, second) = (&left.candidate, &right.candidate);
        let by_order = || first.order.cmp(&second.order).then_with(|| first.path.cmp(&second.path));
        right.score.total_cmp(&left.score).then_with(by_order)
    });
}

/// One value may have become two: then both together do what it did.
fn join(guesses: &mut [Guess], probe: &Probe, after: &Prober<'_>) {
    if guesses.iter().any(|guess| guess.equal) {
        return;
    }
    let partial: Vec<usize> =
        (0..guesses.len()).filter(|&index| guesses[index].share > 0.2).take(3).collect();
    for (position, &first) in partial.iter().enumerate() {
        for &second in &partial[position + 1..] {
            let (one, other) =
                (guesses[first].candidate.path.clone(), guesses[second].candidate.path.clone());
            if one.is_within(&other) || other.is_within(&one) {
                continue;
            }
            let agreement = agreement(&probe.effect, &after.like(probe, &[&one, &other]));
            if agreement.equal {
                // A plain amount is what a container requests, so that comes first.
                let (first, other) =
                    if one.to_string().contains("limits") { (second, one) } else { (first, other) };
                guesses[first].equal = true;
                guesses[first].score += 4.0;
                guesses[first].also = vec![other];
                sort(guesses);
                return;
            }
        }
    }
}

/// Values that were next to each other usually stay so, and no two values have one place.
fn settle(suspects: &mut [Suspect]) {
    let mut moves: BTreeMap<(ValuePath, ValuePath), f64> = BTreeMap::new();
    for suspect in suspects.iter() {
        if let Some(best) = suspect.guesses.first()
            && let (Some(from), Some(to)) = (suspect.unit.path.parent(), best.candidate.path.parent())
        {
            *moves.entry((from, to)).or_default() += if best.equal { 1.0 } else { 0.3 };
        }
    }
    for suspect in suspects.iter_mut() {
        for guess in &mut suspect.guesses {
            let key = (suspect.unit.path.parent(), guess.candidate.path.parent());
            if let (Some(from), Some(to)) = key
                && let Some(votes) = moves.get(&(from, to))
            {
                guess.score += votes.min(2.0) * 0.5;
            }
        }
        sort(&mut suspect.guesses);
    }
    let mut order: Vec<usize> = (0..suspects.len()).collect();
    let best = |suspect: &Suspect| suspect.guesses.first().map_or(f64::MIN, |guess| guess.score);
    order.sort_by(|left, right| best(&suspects[*right]).total_cmp(&best(&suspects[*left])));
    let mut taken: BTreeSet<ValuePath> = BTreeSet::new();
    for index in order {
        let guesses = &mut suspects[index].guesses;
        guesses.retain(|guess| !taken.contains(&guess.candidate.path));
        if let Some(guess) = guesses.first() {
            taken.insert(guess.candidate.path.clone());
        }
    }
}

fn add_renames(suspect: &Suspect, finding: &mut Finding, proven: &mut Vec<Rename>) {
    if suspect.guesses.iter().all(|guess| guess.score < MIN_FIRST) {
        finding.unmoved.push(suspect.unit.path.clone());
    }
    let mut runner_up = suspect.guesses.iter().skip(1).filter(|guess| guess.equal);
    let is_unique = runner_up
        .next()
        .is_none_or(|other| suspect.guesses.first().is_some_and(|best| best.score - other.score > 0.75));
    let least = |index: usize| if index == 0 { MIN_FIRST } else { MIN_SHOWN };
    let shown = suspect.guesses.iter().enumerate().filter(|(index, guess)| guess.score >= least(*index));
    for (index, guess) in shown.take(3) {
        let mut evidence = guess.candidate.evidence.clone();
        evidence.dedup();
        let verdict =
            if guess.equal && index == 0 && is_unique { Verdict::Proven } else { Verdict::Question };
        match (&suspect.probe, guess.equal) {
            (Some(probe), true) => evidence.insert(0, proof_text(probe, &guess.switches)),
            (Some(_), false) if guess.share > 0.0 => {
                let percent = (guess.share * 100.0).round();
                evidence.push(format!("{percent} % of what it did is the same there"));
            }
            (Some(_), false) if guess.near > 0.0 => {
                evidence.push("it sets another field of the same object".to_owned());
            }
            (Some(_), false) => evidence.push("it does not do there what it did".to_owned()),
            (None, _) => evidence.push("it changes nothing that could be compared".to_owned()),
        }
        let rename = Rename {
            from: suspect.unit.path.clone(),
            to: guess.candidate.path.clone(),
            also: guess.also.clone(),
            verdict,
            confidence: confidence(guess, verdict),
            evidence,
        };
        if verdict == Verdict::Proven {
            proven.push(rename.clone());
        }
        finding.renames.push(rename);
    }
}

fn proof_text(probe: &Probe, switches: &[ValuePath]) -> String {
    let places = probe.effect.places().len();
    let fields = if places == 1 { "field".to_owned() } else { format!("{places} fields") };
    let on: Vec<String> = switches.iter().map(ToString::to_string).collect();
    let with = if on.is_empty() { String::new() } else { format!(", with {} on", on.join(" and ")) };
    format!("it sets the same {fields} and changes nothing else{with}")
}

/// In percent: a proof is near certainty, a guess never is.
fn confidence(guess: &Guess, verdict: Verdict) -> u8 {
    let percent = match verdict {
        Verdict::Proven => 92.0 + guess.candidate.score.min(7.0),
        Verdict::Question => (10.0 * guess.score).clamp(10.0, 85.0),
    };
    percent as u8
}

/// The first guess for each value that is not proven but likely.
fn likely(finding: &Finding) -> Vec<Rename> {
    let mut found: Vec<Rename> = Vec::new();
    for rename in &finding.renames {
        let is_first = !found.iter().any(|known| known.from == rename.from);
        if is_first && rename.verdict == Verdict::Question && rename.confidence >= 50 {
            found.push(rename.clone());
        }
    }
    found
}

/// The leaves of the user's values whose type the new chart does not expect, without those that are reported otherwise.
pub(crate) fn changed_types(
    user: &Map<Node>,
    old: &Side<'_>,
    new: &Side<'_>,
    known: &BTreeSet<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, value) in leaves(user, &ValuePath::root()) {
        let (Some(before), Some(after)) = (old.default_at(&path), new.default_at(&path)) else { continue };
        let was_expected = fits(&value, before);
        if known.contains(&path.to_string()) || !new.reads(&path) || fits(&value, after) || !was_expected {
            continue;
        }
        let (found, wanted) = (type_name(&value), type_name(after));
        let message = format!("the new chart has a {wanted} here; this is a {found}");
        findings.push(Finding::new(FindingKind::ChangedType, Severity::Warning, path.to_string(), message));
    }
    findings
}
