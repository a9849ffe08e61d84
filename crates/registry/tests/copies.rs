//! Copies between real registries and layouts are byte-for-byte identical.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::support;

use std::sync::Arc;

use pintle_registry::copy::{DestinationStatus, Endpoint, Job, Options, execute, plan};
use pintle_registry::{Client, Error, Login, Settings, Silent};
use support::program::{Program, distribution, referrers};
use support::{
    LayoutBuilder, Made, client, copy, copy_with, create, fast_retry_settings, local, noise, open, planned,
    remote,
};
use tempfile::TempDir;

/// A layout with a two-platform image, a cosign signature, and an SBOM that refers to it.
struct Set {
    folder: TempDir,
    index: Made,
    arm: Made,
    signature: Made,
    bill: Made,
}

const WEB: &str = "docker.io/team/web:1.2";

fn set() -> Set {
    let folder = tempfile::tempdir().unwrap();
    let mut maker = LayoutBuilder::new(folder.path());
    let amd = maker.image("amd64", &noise(200_000, 1));
    let arm = maker.image("arm64", &noise(300_000, 2));
    let index = maker.index(&[("amd64", &amd), ("arm64", &arm)]);
    let signature = maker.image("none", b"signed");
    let bill = maker.referrer(&index, "application/spdx+json");
    maker.name(WEB, &index);
    maker.name(&format!("docker.io/team/web:sha256-{}.sig", index.digest.hex()), &signature);
    maker.name(&format!("docker.io/team/web@{}", bill.digest), &bill);
    Set { folder, index, arm, signature, bill }
}

/// Both registries; empty if they are not installed.
fn registries() -> Vec<Program> {
    [distribution(""), referrers()].into_iter().flatten().collect()
}

#[tokio::test]
async fn images_come_back_as_they_went() {
    let set = set();
    for registry in registries() {
        let client = client();
        let name = format!("{}/mirror/web:1.2", registry.host);
        copy(local(&open(set.folder.path()), WEB), remote(&client, &name)).await.unwrap();
        let resolved = client.resolve(&name.parse().unwrap()).await.unwrap();
        assert_eq!(resolved.digest, set.index.digest);
        let platforms: Vec<String> =
            resolved.platforms.iter().map(|(platform, _)| platform.to_string()).collect();
        assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
        assert_eq!(resolved.platforms[1].1, set.arm.digest);

        let back = tempfile::tempdir().unwrap();
        let layout = create(back.path());
        let outcome = copy(remote(&client, &name), local(&layout, &name)).await.unwrap();
        assert_eq!(outcome.result.unwrap().artifacts, 2);
        for made in [&set.index, &set.arm, &set.signature, &set.bill] {
            let path = back.path().join("blobs/sha256").join(made.digest.hex());
            assert_eq!(std::fs::read(path).unwrap(), made.bytes, "{}", made.media_type);
        }
        let names: Vec<String> = layout.names().into_iter().map(|(name, _)| name).collect();
        let base = format!("{}/mirror/web", registry.host);
        let signature = format!("{base}:sha256-{}.sig", set.index.digest.hex());
        assert_eq!(names, [format!("{base}:1.2"), signature, format!("{base}@{}", set.bill.digest)]);
    }
}

#[tokio::test]
async fn what_is_there_is_not_copied_again() {
    let set = set();
    for registry in registries() {
        let client = client();
        let name = format!("{}/web:1.2", registry.host);
        let source = local(&open(set.folder.path()), WEB);
        copy(source.clone(), remote(&client, &name)).await.unwrap();
        let again = planned(source.clone(), remote(&client, &name), &Options::default()).await.unwrap();
        assert_eq!(again.status, DestinationStatus::UpToDate);
        assert_eq!(again.missing, 0);
        assert!(again.bytes > 500_000);
        let stats = copy(source.clone(), remote(&client, &name)).await.unwrap().result.unwrap();
        assert_eq!((stats.copied, stats.manifests, stats.bytes), (0, 0, 0));
        // Another tag of the same image transfers nothing but its name.
        let stats =
            copy(source, remote(&client, &format!("{}/web:1", registry.host))).await.unwrap().result.unwrap();
        assert_eq!((stats.copied, stats.existing), (0, 4));
    }
}

#[tokio::test]
async fn content_is_taken_over_within_a_registry() {
    let set = set();
    let Some(registry) = distribution("") else { return };
    let client = client();
    let first = format!("{}/one/web:1", registry.host);
    copy(local(&open(set.folder.path()), WEB), remote(&client, &first)).await.unwrap();
    let second = remote(&client, &format!("{}/two/web:1", registry.host));
    let stats = copy(remote(&client, &first), second).await.unwrap().result.unwrap();
    assert_eq!((stats.copied, stats.bytes), (0, 0));
    assert!(stats.mounted >= 6, "{stats:?}");
    // Two repositories that are filled concurrently share their blobs.
    let layout = open(set.folder.path());
    let jobs: Vec<Job> = ["three/web:1", "four/web:1"]
        .iter()
        .map(|name| Job {
            source: local(&layout, WEB),
            destination: remote(&client, &format!("{}/{name}", registry.host)),
        })
        .collect();
    let options = Options::default();
    let plan = plan(&jobs, &options).await.into_iter().map(Result::unwrap).collect();
    let outcomes = execute(plan, &options, Arc::new(Silent)).await;
    let mut sum = pintle_registry::copy::CopyStats::default();
    for outcome in outcomes {
        sum += outcome.result.unwrap();
    }
    assert_eq!(sum.copied, sum.mounted, "{sum:?}");
}

#[tokio::test]
async fn a_tag_with_another_digest_is_not_overwritten() {
    let set = set();
    for registry in registries() {
        let client = client();
        let folder = tempfile::tempdir().unwrap();
        let mut maker = LayoutBuilder::new(folder.path());
        let other = maker.image("amd64", b"other");
        maker.name("x/y:1", &other);
        let name = format!("{}/web:1.2", registry.host);
        copy(local(&open(folder.path()), "x/y:1"), remote(&client, &name)).await.unwrap();
        let source = local(&open(set.folder.path()), WEB);
        let error = copy(source.clone(), remote(&client, &name)).await.unwrap_err();
        assert!(matches!(&error, Error::Conflict { there, .. } if *there == other.digest), "{error}");
        let overwrite = Options { overwrite: true, ..Options::default() };
        copy_with(source, remote(&client, &name), &overwrite).await.unwrap();
        assert_eq!(client.resolve(&name.parse().unwrap()).await.unwrap().digest, set.index.digest);
    }
}

#[tokio::test]
async fn one_platform_is_an_image_and_two_are_an_index() {
    let set = set();
    let client = client();
    for registry in registries() {
        let source = local(&open(set.folder.path()), WEB);
        let arm = Options { platforms: vec!["linux/arm64".parse().unwrap()], ..Options::default() };
        let name = format!("{}/arm:1", registry.host);
        let plan = planned(source.clone(), remote(&client, &name), &arm).await.unwrap();
        assert_eq!(plan.warnings.len(), 1);
        copy_with(source.clone(), remote(&client, &name), &arm).await.unwrap();
        assert_eq!(client.resolve(&name.parse().unwrap()).await.unwrap().digest, set.arm.digest);

        let none = Options { platforms: vec!["linux/s390x".parse().unwrap()], ..Options::default() };
        let error = copy_with(source, remote(&client, &name), &none).await.unwrap_err().to_string();
        assert!(
            error.ends_with("not available for linux/s390x; available for linux/amd64, linux/arm64"),
            "{error}"
        );

        // A pinned digest must be kept.
        let pinned = format!("{}/web@{}", registry.host, set.index.digest);
        copy(local(&open(set.folder.path()), WEB), remote(&client, &format!("{}/web:1", registry.host)))
            .await
            .unwrap();
        let whole = format!("{}/whole@{}", registry.host, set.index.digest);
        let plan = planned(remote(&client, &pinned), remote(&client, &whole), &arm).await.unwrap();
        assert_eq!(plan.digest, set.index.digest);
        assert_eq!(plan.warnings.len(), 1);
    }
}

#[tokio::test]
async fn passwords_open_registries() {
    // The password is `pw`.
    const PASSWORDS: &str = "me:$2a$10$59HOHojFhqgaT6W2MF3wXetn3XLgRwjEB7dsuXl3MvujW.ONfuDY2\n";
    let set = set();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passwords");
    std::fs::write(&path, PASSWORDS).unwrap();
    let guard = format!("auth:\n  htpasswd: {{realm: test, path: {}}}\n", path.display());
    let Some(registry) = distribution(&guard) else { return };
    let name = format!("{}/web:1", registry.host);
    let source: Endpoint = local(&open(set.folder.path()), WEB);
    let error = copy(source.clone(), remote(&client(), &name)).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    let login = |pair: &str| Settings { login: Login::pair(pair), ..fast_retry_settings() };
    let wrong = Arc::new(Client::new(login("me:no")).unwrap());
    assert!(matches!(copy(source.clone(), remote(&wrong, &name)).await, Err(Error::Denied { .. })));
    let me = Arc::new(Client::new(login("me:pw")).unwrap());
    copy(source.clone(), remote(&me, &name)).await.unwrap();

    let file = folder.path().join("config.json");
    std::fs::write(&file, format!(r#"{{"auths":{{"{}":{{"auth":"bWU6cHc="}}}}}}"#, registry.host)).unwrap();
    let by_file = Settings { login_files: vec![file], ..fast_retry_settings() };
    let by_file = Arc::new(Client::new(by_file).unwrap());
    let stats = copy(source, remote(&by_file, &name)).await.unwrap().result.unwrap();
    assert_eq!(stats.copied, 0);
}

#[tokio::test]
async fn folders_are_filled_alike_whatever_the_number_of_jobs() {
    let set = set();
    let layout = open(set.folder.path());
    let folders = [1, 8].map(|jobs| (jobs, tempfile::tempdir().unwrap()));
    let mut contents = Vec::new();
    for (jobs, folder) in &folders {
        let options = Options { jobs: *jobs, ..Options::default() };
        let into = create(folder.path());
        let plan =
            plan(&[Job { source: local(&layout, WEB), destination: local(&into, WEB) }], &options).await;
        execute(plan.into_iter().map(Result::unwrap).collect(), &options, Arc::new(Silent)).await;
        contents.push(support::content(folder.path()));
    }
    assert_eq!(contents[0], contents[1]);
    assert_eq!(open(folders[0].1.path()).names().len(), 3);
    assert_eq!(open(folders[0].1.path()).images().unwrap(), [WEB]);
    assert_eq!(contents[0].len(), 2 + set_size());
}

/// The number of manifests, configurations and layers.
fn set_size() -> usize {
    5 + 3 + 4
}
