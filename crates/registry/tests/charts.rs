//! Charts in registries: what is sent, what is fetched, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use pintle_registry::address::AddressCheck;
use pintle_registry::chart::{
    CONFIG, CONTENT, ChartContent, ChartPush, ChartReference, LEGACY_CONTENT, PROVENANCE, PulledChart,
    WantedParts, WantedProvenance,
};
use pintle_registry::{Client, Digest, Error, Settings, Silent, WaitNotice};

use crate::support::fake::{Behavior, Fake, Fault, Reply};
use crate::support::program::distribution;
use crate::support::{OCI_INDEX, OCI_MANIFEST, client, noise};

fn wanted(provenance: WantedProvenance) -> WantedParts {
    WantedParts { content: true, provenance, limit: 1 << 30 }
}

async fn push(host: &str, version: &str, archive: &[u8], provenance: Option<&[u8]>) -> Result<Digest, Error> {
    let reference = ChartReference::parse(&format!("oci://{host}/charts/web:{version}"))?;
    let push = ChartPush {
        content: ChartContent::Bytes(archive.to_vec().into()),
        config: format!(r#"{{"name":"web","version":"{version}"}}"#).into_bytes(),
        annotations: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
        provenance: provenance.map(<[u8]>::to_vec),
    };
    let pushed = client().push_chart(&reference, &push, Arc::new(Silent)).await?;
    assert_eq!(pushed.reference, format!("{host}/charts/web:{}", version.replace('+', "_")));
    Ok(pushed.manifest)
}

async fn pull(reference: &str, version: &str, wanted: WantedParts) -> Result<(PulledChart, Vec<u8>), Error> {
    let client = client();
    let chart = client.resolve_chart(&ChartReference::parse(reference)?, version).await?;
    let pulled = client.pull_chart(&chart, wanted).await?;
    let mut archive = Vec::new();
    pulled
        .read_content(&mut |piece| {
            archive.extend_from_slice(piece);
            Ok(())
        })
        .await?;
    Ok((pulled, archive))
}

async fn refused(reference: &str, version: &str) -> String {
    match pull(reference, version, wanted(WantedProvenance::No)).await {
        Ok((pulled, _)) => panic!("{} was fetched", pulled.reference),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn what_was_pushed_is_pulled_by_tag_version_range_and_digest() {
    let Some(registry) = distribution("") else { return };
    let host = &registry.host;
    let archive = noise(3 << 20, 1);
    let digest = push(host, "1.0.0", &archive, Some(b"signed")).await.unwrap();
    for version in ["0.9.0", "1.1.0+x.1", "2.0.0-rc.1"] {
        push(host, version, version.as_bytes(), None).await.unwrap();
    }
    let web = format!("oci://{host}/charts/web");
    for (reference, version, found) in [
        (web.clone(), "", "1.1.0_x.1"),
        (web.clone(), "~1.0", "1.0.0"),
        (web.clone(), "<1.0.0", "0.9.0"),
        (web.clone(), ">0.0.0-0", "2.0.0-rc.1"),
        (web.clone(), "1.1.0+x.1", "1.1.0_x.1"),
        (format!("{web}:1.1.0+x.1"), "", "1.1.0_x.1"),
        (format!("{web}:1.1.0+x.1"), "1.1.0+x.1", "1.1.0_x.1"),
        (format!("{web}:0.9.0"), "0.9.0", "0.9.0"),
    ] {
        let (pulled, _) = pull(&reference, version, wanted(WantedProvenance::IfThere)).await.unwrap();
        assert_eq!(pulled.reference, format!("{host}/charts/web:{found}"), "{reference} {version}");
    }
    for reference in
        [format!("{web}@{digest}"), format!("{web}:1.0.0@{digest}"), format!("{web}:9.9.9@{digest}")]
    {
        let (pulled, got) = pull(&reference, "", wanted(WantedProvenance::Required)).await.unwrap();
        assert_eq!(pulled.reference, format!("{host}/charts/web@{digest}"));
        assert_eq!(pulled.manifest, digest);
        assert!(got == archive);
        assert_eq!(pulled.provenance.as_deref(), Some(&b"signed"[..]));
        assert_eq!(pulled.config, r#"{"name":"web","version":"1.0.0"}"#);
    }
    let chart = client().resolve_chart(&ChartReference::parse(&web).unwrap(), "1.0.0").await.unwrap();
    assert_eq!(client().chart_digest(&chart).await.unwrap(), Some(digest.clone()));
    let other = format!("{web}:0.9.0@{digest}");
    assert!(refused(&other, "").await.starts_with("chart reference digest mismatch: sha256:"));
    let message = refused(&format!("{web}:1.0.0"), "0.9.0").await;
    assert_eq!(message, "chart reference and version mismatch: 0.9.0 is not 1.0.0");
    let message = refused(&format!("{web}:9.9.9"), "").await;
    assert_eq!(
        message,
        format!("failed to perform \"FetchReference\" on source: {host}/charts/web:9.9.9: not found")
    );
    let message = refused(&format!("oci://{host}/charts/none"), "").await;
    assert_eq!(
        message,
        format!(
            "GET \"http://{host}/v2/charts/none/tags/list\": response status code 404: name unknown: repository name not known to registry: map[name:charts/none]"
        )
    );
    let missing = pull(&format!("{web}:0.9.0"), "", wanted(WantedProvenance::Required)).await.err().unwrap();
    assert_eq!(missing.to_string(), format!("manifest does not contain a layer with mediatype {PROVENANCE}"));
}

#[tokio::test]
async fn a_tag_is_resolved_by_one_question_and_no_list() {
    let fake = Fake::honest();
    push(&fake.host, "1.0.0", b"archive", None).await.unwrap();
    fake.log.lock().unwrap().clear();
    let client = client();
    let reference = ChartReference::parse(&format!("oci://{}/charts/web:1.0.0", fake.host)).unwrap();
    let chart = client.resolve_chart(&reference, "").await.unwrap();
    assert!(client.chart_digest(&chart).await.unwrap().is_some());
    let asked: Vec<String> = fake.log.lock().unwrap().iter().map(|asked| asked.method.clone()).collect();
    assert_eq!(asked, ["HEAD"]);
}

#[tokio::test]
async fn versions_are_looked_for_on_all_pages_of_tags() {
    let fake = Fake::start(|asked| {
        let page = |tags: &str| {
            Reply::new(200)
                .with("Content-Type", "application/json")
                .body(format!(r#"{{"name":"charts/web","tags":[{tags}]}}"#))
        };
        match asked.path.as_str() {
            "/v2/charts/web/tags/list" => Behavior::Instead(
                page(r#""1.0.0","latest","sha256-abc.sig","1.0""#)
                    .with("Link", "</v2/charts/web/tags/list?last=1&n=2>; rel=\"next\""),
            ),
            "/v2/charts/web/tags/list?last=1&n=2" => Behavior::Instead(page(r#""1.2.0_b","1.10.0-rc.1""#)),
            _ => Behavior::Honest,
        }
    });
    let repository = ChartReference::parse(&format!("{}/charts/web", fake.host)).unwrap().repository;
    assert_eq!(client().chart_versions(&repository).await.unwrap(), ["1.10.0-rc.1", "1.2.0+b", "1.0.0"]);
    let none = Fake::start(|asked| {
        if asked.path.ends_with("tags/list") {
            return Behavior::Instead(Reply::new(200).body(r#"{"tags":null}"#));
        }
        Behavior::Honest
    });
    let reference = format!("oci://{}/charts/web", none.host);
    let message = refused(&reference, "").await;
    assert_eq!(message, format!("unable to locate any tags in provided repository: {reference}"));
}

#[tokio::test]
async fn a_list_of_tags_that_leads_back_to_itself_ends() {
    for next in ["/v2/charts/web/tags/list", "/v2/charts/web/tags/list?last=1"] {
        let fake = Fake::start(move |asked| match asked.path.contains("/tags/list") {
            true => Behavior::Instead(
                Reply::new(200).with("Link", format!("<{next}>; rel=\"next\"")).body(r#"{"tags":["1.0.0"]}"#),
            ),
            false => Behavior::Honest,
        });
        let repository = ChartReference::parse(&format!("{}/charts/web", fake.host)).unwrap().repository;
        let error = client().chart_versions(&repository).await.unwrap_err().to_string();
        assert!(error.contains("leads back to one that was read before"), "{error}");
        assert!(fake.log.lock().unwrap().len() <= 3, "each page was read once");
    }
}

#[tokio::test]
async fn a_list_of_referrers_that_leads_back_to_itself_ends() {
    let fake = Fake::start(|asked| match asked.path.contains("/referrers/") {
        true => Behavior::Instead(
            Reply::new(200)
                .with("Content-Type", "application/vnd.oci.image.index.v1+json")
                .with("Link", format!("<{}>; rel=\"next\"", asked.path))
                .body(r#"{"manifests":[]}"#),
        ),
        false => Behavior::Honest,
    });
    let repository = ChartReference::parse(&format!("{}/charts/web", fake.host)).unwrap().repository;
    let error = client().chart_signatures(&repository, &Digest::of(b"x")).await.unwrap_err().to_string();
    assert!(error.contains("leads back to one that was read before"), "{error}");
}

#[tokio::test]
async fn a_long_pause_that_a_registry_asks_for_is_reported_and_limited() {
    let fake = Fake::start(|_| Behavior::Instead(Reply::new(429).with("Retry-After", "3600")));
    let pauses = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noticed = Arc::clone(&pauses);
    let notice = WaitNotice::new(move |host, pause| {
        noticed.lock().unwrap().push((host.to_owned(), pause.as_secs()));
    });
    let settings = Settings { on_wait: Some(notice), plain_http: true, ..Settings::default() };
    let client = Arc::new(Client::new(settings).unwrap());
    let repository = ChartReference::parse(&format!("{}/charts/web", fake.host)).unwrap().repository;
    let asked = client.chart_versions(&repository);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(500), asked).await.is_err(), "it waits");
    assert_eq!(*pauses.lock().unwrap(), [("127.0.0.1".to_owned(), 60)]);
}

#[tokio::test]
async fn a_registry_at_an_address_that_is_not_allowed_is_not_asked() {
    let fake = Fake::start(|_| Behavior::Honest);
    let port = fake.host.rsplit_once(':').unwrap().1;
    let addresses = AddressCheck::new(|host, address| host == "allowed.example" || !address.is_loopback());
    let settings = Settings { addresses: Some(addresses), plain_http: true, ..Settings::default() };
    let client = Arc::new(Client::new(settings).unwrap());
    for host in ["127.0.0.1", "localhost", "127.1", "[::1]"] {
        let reference = ChartReference::parse(&format!("oci://{host}:{port}/charts/web")).unwrap();
        let error = client.chart_versions(&reference.repository).await.unwrap_err().to_string();
        assert!(error.contains("which is not a public address"), "{host}: {error}");
    }
    assert!(fake.log.lock().unwrap().is_empty());
}

/// Puts a manifest with these layers and this kind of configuration into a registry by hand.
fn plant(fake: &Fake, tag: &str, config: &str, layers: &[(&str, &[u8])]) -> String {
    let repository = "charts/web".to_owned();
    let mut state = fake.state.lock().unwrap();
    let mut blob = |media_type: &str, content: &[u8]| {
        let digest = Digest::of(content);
        state.blobs.insert((repository.clone(), digest.to_string()), content.to_vec());
        format!(r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{}}}"#, content.len())
    };
    let config = blob(config, b"{}");
    let layers: Vec<String> = layers.iter().map(|(media_type, content)| blob(media_type, content)).collect();
    let text = format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{}]}}"#, layers.join(","));
    let digest = Digest::of(text.as_bytes()).to_string();
    for name in [tag.to_owned(), digest.clone()] {
        state
            .manifests
            .insert((repository.clone(), name), (OCI_MANIFEST.to_owned(), text.clone().into_bytes()));
    }
    format!(r#"{{"mediaType":"{OCI_MANIFEST}","digest":"{digest}","size":{}}}"#, text.len())
}

#[tokio::test]
async fn indexes_old_media_types_and_things_that_are_no_charts() {
    let fake = Fake::honest();
    let chart = plant(&fake, "1.0.0", CONFIG, &[(CONTENT, b"archive")]);
    let image = plant(&fake, "image", "application/vnd.oci.image.config.v1+json", &[("x/layer", b"layer")]);
    plant(&fake, "2.0.0", CONFIG, &[(LEGACY_CONTENT, b"old")]);
    plant(&fake, "3.0.0", CONFIG, &[("x/other", b"other")]);
    plant(&fake, "4.0.0", "x/config", &[(CONTENT, b"archive"), (PROVENANCE, b"p")]);
    let index = format!(r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{image},{chart}]}}"#);
    fake.state.lock().unwrap().manifests.insert(
        ("charts/web".to_owned(), "5.0.0".to_owned()),
        (OCI_INDEX.to_owned(), index.clone().into_bytes()),
    );
    let web = format!("oci://{}/charts/web", fake.host);
    let (pulled, archive) = pull(&web, "5.0.0", wanted(WantedProvenance::No)).await.unwrap();
    assert_eq!((archive.as_slice(), pulled.manifest), (&b"archive"[..], Digest::of(index.as_bytes())));
    let (pulled, archive) = pull(&web, "2.0.0", wanted(WantedProvenance::No)).await.unwrap();
    assert_eq!((archive.as_slice(), pulled.is_legacy), (&b"old"[..], true));
    assert_eq!(
        refused(&web, "3.0.0").await,
        format!("manifest does not contain a layer with mediatype {CONTENT}")
    );
    assert_eq!(refused(&web, "4.0.0").await, format!("could not load config with mediatype {CONFIG}"));
    let message = refused(&format!("{web}@{}", digest_of(&image)), "").await;
    assert_eq!(message, "manifest does not contain minimum number of descriptors (2), descriptors found: 1");
    let small = WantedParts { content: true, provenance: WantedProvenance::No, limit: 3 };
    assert!(matches!(pull(&web, "1.0.0", small).await, Err(Error::Size { .. })));
}

fn digest_of(descriptor: &str) -> &str {
    let at = descriptor.find("sha256:").unwrap();
    &descriptor[at..at + 71]
}

#[tokio::test]
async fn bytes_that_are_not_those_of_their_digest_are_refused_and_cuts_are_mended() {
    let fake = Fake::start(|asked| match asked.is("GET", "/blobs/") {
        true => Behavior::Changed(|mut reply| {
            if let Some(byte) = reply.body.first_mut() {
                *byte ^= 1;
            }
            reply
        }),
        false => Behavior::Honest,
    });
    push(&fake.host, "1.0.0", b"archive", None).await.unwrap();
    let outcome =
        pull(&format!("oci://{}/charts/web:1.0.0", fake.host), "", wanted(WantedProvenance::No)).await;
    assert!(matches!(outcome, Err(Error::Mismatch { .. })));
    let mut cuts = 2;
    let fake = Fake::start(move |asked| {
        if asked.is("GET", "/blobs/") && cuts > 0 {
            cuts -= 1;
            return Behavior::Changed(|reply| reply.fault(Fault::Cut(1000)));
        }
        Behavior::Honest
    });
    let archive = noise(100_000, 7);
    push(&fake.host, "1.0.0", &archive, None).await.unwrap();
    let (_, got) = pull(&format!("oci://{}/charts/web:1.0.0", fake.host), "", wanted(WantedProvenance::No))
        .await
        .unwrap();
    assert!(got == archive);
}

#[tokio::test]
async fn a_file_is_sent_as_it_is_read_and_what_is_there_is_not_sent_again() {
    let fake = Fake::honest();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web-1.0.0.tgz");
    let archive = noise(600_000, 3);
    std::fs::write(&path, &archive).unwrap();
    let push = ChartPush {
        content: ChartContent::of_file(&path).unwrap(),
        config: b"{}".to_vec(),
        annotations: BTreeMap::new(),
        provenance: None,
    };
    let reference = ChartReference::parse(&format!("{}/charts/web:1.0.0", fake.host)).unwrap();
    for _ in 0..2 {
        client().push_chart(&reference, &push, Arc::new(Silent)).await.unwrap();
    }
    let log = fake.log.lock().unwrap();
    assert_eq!(log.iter().filter(|asked| asked.method == "PATCH").count(), 2);
    let state = fake.state.lock().unwrap();
    assert!(state.blobs.values().any(|content| *content == archive));
}

#[tokio::test]
async fn helm_pulls_what_we_push_and_we_pull_what_helm_pushes() {
    let Some(helm) = pintle_testkit::real_helm() else {
        return pintle_testkit::skip("the real Helm 4.3.1 is missing");
    };
    let Some(registry) = distribution("") else { return };
    let (host, folder) = (&registry.host, tempfile::tempdir().unwrap());
    let run = |line: &str| {
        let output = Command::new(&helm)
            .args(line.split(' '))
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run("create web");
    run("package web --version 1.0.0+b");
    let archive = std::fs::read(folder.path().join("web-1.0.0+b.tgz")).unwrap();
    let said = run(&format!("push web-1.0.0+b.tgz oci://{host}/helm --plain-http"));
    let (pulled, got) =
        pull(&format!("oci://{host}/helm/web"), "", wanted(WantedProvenance::IfThere)).await.unwrap();
    assert!(got == archive);
    assert!(said.contains(&format!("Digest: {}\n", pulled.manifest)), "{said}");
    assert!(said.contains(pintle_registry::chart::UNDERSCORE), "{said}");
    let reference = ChartReference::parse(&format!("oci://{host}/ours/web:1.0.0+b")).unwrap();
    let push = ChartPush {
        content: ChartContent::Bytes(archive.clone().into()),
        config: pulled.config.to_vec(),
        annotations: BTreeMap::new(),
        provenance: Some(b"signed".to_vec()),
    };
    let pushed = client().push_chart(&reference, &push, Arc::new(Silent)).await.unwrap();
    let said = run(&format!("pull oci://{host}/ours/web --plain-http --prov -d ."));
    assert!(said.contains(&format!("Digest: {}\n", pushed.manifest)), "{said}");
    assert!(std::fs::read(folder.path().join("web-1.0.0+b.tgz")).unwrap() == archive);
    assert_eq!(std::fs::read(folder.path().join("web-1.0.0+b.tgz.prov")).unwrap(), b"signed");
}
