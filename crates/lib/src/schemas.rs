//! Schemas that the schemas of charts refer to with `$ref`.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use crate::input::go_error_text;

type Fetch = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// Loads the schemas that `values.schema.json` refers to by URL. The default loads nothing: what a chart names is fetched
/// only if the program wants that.
#[derive(Clone, Default)]
pub struct SchemaLoader {
    fetch: Option<Arc<Fetch>>,
    hides_files: bool,
}

impl SchemaLoader {
    /// Loads nothing, and does not say which files exist: for programs whose errors are read by authors of charts on other
    /// machines.
    pub fn isolated() -> SchemaLoader {
        SchemaLoader { hides_files: true, ..SchemaLoader::default() }
    }

    /// Calls `fetch` for `http:` and `https:` URLs; it returns the text of the schema, or the reason why there is none.
    pub fn new(fetch: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + 'static) -> SchemaLoader {
        SchemaLoader { fetch: Some(Arc::new(fetch)), ..SchemaLoader::default() }
    }

    /// Loads the schema at a URL. Files are refused: a chart could name any file of the user, and learn its content by
    /// which schemas accept it. The error for missing files is Helm's.
    pub(crate) fn load(&self, location: &str) -> Result<Vec<u8>, String> {
        if location.starts_with("http://") || location.starts_with("https://") {
            return match &self.fetch {
                Some(fetch) => fetch(location),
                None => {
                    Err("schemas are not fetched over the network; put the schema into the chart".to_owned())
                }
            };
        }
        // Not even asked for when it does not matter: that takes time, which tells something as well.
        let found = match self.hides_files {
            true => Err(io::ErrorKind::NotFound.into()),
            false => fs::symlink_metadata(location),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.hides_files => {
                Err(go_error_text(Path::new(location), &error))
            }
            _ => {
                Err("schemas do not read files outside the chart; put the definitions into the schema"
                    .to_owned())
            }
        }
    }
}

impl fmt::Debug for SchemaLoader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SchemaLoader").field("fetches", &self.fetch.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_are_fetched_and_only_if_the_program_can() {
        let url = "https://example.invalid/schema.json";
        let refused = SchemaLoader::default().load(url).unwrap_err();
        assert!(refused.contains("not fetched over the network"), "{refused}");
        let loader = SchemaLoader::new(|url| Ok(url.as_bytes().to_vec()));
        assert_eq!(loader.load(url).unwrap(), url.as_bytes());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(loader.load(file).unwrap_err().contains("outside the chart"));
        assert_eq!(loader.load("/no/such").unwrap_err(), "open /no/such: no such file or directory");
        let isolated = SchemaLoader::isolated();
        assert_eq!(isolated.load("/no/such"), isolated.load(file));
        assert!(isolated.load(url).unwrap_err().contains("not fetched over the network"));
    }
}
