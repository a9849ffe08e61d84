//! `completion.yaml`: the subcommands and flags that a plugin declares for shells.

use pintle_tree::Node;

/// A command of a plugin, as `completion.yaml` declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionCommand {
    /// The name.
    pub name: String,
    /// The values of its operands.
    pub valid_args: Vec<String>,
    /// Its flags without dashes; one letter is a shorthand.
    pub flags: Vec<String>,
    /// Its subcommands; `None` if it declares none.
    pub commands: Option<Vec<CompletionCommand>>,
}

/// The most levels of subcommands that are read.
const DEPTH: usize = 16;

/// Reads a `completion.yaml`. Nothing if it is not one.
pub fn read_completion(text: &[u8]) -> Option<CompletionCommand> {
    command(&pintle_yaml::read(text).ok()?, DEPTH)
}

fn command(node: &Node, depth: usize) -> Option<CompletionCommand> {
    if node.is_nil() {
        return Some(CompletionCommand::default());
    }
    node.as_map()?;
    let strings = |name: &str| match node.get(name) {
        None | Some(Node::Nil) => Some(Vec::new()),
        Some(list) => list
            .as_list()?
            .iter()
            .map(|item| item.as_text().map(|text| text.to_str_lossy().into_owned()))
            .collect(),
    };
    let name = match node.get("name") {
        None | Some(Node::Nil) => String::new(),
        Some(name) => name.as_text()?.to_str_lossy().into_owned(),
    };
    let commands = match node.get("commands") {
        None | Some(Node::Nil) => None,
        Some(_) if depth == 0 => return None,
        Some(list) => {
            Some(list.as_list()?.iter().map(|item| command(item, depth - 1)).collect::<Option<Vec<_>>>()?)
        }
    };
    Some(CompletionCommand { name, valid_args: strings("validArgs")?, flags: strings("flags")?, commands })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_flags_and_arguments_are_read_and_wrong_types_are_nothing() {
        let text = b"name: x\nflags: [a, all]\ncommands:\n- name: up\n  validArgs: [one]\n";
        let read = read_completion(text).unwrap();
        assert_eq!(read.flags, ["a", "all"]);
        let commands = read.commands.unwrap();
        assert_eq!(
            (commands[0].name.as_str(), commands[0].valid_args.as_slice()),
            ("up", &["one".to_owned()][..])
        );
        assert_eq!(commands[0].commands, None);
        assert_eq!(read_completion(b"commands: x\n"), None);
        assert_eq!(read_completion(b"- a\n"), None);
    }
}
