//! What an operation reports while it runs: one stream of owned values, which a program shows, forwards or stores.

#[cfg(feature = "cluster")]
use pintle_cluster::{logs::LogSource, wait::PodProgress};
#[cfg(feature = "cluster")]
use pintle_objects::{HookEvent, ObjectId};
use pintle_tree::LogLine;

/// Something that happened in an operation, in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// The operation enters a stage.
    #[cfg(feature = "cluster")]
    Stage(Stage),
    /// The chart of a release is rendered; nothing is written yet, but for CRDs.
    #[cfg(feature = "cluster")]
    Rendered {
        /// The size of all files that it was rendered to.
        bytes: usize,
    },
    /// A step that is done, as a sentence for users.
    Step(String),
    /// A warning, or a message of Helm.
    Message(Message),
    /// A decision of the operation, with the text and attributes of Helm's debug log: which values are kept, how objects
    /// are applied, what is left alone. Helm's lines about its internals (storage keys, caches, requests) have no equivalent.
    Decision(LogLine),
    /// Something happened to a repository, or to a chart of one.
    #[cfg(feature = "registry")]
    Remote(RemoteEvent),
    /// Handlers of a lifecycle event that may change objects are about to be called.
    #[cfg(feature = "cluster")]
    Event(pintle_events::Event),
    /// The API server has answered for an object.
    #[cfg(feature = "cluster")]
    Applied(AppliedObject),
    /// An object could not be applied or deleted.
    #[cfg(feature = "cluster")]
    Failed {
        /// The object.
        id: ObjectId,
        /// The error.
        reason: String,
    },
    /// An object that is waited for, or one of its pods, has changed its state: a row of a table of what is not ready.
    #[cfg(feature = "cluster")]
    Readiness(ObjectProgress),
    /// A chunk of the log of a hook's container. Chunks are not aligned to lines.
    #[cfg(feature = "cluster")]
    HookLog {
        /// The container.
        source: LogSource,
        /// The chunk.
        bytes: Vec<u8>,
    },
}

/// A stage of an operation on a cluster.
#[cfg(feature = "cluster")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The chart and the user's values are loaded.
    Loading,
    /// The chart is rendered.
    Rendering,
    /// The hooks of an event run.
    Hooks(HookEvent),
    /// Objects are created, changed and deleted.
    Applying,
    /// The operation waits until objects are ready, or gone.
    Waiting,
}

/// A warning or message, and who needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The level, text and attributes.
    pub line: LogLine,
    /// Which programs show it.
    pub kind: MessageKind,
}

/// Which programs show a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// Helm has it, too.
    Helm,
    /// Helm does not have it. A program that must produce Helm's exact output drops it.
    Additional,
    /// About an object that the result of the operation lists as well. A program that prints the result can drop it.
    Listed,
    /// The line that Helm logs right before it returns the error. A program that prints the error can drop it.
    Failure,
}

/// What the API server did with an object.
#[cfg(feature = "cluster")]
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedObject {
    /// The object.
    pub id: ObjectId,
    /// What became of it.
    pub change: ObjectChange,
    /// Who merged the change.
    pub method: ApplyMethod,
    /// Whether everything else of the operation is new, too, or the object belongs to a hook.
    pub among_new: bool,
}

/// What became of an object.
#[cfg(feature = "cluster")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectChange {
    /// It was created.
    Created,
    /// It was changed. Server-side apply does not tell whether anything differed.
    Changed,
    /// It was left as it is.
    Unchanged,
    /// It was deleted, or did not exist any more.
    Deleted,
}

/// Who merged a change into a live object.
#[cfg(feature = "cluster")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyMethod {
    /// The server.
    ServerSide,
    /// The client, with a patch.
    ClientSide,
    /// Nobody: the object was replaced.
    Replace,
}

/// The readiness of an object that is waited for.
#[cfg(feature = "cluster")]
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectProgress {
    /// The object.
    pub id: ObjectId,
    /// The state in one word, such as `InProgress` or `Current`.
    pub state: &'static str,
    /// Why the object is not ready yet, or what happened to it; a sentence for users.
    pub message: String,
    /// Its pods that are not ready.
    pub pods: Vec<PodProgress>,
    /// Whether the wait for this object is over.
    pub ready: bool,
}

/// What happened to a repository, or to a chart of one.
#[cfg(feature = "registry")]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RemoteEvent {
    /// A repository was removed.
    RepositoryRemoved {
        /// Its name.
        name: String,
    },
    /// The indexes of repositories are about to be fetched.
    UpdatingRepositories,
    /// The index of a repository was updated.
    RepositoryUpdated {
        /// Its name.
        name: String,
    },
    /// The index of a repository could not be updated.
    RepositoryNotUpdated {
        /// Its name.
        name: String,
        /// Its URL.
        url: String,
        /// Why not.
        error: pintle_repo::Error,
    },
    /// The signature of a chart in a registry is valid.
    SignedByCosign(crate::ops::CosignVerified),
    /// A dependency was added to Chart.yaml.
    DependencyAdded(pintle_chart::metadata::Dependency),
    /// The newest version of a dependency was looked up.
    DependencyUpgraded {
        /// Its name.
        name: String,
        /// Its range so far.
        from: String,
        /// Its range from now on, which may be the same.
        to: String,
        /// The newest version.
        newest: String,
    },
    /// A chart is about to be uploaded.
    Uploading {
        /// The name of the archive.
        file_name: String,
        /// The name or URL of the repository.
        to: String,
    },
    /// Charts were fetched from registries.
    Pulled {
        /// What Helm prints about them.
        text: String,
    },
}
