//! Where the lines of rendered files come from.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use pintle_render::Rendered;
use pintle_render::trace::Origin;

/// The origins of the lines of files. Those of a file are valid only while its text is unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// By path: the hash of the text, and the origin of each line.
    files: BTreeMap<String, (u64, Vec<Option<Origin>>)>,
}

impl Origins {
    /// Takes what a render has recorded.
    pub(crate) fn take(rendered: &mut Rendered) -> Self {
        let origins = std::mem::take(&mut rendered.origins);
        let files = rendered.files.iter().zip(origins);
        let files = files.map(|(file, lines)| (file.path.clone(), (hash(&file.text), lines)));
        Origins { files: files.collect() }
    }

    /// The origins of the lines of a file; none of them is known if a handler has changed it.
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only `check` needs it"))]
    pub(crate) fn of(&mut self, path: &str, text: &[u8]) -> Vec<Option<Origin>> {
        match self.files.remove(path) {
            Some((before, lines)) if before == hash(text) => lines,
            _ => vec![None; text.split(|byte| *byte == b'\n').count()],
        }
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
