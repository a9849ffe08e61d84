//! `cluster`: the cluster in the box.

mod reset;
mod serve;
mod status;

use crate::command::Command;

/// `cluster`
pub(crate) static COMMAND: Command = Command {
    name: "cluster",
    short: "manage the embedded cluster",
    long: "\
The cluster in the box is a Kubernetes API inside this program, on which workloads go through the states that they would
go through on a real one, without anything really running. Every command works on it when asked to:

    {program} install web ./web --cluster embedded:web.db
    {program} status web --cluster embedded:web.db

Without a file it ends with the command. `{program} cluster serve` puts it on a port, for kubectl and other clients.

Annotations of a pod, or of the template of one, steer what becomes of it:

| Annotation                    | Meaning                                                                |
|-------------------------------|------------------------------------------------------------------------|
| pintle.dev/simulate-failures  | how many tries fail, or `always`                                       |
| pintle.dev/simulate-exit-code | what a failing try ends with; 1 if not given                           |
| pintle.dev/simulate-duration  | how long it takes to end or to become ready, as in 30s                 |
| pintle.dev/simulate-ready     | `never` for a pod that runs and does not become ready                  |
| pintle.dev/simulate-image     | `missing` for an image that cannot be pulled                           |
| pintle.dev/simulate-log       | the lines that its containers print; $(NAME) is a variable of theirs   |
| pintle.dev/simulate-log.NAME  | the same for one container, such as one of initContainers              |",
    subcommands: &[&reset::COMMAND, &serve::COMMAND, &status::COMMAND],
    ..Command::BLANK
};
