//! The permissions that the user has granted to scripts, stored in a private file. A grant is bound to the digest of
//! the scripts and to a set of permissions; nothing in a chart or a release can create one.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pintle::lua::Permissions;
use pintle_tree::{Map, Node};

use crate::env::{Environment, Home};
use crate::read as bounded;

/// The file name, in the user's data directory.
const FILE: &str = "script-grants.yaml";

const TYPE_META: [(&str, &str); 2] = [("apiVersion", "pintle.dev/v1"), ("kind", "ScriptGrants")];

/// A set of permissions that the user has granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The digest of the scripts.
    pub(crate) digest: String,
    /// The chart of the scripts, for display only.
    pub(crate) chart: String,
    /// The granted permissions.
    pub(crate) permissions: Permissions,
    /// The time of the grant.
    pub(crate) granted: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Grants {
    file: PathBuf,
}

impl Grants {
    /// The grants of the current user.
    pub(crate) fn for_user(environment: &Environment) -> Grants {
        Grants::from_file(PathBuf::from(environment.home(Home::Data, FILE)))
    }

    /// The grants of a file.
    pub(crate) fn from_file(file: PathBuf) -> Grants {
        Grants { file }
    }

    /// All grants, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read or trusted.
    pub(crate) fn all(&self) -> Result<Vec<Grant>, String> {
        let wrong = |reason: String| {
            format!(
                "cannot read the granted permissions from `{}`: {reason}; remove the file to be asked again",
                self.file.display()
            )
        };
        let text = match bounded::file(&self.file, bounded::MAX_SETTINGS) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(wrong(error.to_string())),
        };
        check_mode(&self.file).map_err(wrong)?;
        let tree = pintle_yaml::read(&text).map_err(|error| wrong(error.to_string()))?;
        read(&tree).ok_or_else(|| wrong("it is damaged, or was written by another version".to_owned()))
    }

    /// The permissions of the scripts with this digest.
    ///
    /// # Errors
    /// When the file cannot be read or trusted.
    pub(crate) fn granted(&self, digest: &str) -> Result<Permissions, String> {
        let same = self.all()?.into_iter().find(|grant| grant.digest == digest);
        Ok(same.map_or_else(Permissions::none, |grant| grant.permissions))
    }

    /// Saves a grant, which replaces an earlier one for the same scripts.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(crate) fn save(&self, grant: Grant) -> Result<(), String> {
        self.change(|grants| {
            grants.retain(|other| other.digest != grant.digest);
            grants.push(grant);
        })
    }

    /// Removes the matching grants and returns them.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(crate) fn revoke(&self, is_meant: impl Fn(&Grant) -> bool) -> Result<Vec<Grant>, String> {
        let mut revoked = Vec::new();
        self.change(|grants| {
            let (gone, stay) = std::mem::take(grants).into_iter().partition(|grant| is_meant(grant));
            (revoked, *grants) = (gone, stay);
        })?;
        Ok(revoked)
    }

    /// Changes the file under a lock, so that concurrent processes do not lose each other's grants.
    fn change(&self, change: impl FnOnce(&mut Vec<Grant>)) -> Result<(), String> {
        let failed = |error: io::Error| {
            format!("cannot store the granted permissions in `{}`: {error}", self.file.display())
        };
        let folder = self.file.parent().unwrap_or(Path::new("."));
        create_private_dir(folder).map_err(failed)?;
        let lock = private(&self.file.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut grants = self.all()?;
        change(&mut grants);
        let text = write(&grants).map_err(|reason| failed(io::Error::other(reason)))?;
        // The file is replaced by a rename, so readers see the old or the new one; both are readable by the user only.
        let mut new =
            tempfile::Builder::new().prefix(".script-grants").tempfile_in(folder).map_err(failed)?;
        new.write_all(&text).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
        new.persist(&self.file).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

fn read(tree: &Node) -> Option<Vec<Grant>> {
    if TYPE_META.iter().any(|(key, value)| tree.get(key).and_then(Node::as_str) != Some(value)) {
        return None;
    }
    tree.get("grants")?.as_list()?.iter().map(read_grant).collect()
}

fn read_grant(node: &Node) -> Option<Grant> {
    let text = |key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let permission = |name: &Node| name.as_str()?.parse().ok();
    Some(Grant {
        digest: text("digest").filter(|digest| digest.starts_with("sha256:"))?,
        chart: text("chart")?,
        permissions: node.get("permissions")?.as_list()?.iter().map(permission).collect::<Option<_>>()?,
        granted: text("granted")?,
    })
}

fn write(grants: &[Grant]) -> Result<Vec<u8>, String> {
    let grants = grants.iter().map(node).collect();
    let mut tree: Map<Node> = TYPE_META.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    tree.insert("grants".into(), Node::List(grants));
    pintle_yaml::write(&tree).map_err(|error| error.to_string())
}

/// The stored form of a grant.
pub(crate) fn node(grant: &Grant) -> Node {
    let names = grant.permissions.iter().map(|permission| permission.as_str().into()).collect();
    let fields = [
        ("chart", grant.chart.as_str().into()),
        ("digest", grant.digest.as_str().into()),
        ("granted", grant.granted.as_str().into()),
        ("permissions", Node::List(names)),
    ];
    Node::Map(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

#[cfg(unix)]
fn create_private_dir(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private_dir(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Opens a file with mode 0600, and creates it if necessary.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file or directory that others can write is rejected: they could grant permissions in the user's name.
#[cfg(unix)]
fn check_mode(file: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(file).map_err(|error| error.to_string())?;
    match metadata.permissions().mode() & 0o022 {
        0 => Ok(()),
        _ => Err("others may write to it".to_owned()),
    }
}

#[cfg(not(unix))]
fn check_mode(_file: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(folder: &Path) -> Grants {
        Grants::from_file(folder.join("data").join(FILE))
    }

    fn grant(digest: &str, permissions: &str) -> Grant {
        Grant {
            digest: format!("sha256:{digest}"),
            chart: "web".to_owned(),
            permissions: Permissions::parse(permissions).expect("known"),
            granted: "2026-01-02T03:04:05Z".to_owned(),
        }
    }

    #[test]
    fn a_grant_holds_for_its_digest_until_it_is_revoked() {
        let folder = tempfile::tempdir().expect("a folder");
        let grants = grants(folder.path());
        assert_eq!(grants.all(), Ok(Vec::new()));
        for one in [grant("a", "network"), grant("b", "os"), grant("a", "network,os")] {
            grants.save(one).expect("kept");
        }
        assert_eq!(grants.all(), Ok(vec![grant("b", "os"), grant("a", "network,os")]));
        assert_eq!(grants.granted("sha256:a").expect("read").to_string(), "network,os");
        assert_eq!(grants.granted("sha256:"), Ok(Permissions::none()));
        assert_eq!(grants.revoke(|grant| grant.digest == "sha256:a").expect("revoked").len(), 1);
        assert_eq!(grants.all(), Ok(vec![grant("b", "os")]));
    }

    #[test]
    #[cfg(unix)]
    fn the_file_is_the_user_s_alone_and_is_not_believed_when_it_is_not() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let grants = grants(folder.path());
        grants.save(grant("a", "os")).expect("kept");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&grants.file), 0o600);
        assert_eq!(mode(&grants.file.with_extension("lock")), 0o600);
        assert_eq!(mode(grants.file.parent().expect("in a folder")), 0o700);
        fs::set_permissions(&grants.file, fs::Permissions::from_mode(0o622)).expect("changed");
        let error = grants.granted("sha256:a").expect_err("anybody could have written it");
        assert!(error.contains("others may write to it") && error.contains(FILE), "{error}");
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it_and_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let grants = grants(folder.path());
        grants.save(grant("a", "os")).expect("kept");
        let head = "apiVersion: pintle.dev/v1\nkind: ScriptGrants\n";
        for text in [
            "",
            "{",
            "grants: []\n",
            "apiVersion: pintle.dev/v2\nkind: ScriptGrants\ngrants: []\n",
            &format!("{head}grants: 1\n"),
            &format!("{head}grants:\n- {{chart: web, digest: a, granted: x, permissions: [os]}}\n"),
            &format!(
                "{head}grants:\n- {{chart: web, digest: 'sha256:a', granted: x, permissions: [everything]}}\n"
            ),
        ] {
            fs::write(&grants.file, text).expect("written");
            for error in [grants.all().expect_err(text), grants.save(grant("b", "os")).expect_err(text)] {
                assert!(error.contains(FILE) && error.contains("remove the file"), "{error}");
            }
            assert_eq!(fs::read(&grants.file).expect("there"), text.as_bytes());
        }
    }

    #[test]
    fn writers_at_the_same_moment_lose_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let grants = grants(folder.path());
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let grants = &grants;
                scope.spawn(move || {
                    for turn in 0..4 {
                        grants.save(grant(&format!("{writer}-{turn}"), "os")).expect("kept");
                    }
                });
            }
        });
        assert_eq!(grants.all().expect("read").len(), 32);
    }
}
