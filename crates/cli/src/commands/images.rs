//! `images`: finds the images of charts and points them at another registry.

pub(crate) mod access;
mod config;
mod copy;
mod copy_report;
mod files;
mod generate_overrides;
mod inspect;
mod inventory;
mod list;
mod listing;
mod output;
pub(crate) mod policy;
mod report;
pub(crate) mod rewrite;
pub(crate) mod subject;
mod validate;

use crate::command::Command;

/// `images`
pub(crate) static COMMAND: Command = Command {
    name: "images",
    short: "find the images of charts and point them at another registry",
    long: "\
Find the images that a chart or a release uses, and generate values that point them at another registry:

    {program} images inspect ./web
    {program} images override ./web --target-registry hub.corp --source-registries docker.io,quay.io > hub.yaml
    {program} images validate ./web --values hub.yaml

When called as `irr`, the program has only these commands. Exit codes: 0 success, 1 failure, 2 invalid input or
configuration, 3 the chart does not parse, 4 an image is not supported, 5 refused because of --strict.",
    subcommands: &[
        &config::COMMAND,
        &copy::COMMAND,
        &inspect::COMMAND,
        &list::COMMAND,
        &generate_overrides::COMMAND,
        &rewrite::COMMAND,
        &validate::COMMAND,
    ],
    ..Command::BLANK
};
