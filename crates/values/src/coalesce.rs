//! Coalesces chart defaults, parents' values and the user's values, as Helm's `pkg/chart/common/util` does.
//! Values flow from the top: the user's values are over the defaults of the chart, and the result is over the
//! defaults of its subcharts, which also get the globals. Maps are changed in place as in Helm, because some
//! are shared; see [`Table`].

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str, with_stack};

use crate::scope::{FieldPath, Scope};
use crate::table::{Item, Table};
use crate::{Error, LogLine, ReadSource, Result, go_format, schema};

/// The key of the values shared by all charts of a tree.
const GLOBAL: &str = "global";

/// How null in chart defaults is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullRules {
    /// Null in a chart's defaults is dropped, so a parent chart cannot remove a default of its subchart.
    #[default]
    Helm4,
    /// Null in a chart's defaults is kept, and removes defaults of subcharts.
    Helm3,
}

/// Returns the values that `chart` and its subcharts are rendered with: `user` merged over all defaults.
///
/// # Errors
/// When the values of a subchart are not a map.
pub fn coalesce(
    chart: &Chart,
    user: &Map<Node>,
    rules: NullRules,
    log: &mut Vec<LogLine>,
) -> Result<Map<Node>> {
    let dest = Table::over(user);
    Coalescer { log, rules, mode: Mode::Coalesce }.scope(&Scope::new(chart), &dest, &FieldPath::Top)?;
    dest.to_map().map_err(|_| Error::CyclicImport(chart.name().to_owned()))
}

/// Merges two maps as [`coalesce`] does, without regard to charts (Helm's `CoalesceTables`): maps merge, null above removes
/// what is below, and null below is kept, because it may yet have to remove the default of a chart.
pub fn coalesce_tables(above: &Map<Node>, below: &Map<Node>, log: &mut Vec<LogLine>) -> Map<Node> {
    let dest = Table::over(above);
    let (rules, mode) = (NullRules::Helm3, Mode::Coalesce);
    Coalescer { log, rules, mode }.over_node(&dest, below, &FieldPath::Top, mode);
    dest.to_map().expect("a table over plain maps does not contain itself")
}

/// Whether values are validated against the charts' schemas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaCheck {
    /// Validate.
    #[default]
    Check,
    /// Skip (`--skip-schema-validation`).
    Skip,
}

/// Returns the `.Values` of the chart: coalesced, and validated against the schemas. `read` returns files that
/// schemas refer to.
///
/// # Errors
/// When the values of a subchart are not a map, or violate a schema.
pub fn render_values(
    chart: &Chart,
    user: &Map<Node>,
    rules: NullRules,
    check: SchemaCheck,
    read: &mut ReadSource<'_>,
    log: &mut Vec<LogLine>,
) -> Result<Map<Node>> {
    let values = coalesce(chart, user, rules, log)?;
    if check == SchemaCheck::Skip {
        return Ok(values);
    }
    let values = Node::Map(values);
    schema::check(chart, &values, read, log)?;
    match values {
        Node::Map(values) => Ok(values),
        _ => Ok(Map::new()),
    }
}

/// Whether null removes the value below it, or is kept for a later pass (Helm's `merge` flag).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Coalesce,
    Merge,
}

/// One pass over a chart tree.
pub(crate) struct Coalescer<'l> {
    pub(crate) log: &'l mut Vec<LogLine>,
    pub(crate) rules: NullRules,
    pub(crate) mode: Mode,
}

impl Coalescer<'_> {
    /// Merges `dest` over the defaults of a chart, then of its subcharts.
    pub(crate) fn scope<'a>(
        &mut self,
        scope: &Scope<'a>,
        dest: &Table<'a>,
        outer: &FieldPath<'_>,
    ) -> Result<()> {
        let field = FieldPath::Inside(outer, &scope.name);
        self.defaults(scope, dest, &field);
        for subscope in &scope.subscopes {
            let inner = match dest.get(&subscope.name) {
                None => {
                    let inner = Table::new();
                    dest.insert(subscope.name.clone(), Item::Table(inner.clone()));
                    inner
                }
                Some(item) => {
                    dest.open(&subscope.name).ok_or_else(|| type_mismatch(&subscope.name, &item))?
                }
            };
            self.globals(&inner, dest, &field);
            self.scope(subscope, &inner, &field)?;
        }
        Ok(())
    }

    /// Lays `dest` over the defaults of one chart.
    fn defaults<'a>(&mut self, scope: &Scope<'a>, dest: &Table<'a>, field: &FieldPath<'_>) {
        for (key, default) in scope.values.iter() {
            let Some(item) = dest.get(key) else {
                let clean = self.cleans(self.mode);
                if !(clean && default.is_nil()) {
                    dest.insert(key.clone(), Item::from_default(default, clean));
                }
                continue;
            };
            // The documented way for users to remove a default: set it to null.
            if item.is_nil() && self.mode == Mode::Coalesce {
                dest.remove(key);
            } else if item.is_table() {
                match default {
                    Node::Map(below) => {
                        // What a parent sets for a subchart, nulls included, is kept for the pass over that subchart.
                        let mode = if scope.has_subscope(key) { Mode::Merge } else { self.mode };
                        if !is_covered(&item, below, mode) {
                            let above = dest.open(key).expect("a table can be opened");
                            self.over_node(&above, below, &FieldPath::Inside(field, key), mode);
                        }
                    }
                    Node::Nil => {}
                    _ => {
                        let field = FieldPath::Inside(field, key).dotted();
                        self.warn(format!("warning: skipped value for {field}: Not a table."));
                    }
                }
            }
        }
    }

    fn cleans(&self, mode: Mode) -> bool {
        self.rules == NullRules::Helm4 && mode == Mode::Coalesce
    }

    /// Merges `above` over a map that is not shared.
    fn over_node<'a>(&mut self, above: &Table<'a>, below: &'a Map<Node>, field: &FieldPath<'_>, mode: Mode) {
        let clean = self.cleans(mode);
        for (key, default) in below.iter() {
            if clean && default.is_nil() {
                continue;
            }
            let Some(item) = above.get(key) else {
                above.insert(key.clone(), Item::from_default(default, clean));
                continue;
            };
            if item.is_nil() {
                // A null over a null stays, because there is no default to remove; Helm distinguishes the
                // two.
                if mode == Mode::Coalesce && !default.is_nil() {
                    above.remove(key);
                }
                continue;
            }
            let field = FieldPath::Inside(field, key);
            match (item.is_table(), default) {
                (true, Node::Map(below)) => {
                    if !is_covered(&item, below, mode) {
                        let above = above.open(key).expect("a table can be opened");
                        with_stack(|| self.over_node(&above, below, &field, mode));
                    }
                }
                (false, Node::Map(_)) => {
                    self.warn_not_overwritten(&field, &go_format::format_v(default, clean))
                }
                (true, Node::Nil) | (false, _) => {}
                (true, _) => self.warn_ignored(&field, &go_format::format_v(default, clean)),
            }
        }
    }

    /// Merges `above` over `below`, both of which may be shared. Null is kept.
    pub(crate) fn over_table<'a>(&mut self, above: &Table<'a>, below: &Table<'a>, field: &FieldPath<'_>) {
        if above.is(below) {
            return;
        }
        // Helm writes nulls of the upper map into the lower one first. The lower one may be shared, so this
        // is visible elsewhere.
        for key in above.nil_keys() {
            below.insert(key, Item::nil());
        }
        for key in below.keys() {
            // Opened in place before it is shared, so that both holders see the same table.
            let table = below.open(&key);
            let Some(item) = below.get(&key) else { continue };
            if above.get(&key).is_none() {
                above.insert(key, item);
                continue;
            }
            let field = FieldPath::Inside(field, &key);
            match (above.open(&key), table) {
                (Some(above), Some(below)) => with_stack(|| self.over_table(&above, &below, &field)),
                (None, Some(_)) => self.warn_not_overwritten(&field, &item.spelled()),
                (Some(_), None) if !item.is_nil() => self.warn_ignored(&field, &item.spelled()),
                _ => {}
            }
        }
    }

    /// Copies the globals of a chart to a subchart.
    fn globals<'a>(&mut self, dest: &Table<'a>, source: &Table<'a>, field: &FieldPath<'_>) {
        let Some(to) = self.global_table(dest, "destination") else { return };
        let Some(from) = self.global_table(source, "source") else { return };
        for key in from.keys() {
            if let Some(table) = from.open(&key) {
                // Helm copies this level only (`copyMap`), so tables below stay shared between a chart and
                // its subchart.
                let copy = table.copied_level();
                match to.get(&key) {
                    None => {}
                    Some(item) if item.is_table() => {
                        let below = to.open(&key).expect("a table can be opened");
                        // The globals of the parent are over those of the subchart, contrary to defaults:
                        // globals are merged top-down.
                        self.over_table(&copy, &below, &FieldPath::Inside(field, &key));
                    }
                    Some(_) => {
                        let key = pintle_tree::quote::quote(key.as_bytes());
                        self.warn(format!("Conflict: cannot merge map onto non-map for {key}. Skipping."));
                        continue;
                    }
                }
                to.insert(key, Item::Table(copy));
            } else if to.get(&key).is_some_and(|item| item.is_table()) {
                self.warn(format!("key {key} is table. Skipping"));
            } else if let Some(item) = from.get(&key) {
                to.insert(key, item);
            }
        }
        dest.insert(GLOBAL.into(), Item::Table(to));
    }

    /// The globals in `values`: an empty table if there are none, a warning if they are not a table.
    fn global_table<'a>(&mut self, values: &Table<'a>, which: &str) -> Option<Table<'a>> {
        if values.get(GLOBAL).is_none() {
            return Some(Table::new());
        }
        let table = values.open(GLOBAL);
        if table.is_none() {
            self.warn(format!("warning: skipping globals because {which} {GLOBAL} is not a table."));
        }
        table
    }

    fn warn_not_overwritten(&mut self, field: &FieldPath<'_>, value: &str) {
        let field = field.dotted();
        self.warn(format!("warning: cannot overwrite table with non table for {field} ({value})"));
    }

    fn warn_ignored(&mut self, field: &FieldPath<'_>, value: &str) {
        let field = field.dotted();
        self.warn(format!("warning: destination for {field} is a table. Ignoring non-table value ({value})"));
    }

    fn warn(&mut self, message: String) {
        self.log.push(LogLine::info(message));
    }
}

/// Whether merging an unchanged map over `below` would neither change anything nor warn. Most charts repeat the
/// defaults of their subcharts, so this avoids opening tables.
fn is_covered(item: &Item<'_>, below: &Map<Node>, mode: Mode) -> bool {
    match item.as_node() {
        Some(Node::Map(above)) => covers(above, below, mode),
        _ => false,
    }
}

fn covers(above: &Map<Node>, below: &Map<Node>, mode: Mode) -> bool {
    // Both maps are sorted, so one pass over each is enough.
    let mut entries = above.iter();
    below.iter().all(|(key, default)| {
        let Some((_, over)) =
            entries.find(|(candidate, _)| *candidate >= key).filter(|(found, _)| *found == key)
        else {
            return false;
        };
        match (over, default) {
            (Node::Nil, Node::Nil) => true,
            (Node::Nil, _) => mode == Mode::Merge,
            (Node::Map(over), Node::Map(default)) => with_stack(|| covers(over, default, mode)),
            (Node::Map(_), default) => default.is_nil(),
            (_, default) => default.as_map().is_none(),
        }
    })
}

fn type_mismatch(name: &Str, item: &Item<'_>) -> Error {
    let found = item.as_node().map(go_format::format_t).unwrap_or_default();
    Error::TypeMismatch { name: name.to_string(), found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::json;

    fn map(text: &str) -> Map<Node> {
        json::read_map(text.as_bytes()).unwrap()
    }

    fn chart(name: &str, values: &str, subcharts: Vec<Chart>) -> Chart {
        let mut chart = Chart { values: map(values), subcharts, ..Chart::default() };
        chart.metadata.name = name.to_owned();
        chart
    }

    fn coalesced(chart: &Chart, user: &str, rules: NullRules) -> (Map<Node>, Vec<String>) {
        let mut log = Vec::new();
        let values = coalesce(chart, &map(user), rules, &mut log).unwrap();
        (values, log.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn null_below_is_kept_between_tables() {
        let (above, below) = (map(r#"{"b":null,"t":{}}"#), map(r#"{"a":null,"b":1,"t":{"x":null}}"#));
        let merged = coalesce_tables(&above, &below, &mut Vec::new());
        assert_eq!(merged, map(r#"{"a":null,"t":{"x":null}}"#));
    }

    #[test]
    fn null_in_defaults_removes_only_under_the_old_rules() {
        let parent = chart("p", r#"{"sub":{"k":null},"n":null}"#, vec![chart("sub", r#"{"k":1}"#, vec![])]);
        let new = coalesced(&parent, "{}", NullRules::Helm4).0;
        assert_eq!(new, map(r#"{"sub":{"k":1,"global":{}}}"#));
        let old = coalesced(&parent, "{}", NullRules::Helm3).0;
        assert_eq!(old, map(r#"{"n":null,"sub":{"global":{}}}"#));
    }

    #[test]
    fn null_of_the_user_removes_defaults() {
        let parent = chart("p", r#"{"a":{"b":1,"c":2}}"#, vec![]);
        let values = coalesced(&parent, r#"{"a":{"b":null,"x":null}}"#, NullRules::Helm4).0;
        assert_eq!(values, map(r#"{"a":{"c":2,"x":null}}"#));
    }

    #[test]
    fn nested_globals_are_shared_between_parent_and_subchart() {
        let subchart = chart("sub", r#"{"global":{"a":{"b":{"y":2}}}}"#, vec![]);
        let parent = chart("p", r#"{"global":{"a":{"b":{"x":1}}}}"#, vec![subchart]);
        let both = r#"{"a":{"b":{"x":1,"y":2}}}"#;
        let expected = format!(r#"{{"global":{both},"sub":{{"global":{both}}}}}"#);
        assert_eq!(coalesced(&parent, "{}", NullRules::Helm4).0, map(&expected));
    }

    #[test]
    fn what_cannot_be_merged_is_reported() {
        let parent = chart("p", r#"{"t":{"x":1},"s":"text","d":{"e":{"f":1}}}"#, vec![]);
        let (_, log) = coalesced(&parent, r#"{"t":1,"s":{"y":2},"d":{"e":"flat"}}"#, NullRules::Helm4);
        let expected = [
            r#"level=INFO msg="warning: cannot overwrite table with non table for p.d.e (map[f:1])""#,
            r#"level=INFO msg="warning: skipped value for p.s: Not a table.""#,
        ];
        assert_eq!(log, expected);
        let parent = chart("p", "{}", vec![chart("sub", "{}", vec![])]);
        let error = coalesce(&parent, &map(r#"{"sub":5}"#), NullRules::Helm4, &mut Vec::new());
        assert_eq!(error.unwrap_err().to_string(), "type mismatch on sub: %!t(float64=5)");
    }
}
