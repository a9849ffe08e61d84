//! What one build shares: files, limits, and what was read.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::Error;
use crate::files::{Files, is_within, join};
use crate::object::Place;
use crate::options::{LoadRestrictions, Options, RemoteBase};
use crate::resource::Resource;
use crate::schema::Types;

/// The files that a kustomization and its bases are in.
pub(crate) enum Repository<'f> {
    Given(&'f dyn Files),
    Remote(RemoteBase, String),
}

impl Repository<'_> {
    fn files(&self) -> &dyn Files {
        match self {
            Repository::Given(files) => *files,
            Repository::Remote(base, _) => &*base.files,
        }
    }

    /// A path as errors and origins name it.
    fn shown(&self, path: &str) -> Arc<str> {
        match self {
            Repository::Given(_) => path.into(),
            Repository::Remote(_, address) => format!("{address}//{path}").into(),
        }
    }
}

/// The folder of a kustomization, with those of the kustomizations that include it.
#[derive(Clone)]
pub(crate) struct Location<'f> {
    pub(crate) repository: Rc<Repository<'f>>,
    pub(crate) folder: String,
    /// The folders on the way here, this one last.
    visited: Vec<(Rc<Repository<'f>>, String)>,
}

/// A file with its content.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) file: Arc<str>,
    pub(crate) text: Arc<[u8]>,
}

impl<'f> Location<'f> {
    pub(crate) fn root(files: &'f dyn Files, folder: String) -> Self {
        let repository = Rc::new(Repository::Given(files));
        Location { visited: vec![(repository.clone(), folder.clone())], repository, folder }
    }

    pub(crate) fn depth(&self) -> usize {
        self.visited.len()
    }

    /// The location of a folder that this one includes.
    pub(crate) fn enter(&self, repository: Rc<Repository<'f>>, folder: String) -> Result<Self, String> {
        let contains = |(visited, inside): &&(Rc<Repository<'f>>, String)| {
            Rc::ptr_eq(visited, &repository) && is_within(inside, &folder)
        };
        if let Some((_, inside)) = self.visited.iter().rev().find(contains) {
            let shown = |folder: &str| if folder.is_empty() { ".".to_owned() } else { folder.to_owned() };
            let (folder, inside) = (shown(&folder), shown(inside));
            return Err(format!(
                "cycle detected: candidate root '{folder}' contains visited root '{inside}'"
            ));
        }
        let mut visited = self.visited.clone();
        visited.push((repository.clone(), folder.clone()));
        Ok(Location { repository, folder, visited })
    }

    pub(crate) fn shown(&self, path: &str) -> Arc<str> {
        self.repository.shown(path)
    }
}

/// The state of a build.
pub(crate) struct Context<'o> {
    pub(crate) options: &'o Options<'o>,
    pub(crate) types: RefCell<Rc<TypesOrBuiltin>>,
    files: RefCell<BTreeSet<String>>,
    warnings: RefCell<Vec<String>>,
    kustomizations: Cell<usize>,
    size: Cell<usize>,
    work: Cell<u64>,
}

/// The types whose lists merge.
pub(crate) enum TypesOrBuiltin {
    Builtin,
    Own(Types),
}

impl TypesOrBuiltin {
    pub(crate) fn get(&self) -> &Types {
        match self {
            TypesOrBuiltin::Builtin => Types::builtin(),
            TypesOrBuiltin::Own(types) => types,
        }
    }
}

impl<'o> Context<'o> {
    pub(crate) fn new(options: &'o Options<'o>) -> Self {
        Context {
            options,
            types: RefCell::new(Rc::new(TypesOrBuiltin::Builtin)),
            files: RefCell::default(),
            warnings: RefCell::default(),
            kustomizations: Cell::new(0),
            size: Cell::new(0),
            work: Cell::new(options.limits.work),
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<String>, Vec<String>) {
        (self.files.into_inner().into_iter().collect(), self.warnings.into_inner())
    }

    pub(crate) fn warn(&self, warnings: &[String]) {
        let mut known = self.warnings.borrow_mut();
        for warning in warnings {
            if !known.contains(warning) {
                known.push(warning.clone());
            }
        }
    }

    /// Counts a kustomization at a depth.
    pub(crate) fn enter(&self, depth: usize) -> Result<(), Error> {
        let limits = &self.options.limits;
        self.kustomizations.set(self.kustomizations.get() + 1);
        if depth > limits.depth {
            return Err(Error::new(format!("kustomizations are nested deeper than {} levels", limits.depth)));
        }
        if self.kustomizations.get() > limits.kustomizations {
            return Err(Error::new(format!("there are more than {} kustomizations", limits.kustomizations)));
        }
        Ok(())
    }

    /// Checks the number of objects.
    pub(crate) fn check_count(&self, resources: &[Resource]) -> Result<(), Error> {
        let most = self.options.limits.objects;
        if resources.len() > most {
            return Err(Error::new(format!("there are more than {most} objects")));
        }
        Ok(())
    }

    /// Checks the size of an object that has changed.
    pub(crate) fn check_size(&self, resource: &Resource) -> Result<(), Error> {
        let (size, most) = (resource.value.size(), self.options.limits.object_size);
        self.charge(size / 1024)?;
        if size > most {
            return Err(Error::new(format!(
                "{} gets larger than {most} bytes",
                crate::id::short(&resource.id())
            )));
        }
        Ok(())
    }

    /// Counts work.
    pub(crate) fn charge(&self, steps: usize) -> Result<(), Error> {
        match self.work.get().checked_sub(steps as u64) {
            Some(left) => {
                self.work.set(left);
                Ok(())
            }
            None => Err(Error::new("the kustomization takes too much work")),
        }
    }

    /// The work that is left.
    pub(crate) fn work_left(&self) -> u64 {
        self.work.get()
    }

    pub(crate) fn set_work_left(&self, left: u64) {
        self.work.set(left.min(self.work.get()));
    }

    /// Reads a file of the repository, if there is one.
    pub(crate) fn read_at(&self, location: &Location<'_>, path: &str) -> Result<Option<Loaded>, Error> {
        let file = location.shown(path);
        self.files.borrow_mut().insert(file.to_string());
        let read = location.repository.files().read(path);
        let Some(text) = read.map_err(|error| Error::new(error).at(&file, None))? else { return Ok(None) };
        let limits = &self.options.limits;
        if text.len() > limits.file_size {
            return Err(
                Error::new(format!("the file is larger than {} bytes", limits.file_size)).at(&file, None)
            );
        }
        self.size.set(self.size.get().saturating_add(text.len()));
        if self.size.get() > limits.total_size {
            let message = format!("the files are larger than {} bytes together", limits.total_size);
            return Err(Error::new(message).at(&file, None));
        }
        Ok(Some(Loaded { file, text }))
    }

    /// Whether a path is a folder.
    pub(crate) fn is_folder(&self, location: &Location<'_>, path: &str) -> Result<bool, Error> {
        let list = location.repository.files().list(path);
        Ok(list.map_err(|error| Error::new(error).at(&location.shown(path), None))?.is_some())
    }

    /// Reads a file that a kustomization names, if it may name it.
    pub(crate) fn find(&self, location: &Location<'_>, path: &str) -> Result<Option<Loaded>, Error> {
        let target = join(&location.folder, path).ok_or_else(|| leaves(path))?;
        let remote = matches!(&*location.repository, Repository::Remote(..));
        let restricted = remote || self.options.load_restrictions == LoadRestrictions::RootOnly;
        let found = self.read_at(location, &target)?;
        if found.is_some() && restricted && !is_within(&target, &location.folder) {
            let folder = if location.folder.is_empty() { "." } else { &location.folder };
            return Err(Error::new(format!("security; file '{target}' is not in or below '{folder}'")));
        }
        Ok(found)
    }

    /// Reads a file that a kustomization names.
    pub(crate) fn load(&self, location: &Location<'_>, path: &str, place: &Place) -> Result<Loaded, Error> {
        if is_remote(path) {
            return Err(refused_address(path).at(&place.file, Some(place.line)));
        }
        let found = self.find(location, path).map_err(|error| error.at(&place.file, Some(place.line)))?;
        found.ok_or_else(|| Error::new(format!("there is no file {path}")).at(&place.file, Some(place.line)))
    }
}

/// The error about a path out of the repository.
pub(crate) fn leaves(path: &str) -> Error {
    Error::new(format!("{path:?} leads out of the repository"))
}

pub(crate) fn refused_address(path: &str) -> Error {
    Error::refused("remote base", format!("the remote base {path} is not at hand, and is not fetched"))
}

/// Whether a resource is an address and not a path.
pub(crate) fn is_remote(path: &str) -> bool {
    let hosts =
        ["github.com/", "github.com:", "gitlab.com/", "bitbucket.org/", "gh:", "git@", "git::", "file://"];
    path.contains("://")
        || path.contains("?ref=")
        || path.contains(".git//")
        || hosts.iter().any(|host| path.starts_with(host))
}
