//! Finds apps: from what nothing else makes, over what is rendered for it, until nothing new is found.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::Map;

use crate::app::{App, AppId, Content};
use crate::build::{self, Built};
use crate::document::{is_yaml, objects};
use crate::{
    Entry, Note, NoteKind, Place, Snapshot, SourceObject, argo, flux, helm_request, parent, secret, umbrella,
};

/// What a repository does not say about itself.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Addresses of this repository.
    pub repository_urls: Vec<String>,
    /// Branches that stand for the commit that is looked at, beside `HEAD`.
    pub branches: Vec<String>,
    /// Charts of the repository that are rendered with their own values: folders, or beginnings of them.
    pub charts: Vec<String>,
    /// Clusters of Argo CD that are not in the repository: Secrets, as Argo CD keeps them.
    pub clusters: Vec<SourceObject>,
}

/// The most apps of one repository, so that apps that make apps come to an end.
const MAX_APPS: usize = 20_000;
/// The most objects that are kept for all apps.
const MAX_OBJECTS: usize = 1_000_000;

/// An object that is to be understood.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The cluster that it is in.
    pub(crate) cluster: String,
    /// The object.
    pub(crate) object: SourceObject,
}

/// The key of an object in a cluster.
type Key = (String, String, String, String, String);

/// What became of an item.
pub(crate) enum Step {
    /// It is understood.
    Done,
    /// It needs an object that is not there yet; the text names it.
    Waits(String),
}

/// The search for apps in one commit.
pub struct Discovery<'f> {
    pub(crate) files: &'f Snapshot,
    pub(crate) settings: &'f Settings,
    objects: BTreeMap<Key, SourceObject>,
    /// Items that are not understood yet.
    items: Vec<Item>,
    apps: Vec<App>,
    seen: BTreeMap<AppId, Place>,
    built: BTreeMap<(String, Vec<u8>), Result<Built, String>>,
    notes: BTreeSet<Note>,
    /// Files that a build read.
    read: BTreeSet<String>,
    /// Descriptions that were found in files, by file.
    candidates: BTreeMap<String, Vec<SourceObject>>,
    /// Files whose descriptions were understood.
    used: BTreeSet<String>,
}

impl<'f> Discovery<'f> {
    /// Begins the search at what nothing else makes.
    pub fn new(files: &'f Snapshot, settings: &'f Settings) -> Self {
        let mut discovery = Discovery {
            files,
            settings,
            objects: BTreeMap::new(),
            items: Vec::new(),
            apps: Vec::new(),
            seen: BTreeMap::new(),
            built: BTreeMap::new(),
            notes: BTreeSet::new(),
            read: BTreeSet::new(),
            candidates: BTreeMap::new(),
            used: BTreeSet::new(),
        };
        discovery.scan();
        discovery.add_roots();
        umbrella::add(&mut discovery);
        discovery
    }

    /// Reads the files that may describe apps.
    fn scan(&mut self) {
        let files = self.files;
        for (path, entry) in files.entries() {
            let Entry::File(text) = entry else {
                if let Entry::TooLarge(size) = entry
                    && is_yaml(path)
                {
                    let text = format!("the file has {size} bytes and is not read");
                    self.note(NoteKind::LeftOut, Some(Place { file: path.to_owned(), line: 1 }), text);
                }
                continue;
            };
            let has = |word: &str| contains(text, word);
            if !is_yaml(path) || !MARKS.iter().any(|mark| has(mark)) || self.is_template(path) {
                continue;
            }
            match objects(files, path) {
                Ok(found) => {
                    let found: Vec<SourceObject> = found.into_iter().filter(describes_app).collect();
                    if !found.is_empty() {
                        self.candidates.insert(path.to_owned(), found);
                    }
                }
                // Templates of other kinds are common, and are no manifests.
                Err(error) if !contains(text, "{{") => self.note(NoteKind::LeftOut, None, error),
                Err(_) => {}
            }
        }
    }

    /// Whether a file is a template of a chart.
    fn is_template(&self, path: &str) -> bool {
        path.match_indices("/templates/")
            .any(|(at, _)| self.files.is_file(&format!("{}/Chart.yaml", &path[..at])))
            || path.split('/').any(|part| part == ".git")
    }

    /// Takes what nothing else makes.
    fn add_roots(&mut self) {
        let mut roots = flux::roots(self);
        let makes_flux = !roots.is_empty();
        roots.extend(self.loose_roots(makes_flux));
        for (cluster, object) in roots {
            self.items.push(Item { cluster, object });
        }
    }

    /// Descriptions in files that no kustomization reads.
    fn loose_roots(&mut self, has_flux: bool) -> Vec<(String, SourceObject)> {
        let mut roots = Vec::new();
        for (file, found) in &self.candidates {
            if self.read.contains(file) {
                continue;
            }
            for object in found {
                // Sources and releases of Flux belong to a Kustomization, if there is one at all.
                let is_flux = object.group().ends_with("toolkit.fluxcd.io");
                if flux::is_kustomization(object) || flux::is_instance(object) || (is_flux && has_flux) {
                    continue;
                }
                roots.push((flux::cluster_of(parent(file)), object.clone()));
            }
        }
        for (_, object) in &roots {
            self.used.insert(object.start().file);
        }
        roots
    }

    /// The descriptions in files.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &SourceObject> {
        self.candidates.values().flatten()
    }

    /// The apps that were found since the last call. Their objects are to be given to [`Discovery::add_rendered`].
    pub fn take(&mut self) -> Vec<App> {
        self.advance();
        std::mem::take(&mut self.apps)
    }

    /// Understands what can be understood.
    fn advance(&mut self) {
        let mut forces = false;
        loop {
            let before = self.items.len() + self.seen.len();
            let mut waiting = Vec::new();
            // Items that are added meanwhile come in the next round.
            for item in std::mem::take(&mut self.items) {
                if let Step::Waits(_) = self.understand(&item, false) {
                    waiting.push(item);
                }
            }
            let is_stuck = self.items.is_empty() && waiting.len() + self.seen.len() >= before;
            waiting.append(&mut self.items);
            self.items = waiting;
            if self.items.is_empty() {
                return;
            }
            if is_stuck {
                let makes_more = self.items.iter().any(|item| flux::is_kustomization(&item.object));
                // What was found is rendered first: it may make what others wait for.
                let is_giving_up = forces && makes_more;
                if !is_giving_up && !self.apps.is_empty() {
                    return;
                }
                forces = true;
                self.force();
            }
        }
    }

    /// Gives up on objects that items wait for. Kustomizations come first and one at a time, because others may need what they
    /// make.
    fn force(&mut self) {
        let position = self.items.iter().position(|item| flux::is_kustomization(&item.object));
        let forced = match position {
            Some(position) => vec![self.items.remove(position)],
            None => std::mem::take(&mut self.items),
        };
        for item in forced {
            if let Step::Waits(reason) = self.understand(&item, true) {
                let text =
                    format!("{} {} is not understood: {reason}", item.object.kind(), item.object.name());
                self.note(NoteKind::Failed, Some(item.object.start()), text);
            }
        }
    }

    fn understand(&mut self, item: &Item, force: bool) -> Step {
        let file = item.object.start().file;
        self.used.insert(file);
        match (item.object.group(), item.object.kind()) {
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => flux::kustomization(self, item, force),
            ("helm.toolkit.fluxcd.io", "HelmRelease") => flux::helm_release(self, item, force),
            ("fluxcd.controlplane.io", kind) => flux::operator(self, item, kind),
            ("argoproj.io", "Application") => argo::application(self, item),
            ("argoproj.io", "ApplicationSet") => argo::application_set(self, item),
            ("helm.sh", "HelmRequest") => helm_request::request(self, item, force),
            _ => {
                self.keep(item.cluster.clone(), item.object.clone());
                Step::Done
            }
        }
    }

    /// Takes the objects that were rendered for an app, and searches them.
    pub fn add_rendered(&mut self, app: &AppId, objects: Vec<SourceObject>) {
        for object in objects {
            self.add_object(&app.cluster, object);
        }
    }

    /// Keeps an object of a cluster, and understands it if it describes an app.
    pub(crate) fn add_object(&mut self, cluster: &str, object: SourceObject) {
        if self.objects.len() > MAX_OBJECTS {
            return self.note(NoteKind::Failed, None, format!("there are more than {MAX_OBJECTS} objects"));
        }
        if let Some(made) = secret::produced(&object) {
            self.keep(cluster.to_owned(), made);
        }
        match describes_app(&object) {
            true => self.items.push(Item { cluster: cluster.to_owned(), object }),
            false if is_looked_up(&object) => self.keep(cluster.to_owned(), object),
            false => {}
        }
    }

    fn keep(&mut self, cluster: String, object: SourceObject) {
        let key = (
            cluster,
            object.group().to_owned(),
            object.kind().to_owned(),
            object.namespace().to_owned(),
            object.name().to_owned(),
        );
        self.objects.insert(key, object);
    }

    /// An object of a cluster.
    pub(crate) fn object(
        &self,
        cluster: &str,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<&SourceObject> {
        let key =
            (cluster.to_owned(), group.to_owned(), kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.objects.get(&key)
    }

    /// The objects of a kind in a cluster.
    pub(crate) fn objects_in<'s>(
        &'s self,
        cluster: &'s str,
        group: &'static str,
        kind: &'static str,
    ) -> impl Iterator<Item = &'s SourceObject> {
        let is_it = move |key: &Key| key.0 == cluster && key.1 == group && key.2 == kind;
        self.objects.iter().filter(move |(key, _)| is_it(key)).map(|(_, object)| object)
    }

    /// The objects of a kind in all clusters.
    pub(crate) fn objects_of(
        &self,
        group: &'static str,
        kind: &'static str,
    ) -> impl Iterator<Item = &SourceObject> {
        self.objects.iter().filter(move |(key, _)| key.1 == group && key.2 == kind).map(|(_, object)| object)
    }

    /// Adds an app, unless there is one of this name.
    pub(crate) fn add_app(&mut self, app: App) -> bool {
        if let Some(other) = self.seen.get(&app.id) {
            if other.file != app.place.file {
                let text = format!("{} is also described at {other}, which is shown", app.id);
                self.note(NoteKind::LeftOut, Some(app.place), text);
            }
            return false;
        }
        if self.seen.len() >= MAX_APPS {
            self.note(NoteKind::Failed, Some(app.place), format!("there are more than {MAX_APPS} apps"));
            return false;
        }
        self.seen.insert(app.id.clone(), app.place.clone());
        self.apps.push(app);
        true
    }

    /// Adds an app that cannot be rendered.
    pub(crate) fn add_failed(&mut self, item: &Item, reason: impl Into<String>) {
        let app = app_of(item, Content::Unknown(reason.into()));
        self.add_app(app);
    }

    /// Builds a path of the repository.
    pub(crate) fn build(&mut self, folder: &str, overlay: &Map<pintle_tree::Node>) -> Result<Built, String> {
        let key = (folder.to_owned(), pintle_yaml::write(overlay).unwrap_or_default());
        let files = self.files;
        let built = self.built.entry(key).or_insert_with(|| build::build(files, folder, overlay)).clone();
        if let Ok(built) = &built {
            self.read.extend(built.read.iter().cloned());
            self.notes.extend(built.notes.iter().cloned());
        }
        built
    }

    /// The file with this content among those that builds read.
    pub(crate) fn file_with(&self, content: &[u8]) -> Option<String> {
        let is_it =
            |path: &&String| self.files.read(path).ok().flatten().is_some_and(|text| *text == *content);
        self.read.iter().find(is_it).cloned()
    }

    /// Notes something.
    pub(crate) fn note(&mut self, kind: NoteKind, place: Option<Place>, text: impl Into<String>) {
        self.notes.insert(Note::new(kind, place, text));
    }

    /// Whether an address is that of this repository.
    pub(crate) fn is_own(&self, url: &str) -> bool {
        let url = normalized(url);
        self.settings.repository_urls.iter().any(|own| normalized(own) == url)
    }

    /// What was not understood, and what is left out.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes: Vec<Note> = self.notes.iter().cloned().collect();
        for item in &self.items {
            let text = format!("{} {} was not reached", item.object.kind(), item.object.name());
            notes.push(Note::new(NoteKind::Failed, Some(item.object.start()), text));
        }
        for (file, found) in &self.candidates {
            // A file that a build reads is part of an app, if one was made from it at all.
            if self.used.contains(file) || found.iter().all(|object| !makes_app(object)) {
                continue;
            }
            let names: Vec<String> =
                found.iter().map(|object| format!("{} {}", object.kind(), object.name())).collect();
            let text = format!("nothing deploys {}", names.join(", "));
            notes.push(Note::new(NoteKind::LeftOut, found.first().map(SourceObject::start), text));
        }
        notes
    }
}

/// An app without dependencies.
pub(crate) fn app_of(item: &Item, content: Content) -> App {
    let object = &item.object;
    App {
        id: AppId {
            cluster: item.cluster.clone(),
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
        },
        place: object.start(),
        content,
        is_suspended: object.at(&["spec", "suspend"]).and_then(pintle_tree::Node::as_bool) == Some(true),
        depends_on: Vec::new(),
        wave: 0,
    }
}

/// Words that a file with descriptions of apps has.
const MARKS: [&str; 5] =
    ["toolkit.fluxcd.io/", "extensions.fluxcd.io/", "fluxcd.controlplane.io/", "argoproj.io/", "helm.sh/v3"];

fn contains(text: &[u8], word: &str) -> bool {
    memchr::memmem::find(text, word.as_bytes()).is_some()
}

/// Whether an object describes an app or is a part of a description.
fn describes_app(object: &SourceObject) -> bool {
    makes_app(object) || matches!(object.group(), "source.toolkit.fluxcd.io" | "source.extensions.fluxcd.io")
}

fn makes_app(object: &SourceObject) -> bool {
    matches!(
        (object.group(), object.kind()),
        ("kustomize.toolkit.fluxcd.io", "Kustomization")
            | ("helm.toolkit.fluxcd.io", "HelmRelease")
            | ("fluxcd.controlplane.io", "FluxInstance" | "ResourceSet")
            | ("argoproj.io", "Application" | "ApplicationSet")
            | ("helm.sh", "HelmRequest")
    )
}

/// Whether descriptions may refer to an object.
fn is_looked_up(object: &SourceObject) -> bool {
    matches!(object.kind(), "ConfigMap" | "Secret")
}

/// An address without what does not matter for comparing it.
pub(crate) fn normalized(url: &str) -> String {
    let url = url.trim().trim_end_matches('/').trim_end_matches(".git");
    let url = match url.split_once("://") {
        Some((_, rest)) => rest,
        // `git@host:owner/name`
        None => url,
    };
    let url = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
    url.replacen(':', "/", 1).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_repository_are_the_same_however_they_are_written() {
        for url in [
            "https://git.example.com/a/b",
            "https://user@git.example.com/a/b.git",
            "git@git.example.com:a/b.git",
            "ssh://git@git.example.com/a/b",
        ] {
            assert_eq!(normalized(url), "git.example.com/a/b", "{url}");
        }
    }
}
