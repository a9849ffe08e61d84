//! Plans in files. What a plan contains is encrypted, because manifests and values have secrets in them; only the names
//! of objects and what happens to them can be read without the key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_objects::{Object, ObjectId};
use pintle_release::{ReleaseVersion, Timestamp, helm};
use pintle_tree::{Map, Node, json};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};

use super::{PlanRequest, Planned, ReleasePlan};
use crate::deploy::ForeseenHandlers;
use crate::{Error, Result, Session};

mod data;
mod requests;

use data::{list, map, text};

/// The version of the format.
const API_VERSION: &str = "pintle.dev/v1";
const KIND: &str = "Plan";
const CIPHER: &str = "AES-256-GCM";

/// A plan with everything that applying it needs, even if the chart and the values have changed since.
#[derive(Clone, Debug)]
pub struct SavedPlan {
    /// What would happen.
    pub plan: ReleasePlan,
    /// When it was made.
    pub created: Timestamp,
    /// Until when it may be applied.
    pub expires: Timestamp,
    /// The cluster that it was made for: the uid of the namespace `kube-system`.
    pub cluster: String,
    pub(super) request: PlanRequest,
    /// The version to deploy; rollbacks and uninstalls use the records.
    pub(super) version: Option<ReleaseVersion>,
    pub(super) crds: Vec<Object>,
    /// What handlers did for the plan or left for later.
    pub(super) handlers: ForeseenHandlers,
}

/// The key of plan files.
#[derive(Clone)]
pub struct PlanKey([u8; 32]);

impl PlanKey {
    /// Derives a key from a secret, such as the content of a key file. It must not be guessable: at least 16 bytes.
    ///
    /// # Errors
    /// A secret that is too short.
    pub fn from_secret(secret: &[u8]) -> Result<Self> {
        if secret.len() < 16 {
            return Err(Error::Input("the key of a plan must have at least 16 bytes".to_owned()));
        }
        Ok(PlanKey(Sha256::digest(secret).into()))
    }

    fn cipher(&self) -> Result<LessSafeKey> {
        let key = UnboundKey::new(&AES_256_GCM, &self.0).map_err(|_| broken("its key cannot be used"))?;
        Ok(LessSafeKey::new(key))
    }
}

impl std::fmt::Debug for PlanKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PlanKey")
    }
}

/// Returns what identifies a cluster: the uid of the namespace `kube-system`.
pub(super) async fn cluster_id(session: &Session) -> Result<String> {
    let system = session.cluster.get(&ObjectId::new("v1", "Namespace", "", "kube-system")).await?;
    Ok(system.map(|namespace| namespace.uid().to_owned()).unwrap_or_default())
}

impl Planned {
    /// Adds what applying the plan later needs.
    ///
    /// # Errors
    /// A plan that would fail, or a cluster that cannot be read.
    pub async fn save(
        self,
        session: &Session,
        request: &PlanRequest,
        lifetime_seconds: i64,
    ) -> Result<SavedPlan> {
        let failing = self.plan.problems().count();
        if failing > 0 {
            let plural = if failing == 1 { "object" } else { "objects" };
            let text = format!("the plan is not saved: {failing} {plural} cannot be applied");
            return Err(Error::Input(text));
        }
        let created = session.clock.now();
        Ok(SavedPlan {
            created,
            expires: created.plus_seconds(lifetime_seconds),
            cluster: cluster_id(session).await?,
            request: request.clone(),
            version: self
                .version
                .filter(|_| matches!(request, PlanRequest::Install(_) | PlanRequest::Upgrade(_))),
            crds: self.crds,
            handlers: self.handlers,
            plan: self.plan,
        })
    }
}

/// A plan file whose content has not been decrypted.
#[derive(Clone, Debug)]
pub struct PlanFile {
    head: Map<Node>,
    sealed: Vec<u8>,
    nonce: [u8; NONCE_LEN],
}

impl SavedPlan {
    /// Encrypts the plan. `random` makes each file unique, so it must differ for each.
    ///
    /// # Errors
    /// Values that JSON cannot represent.
    pub fn write(&self, key: &PlanKey, random: u128) -> Result<Vec<u8>> {
        let mut head = self.head();
        let mut sealed = json::write(&self.content()?).map_err(|error| broken(&error.to_string()))?;
        let mut nonce = [0; NONCE_LEN];
        // GCM loses all its guarantees if a nonce is used twice with one key; 96 random bits make that as good as
        // impossible.
        nonce.copy_from_slice(&random.to_le_bytes()[..NONCE_LEN]);
        // The part that can be read is authenticated too.
        let aad = Aad::from(head_bytes(&head));
        key.cipher()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(|_| broken("it cannot be encrypted"))?;
        head.insert("nonce".into(), STANDARD.encode(nonce).as_str().into());
        head.insert("data".into(), STANDARD.encode(&sealed).as_str().into());
        let mut text = json::write_pretty(&Node::Map(head)).map_err(|error| broken(&error.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }

    /// What everyone may read: which objects are changed and how, but none of their content.
    fn head(&self) -> Map<Node> {
        let plan = &self.plan;
        let objects = plan.objects.iter().map(|object| {
            let mut entries = data::id(&object.id);
            entries.insert(0, ("action", object.action.name().into()));
            map(entries)
        });
        let entries = vec![
            ("apiVersion", API_VERSION.into()),
            ("kind", KIND.into()),
            ("cipher", CIPHER.into()),
            ("operation", plan.operation.name().into()),
            ("release", plan.release.as_str().into()),
            ("namespace", plan.namespace.as_str().into()),
            ("fromVersion", data::optional_number(plan.from)),
            ("toVersion", data::optional_number(plan.to)),
            ("created", self.created.to_string().as_str().into()),
            ("expires", self.expires.to_string().as_str().into()),
            ("cluster", self.cluster.as_str().into()),
            ("objects", Node::List(objects.collect())),
        ];
        entries.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }

    fn content(&self) -> Result<Node> {
        let mut entries = vec![
            ("plan", data::plan(&self.plan)),
            ("request", requests::write(&self.request)),
            ("crds", Node::List(self.crds.iter().map(|crd| Node::Map(crd.body().clone())).collect())),
        ];
        if let Some(version) = &self.version {
            entries.push(("record", encoded(version)?));
            entries.push(("labels", data::pairs(&version.labels)));
        }
        if let Some(rendered) = &self.handlers.rendered {
            entries.push(("rendered", encoded(rendered)?));
        }
        Ok(map(entries))
    }
}

impl PlanFile {
    /// Reads a plan file.
    ///
    /// # Errors
    /// A file that is no plan, or one of a later version of this program.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let no_plan = || Error::BadPlan { why: "it is not a plan that was saved with `--save`".to_owned() };
        let Ok(Node::Map(mut head)) = json::read_exact(bytes) else { return Err(no_plan()) };
        let word = |key: &str| head.get(key).and_then(Node::as_str).unwrap_or_default();
        if word("kind") != KIND {
            return Err(no_plan());
        }
        if (word("apiVersion"), word("cipher")) != (API_VERSION, CIPHER) {
            return Err(broken(&format!(
                "it has the format {} {}, which is unknown",
                word("apiVersion"),
                word("cipher")
            )));
        }
        let decoded =
            |key: &str| STANDARD.decode(word(key)).map_err(|_| broken(&format!("`{key}` is damaged")));
        let sealed = decoded("data")?;
        let nonce =
            <[u8; NONCE_LEN]>::try_from(decoded("nonce")?).map_err(|_| broken("`nonce` is damaged"))?;
        head.remove("nonce");
        head.remove("data");
        Ok(PlanFile { head, sealed, nonce })
    }

    /// Decrypts the plan.
    ///
    /// # Errors
    /// Another key, or a file that was changed.
    pub fn open(&self, key: &PlanKey) -> Result<SavedPlan> {
        let mut content = self.sealed.clone();
        let aad = Aad::from(head_bytes(&self.head));
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        let content = key.cipher()?.open_in_place(nonce, aad, &mut content);
        let content = content.map_err(|_| Error::SealedPlan)?;
        let content = json::read_exact(content).map_err(|error| broken(&error.to_string()))?;
        self.saved(&content).ok_or_else(|| broken("it lacks parts"))
    }

    fn saved(&self, content: &Node) -> Option<SavedPlan> {
        let head = Node::Map(self.head.clone());
        let version = match content.get("record").and_then(Node::as_str) {
            None => None,
            Some(record) => {
                let mut version = helm::decode(record.as_bytes()).ok()?;
                version.labels = data::read_pairs(content.get("labels")?);
                Some(version)
            }
        };
        let plan = data::read_plan(content.get("plan")?)?;
        let rendered = match content.get("rendered").and_then(Node::as_str) {
            None => None,
            Some(rendered) => Some(Box::new(helm::decode(rendered.as_bytes()).ok()?)),
        };
        let handlers = ForeseenHandlers { rendered, deferred: plan.deferred.clone() };
        let objects = list(content, "crds").iter().filter_map(|crd| Some(Object::new(crd.as_map()?.clone())));
        Some(SavedPlan {
            plan,
            created: Timestamp::parse(text(&head, "created")).ok()?,
            expires: Timestamp::parse(text(&head, "expires")).ok()?,
            cluster: text(&head, "cluster").to_owned(),
            request: requests::read(content.get("request")?)?,
            version,
            crds: objects.collect(),
            handlers,
        })
    }
}

/// A version as Helm encodes it.
fn encoded(version: &ReleaseVersion) -> Result<Node> {
    let record = helm::encode(version).map_err(|error| broken(&error.to_string()))?;
    Ok(String::from_utf8_lossy(&record).as_ref().into())
}

fn head_bytes(head: &Map<Node>) -> Vec<u8> {
    json::write(head).unwrap_or_default()
}

fn broken(why: &str) -> Error {
    Error::BadPlan { why: why.to_owned() }
}
