//! NOTES.txt: rendered like other templates, but printed instead of applied.

use crate::engine::Rendered;

/// The file name of notes, in any chart of the tree.
const SUFFIX: &str = "NOTES.txt";

/// Removes the notes from the rendered files and returns their text: those of the root chart, or with
/// `with_subcharts` those of all charts in rendering order, where Helm's order is random.
pub fn notes(rendered: &mut Rendered, root: &str, with_subcharts: bool) -> Vec<u8> {
    let own = format!("{root}/templates/{SUFFIX}");
    let mut text: Vec<u8> = Vec::new();
    rendered.files.retain(|file| {
        // Only the end is compared, as in Helm: `templates/MY-NOTES.txt` is not applied either.
        if !file.path.ends_with(SUFFIX) {
            return true;
        }
        if with_subcharts || file.path == own {
            if !text.is_empty() {
                text.push(b'\n');
            }
            text.extend_from_slice(&file.text);
        }
        false
    });
    text
}
