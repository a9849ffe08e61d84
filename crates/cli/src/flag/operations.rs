//! The flags of whole operations, which an operation and the plan of it have in common.

use super::Flag;
use super::deploy::{APPLY, CRD_POLICY, HOOKS, INSTALL, NOTES, ROLLBACK, UNINSTALL, UPGRADE};
use super::groups::{CHART, COSIGN, DEVEL, POST_RENDER, RECORDS, REMOTE, SCHEMA, UNREAD, VALUES};
use crate::commands::images::rewrite::REWRITE;
use crate::scripts::SCRIPTS;

type Group = &'static [Flag];

/// How a chart is found, rendered and applied.
static FROM_CHART: [Group; 15] = [
    NOTES,
    DEVEL,
    SCHEMA,
    UNREAD,
    VALUES,
    CHART,
    COSIGN,
    REMOTE,
    POST_RENDER,
    REWRITE,
    HOOKS,
    APPLY,
    CRD_POLICY,
    SCRIPTS,
    RECORDS,
];

/// An install.
pub(crate) static INSTALL_GROUPS: [Group; 16] = join(&[&[INSTALL], &FROM_CHART]);

/// An upgrade.
pub(crate) static UPGRADE_GROUPS: [Group; 16] = join(&[&[UPGRADE], &FROM_CHART]);

/// A rollback.
pub(crate) static ROLLBACK_GROUPS: [Group; 5] = [ROLLBACK, HOOKS, APPLY, SCRIPTS, RECORDS];

/// An uninstall.
pub(crate) static UNINSTALL_GROUPS: [Group; 4] = [UNINSTALL, HOOKS, SCRIPTS, RECORDS];

/// Joins lists of groups. `N` must be the number of all groups, which the compiler checks.
pub(crate) const fn join<const N: usize>(lists: &[&[Group]]) -> [Group; N] {
    let mut joined: [Group; N] = [&[]; N];
    let (mut count, mut list) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            joined[count] = lists[list][index];
            count += 1;
            index += 1;
        }
        list += 1;
    }
    assert!(count == N, "the number of groups");
    joined
}
