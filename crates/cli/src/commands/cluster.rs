//! `cluster`: the embedded cluster.

mod reset;
mod serve;
mod status;

use crate::command::Command;

/// `cluster`
pub(crate) static COMMAND: Command = Command {
    name: "cluster",
    short: "manage the embedded cluster",
    long: "\
The embedded cluster is a Kubernetes API inside this program. Its controllers take workloads through the states that they
would go through on a real cluster, but no container runs. Every command can use it:

    {program} install web ./web --cluster embedded:web.db
    {program} status web --cluster embedded:web.db

Without a file it exists for one command only. `{program} cluster serve` serves it on a port, for kubectl and other
clients.

Annotations of a pod, or of a pod template, control what happens to it:

| Annotation                    | Meaning                                                                |
|-------------------------------|------------------------------------------------------------------------|
| pintle.dev/simulate-failures  | number of attempts that fail, or `always`                              |
| pintle.dev/simulate-exit-code | exit code of a failing attempt, 1 by default                           |
| pintle.dev/simulate-duration  | time until it exits or becomes ready, such as 30s                      |
| pintle.dev/simulate-ready     | `never` for a pod that runs and never becomes ready                    |
| pintle.dev/simulate-image     | `missing` for an image that cannot be pulled                           |
| pintle.dev/simulate-log       | log lines of its containers; $(NAME) is an environment variable        |
| pintle.dev/simulate-log.NAME  | the same for one container, such as an init container                  |",
    subcommands: &[&reset::COMMAND, &serve::COMMAND, &status::COMMAND],
    ..Command::BLANK
};
