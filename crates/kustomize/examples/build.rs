//! Builds kustomizations of a checkout, for comparing them with those of the real program.
//!
//! `build ROOT FOLDER` prints what `kustomize build ROOT/FOLDER` prints. `build ROOT /OUT` reads folders from standard
//! input, writes the output of the first to `/OUT/0.yaml` or its error to `/OUT/0.err`, and so on. With a further argument,
//! `unrestricted`, files may be anywhere in the root.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_kustomize::{Entry, Files, LoadRestrictions, Options};

/// The files below a folder. Links are followed as long as they stay inside.
struct Disk(PathBuf);

impl Disk {
    fn inside(&self, path: &str) -> Result<Option<PathBuf>, String> {
        match self.0.join(path).canonicalize() {
            Ok(real) if real.starts_with(&self.0) => Ok(Some(real)),
            Ok(_) => Err(format!("{path} is a link out of the repository")),
            Err(_) => Ok(None),
        }
    }
}

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        match self.inside(path)?.filter(|path| path.is_file()) {
            Some(path) => {
                std::fs::read(path).map(|text| Some(text.into())).map_err(|error| error.to_string())
            }
            None => Ok(None),
        }
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>, String> {
        let Some(path) = self.inside(folder)?.filter(|path| path.is_dir()) else { return Ok(None) };
        let entries = std::fs::read_dir(path).map_err(|error| error.to_string())?.flatten().map(|entry| {
            Entry { name: entry.file_name().to_string_lossy().into_owned(), is_folder: entry.path().is_dir() }
        });
        Ok(Some(entries.collect()))
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let disk = Disk(Path::new(&arguments[0]).canonicalize().expect("the root exists"));
    let unrestricted = arguments.iter().any(|word| word == "unrestricted");
    let load_restrictions = if unrestricted { LoadRestrictions::None } else { LoadRestrictions::RootOnly };
    let options = Options { load_restrictions, ..Options::default() };
    let built = |folder: &str| {
        let build = pintle_kustomize::build(&disk, folder, &options);
        build.and_then(|build| build.to_yaml()).map_err(|error| error.to_string())
    };
    if !Path::new(&arguments[1]).is_absolute() {
        let text = built(&arguments[1])?;
        return std::io::stdout().write_all(&text).map_err(|error| error.to_string());
    }
    for (number, folder) in std::io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        let out = Path::new(&arguments[1]);
        match built(&folder) {
            Ok(text) => std::fs::write(out.join(format!("{number}.yaml")), text),
            Err(error) => std::fs::write(out.join(format!("{number}.err")), error),
        }
        .expect("the folder for the output can be written");
    }
    Ok(())
}
