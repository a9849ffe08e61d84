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
        Some(list) => list.as_list()?.iter().map(string).collect(),
    };
    let name = node.get("name").map_or(Some(String::new()), string)?;
    let commands = match node.get("commands") {
        None | Some(Node::Nil) => None,
        Some(_) if depth == 0 => return None,
        Some(list) => {
            Some(list.as_list()?.iter().map(|item| command(item, depth - 1)).collect::<Option<Vec<_>>>()?)
        }
    };
    Some(CompletionCommand { name, valid_args: strings("validArgs")?, flags: strings("flags")?, commands })
}

/// A string. Where Helm expects one, it also takes words that YAML reads as booleans or numbers, such as `y`.
fn string(node: &Node) -> Option<String> {
    match node {
        Node::Nil => Some(String::new()),
        Node::Bool(value) => Some(value.to_string()),
        Node::Int(value) => Some(value.to_string()),
        Node::Float(value) => Some(pintle_tree::number::format_general(*value, 21)),
        other => other.as_text().map(|text| text.to_str_lossy().into_owned()),
    }
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
        let scalars = read_completion(b"validArgs: [y, 5, 1.5, null]\n").unwrap();
        assert_eq!(scalars.valid_args, ["true", "5", "1.5", ""]);
        assert_eq!(read_completion(b"- a\n"), None);
    }
}
