//! `__sign`: signs a file of a release with a key of cosign, for `cargo xtask dist`, which has no cryptography of its own.

use std::path::Path;

use pintle::ops::read_signature_file;

use super::push::signing;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `__sign`
pub(crate) static COMMAND: Command = Command {
    name: "__sign",
    operands_text: "blob|statement KEY FILE",
    short: "sign a file with a key of cosign, and print the bundle",
    operands: Operands::Exactly(3),
    completion: ArgCompletion::Nothing,
    hidden: true,
    run: Some(run),
    ..Command::BLANK
};

/// The largest file: lists of digests, and statements about them.
const LIMIT: usize = 16 << 20;

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let (kind, key, file) = (
        invocation.operand(0).to_owned(),
        invocation.operand(1).to_owned(),
        invocation.operand(2).to_owned(),
    );
    let key = signing::read_key(invocation, &key)?;
    let content = read_signature_file(Path::new(&file), LIMIT)?;
    let bundle = match kind.as_str() {
        "blob" => key.sign_blob(&content),
        "statement" => {
            let statement = pintle_tree::json::read_exact(&content)
                .map_err(|error| Failure::usage(format!("{file} is no JSON: {error}")))?;
            key.sign_statement(&statement)?
        }
        _ => return Err(Failure::usage("what is signed is a blob or a statement")),
    };
    Ok(invocation.ui.out().write_all(&bundle)?)
}
