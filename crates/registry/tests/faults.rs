//! Registries that fail, lie or redirect: corrupt content is never kept, and every operation terminates.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::support;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pintle_registry::{Client, Digest, Error, Login, Settings};
use support::fake::{Behavior, Fake, Fault, RecordedRequest, Reply};
use support::{
    LayoutBuilder, client, content, copy, create, fast_retry_settings, local, noise, open, remote,
};

const NAME: &str = "team/web:1";

/// Fills a registry with an image of one layer. Returns the layer's digest.
async fn filled(fake: &Fake, size: usize) -> Digest {
    let folder = tempfile::tempdir().unwrap();
    let layer = noise(size, 7);
    let mut maker = LayoutBuilder::new(folder.path());
    let image = maker.image("amd64", &layer);
    maker.name("x/y:1", &image);
    let server = Fake::honest();
    copy(local(&open(folder.path()), "x/y:1"), remote(&client(), &server.name(NAME))).await.unwrap();
    let mut state = fake.state.lock().unwrap();
    let mut from = server.state.lock().unwrap();
    state.blobs = std::mem::take(&mut from.blobs);
    state.manifests = std::mem::take(&mut from.manifests);
    Digest::of(&layer)
}

/// Copies the image of a registry into a layout.
async fn fetch(fake: &Fake, client: &Arc<Client>, folder: &Path) -> Result<(), Error> {
    let layout = create(folder);
    copy(remote(client, &fake.name(NAME)), local(&layout, "a/b:1")).await.map(|_| ())
}

/// Applies a behaviour the first `count` times; after that the registry behaves correctly.
fn first(
    count: usize,
    matches: impl Fn(&RecordedRequest) -> bool + Send,
    twist: fn() -> Behavior,
) -> impl FnMut(&RecordedRequest) -> Behavior + Send {
    let seen = AtomicUsize::new(0);
    move |asked| {
        if matches(asked) && seen.fetch_add(1, Ordering::Relaxed) < count {
            twist()
        } else {
            Behavior::Honest
        }
    }
}

/// Whether a request asks for the layer that [`filled`] creates with that size.
fn asks_for_layer(size: usize) -> impl Fn(&RecordedRequest) -> bool + Send {
    let digest = Digest::of(&noise(size, 7)).to_string();
    move |asked| asked.is("GET", &digest)
}

fn is_layer(asked: &RecordedRequest) -> bool {
    asked.is("GET", "/blobs/") && !asked.path.contains("/uploads/")
}

#[tokio::test]
async fn a_download_that_breaks_off_goes_on_where_it_broke() {
    let fake = Fake::start(first(2, asks_for_layer(300_000), || {
        Behavior::Changed(|reply| {
            let cut = reply.body.len() / 2;
            reply.fault(Fault::Cut(cut))
        })
    }));
    let layer = filled(&fake, 300_000).await;
    let folder = tempfile::tempdir().unwrap();
    fetch(&fake, &client(), folder.path()).await.unwrap();
    let kept = std::fs::read(folder.path().join("blobs/sha256").join(layer.hex())).unwrap();
    assert_eq!(Digest::of(&kept), layer);
    let ranges: Vec<RecordedRequest> =
        fake.asked().into_iter().filter(|asked| !asked.header("range").is_empty()).collect();
    assert_eq!(ranges.len(), 2, "{ranges:?}");
}

#[tokio::test]
async fn a_partial_copy_is_resumed() {
    let cut: fn() -> Behavior = || Behavior::Changed(|reply| reply.fault(Fault::Cut(100_000)));
    let fake = Fake::start(first(1, asks_for_layer(300_000), cut));
    let layer = filled(&fake, 300_000).await;
    let folder = tempfile::tempdir().unwrap();
    let impatient = Arc::new(Client::new(Settings { retries: 0, ..fast_retry_settings() }).unwrap());
    let error = fetch(&fake, &impatient, folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "{error}");
    assert!(open(folder.path()).names().is_empty());
    let partial = folder.path().join("ingest").join(format!("sha256-{}", layer.hex()));
    // How many of the sent bytes arrive before the connection breaks depends on the system.
    let left = std::fs::metadata(&partial).unwrap().len();
    assert!((1..=100_000).contains(&left), "{left}");
    fetch(&fake, &client(), folder.path()).await.unwrap();
    assert!(fake.asked().iter().any(|asked| asked.header("range") == format!("bytes={left}-")));
    assert!(!partial.exists());
}

#[tokio::test]
async fn what_an_earlier_copy_left_in_disorder_is_fetched_again() {
    let fake = Fake::honest();
    let layer = filled(&fake, 50_000).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("ingest")).unwrap();
    for length in [10_000, 60_000] {
        let partial = folder.path().join("ingest").join(format!("sha256-{}", layer.hex()));
        std::fs::write(partial, noise(length, 99)).unwrap();
        fetch(&fake, &client(), folder.path()).await.unwrap();
        let kept = folder.path().join("blobs/sha256").join(layer.hex());
        assert_eq!(Digest::of(&std::fs::read(&kept).unwrap()), layer);
        std::fs::remove_file(kept).unwrap();
        std::fs::remove_file(folder.path().join("index.json")).unwrap();
    }
}

#[tokio::test]
async fn registries_that_know_no_ranges_are_read_from_the_start() {
    let (is_layer, calls) = (asks_for_layer(100_000), AtomicUsize::new(0));
    let fake = Fake::start(move |asked| match is_layer(asked) {
        true if calls.fetch_add(1, Ordering::Relaxed) == 0 => {
            Behavior::Changed(|reply| reply.fault(Fault::Cut(50_000)))
        }
        // The whole blob, although a range was requested.
        true => Behavior::Instead(Reply::new(200).body(noise(100_000, 7))),
        false => Behavior::Honest,
    });
    let layer = filled(&fake, 100_000).await;
    let folder = tempfile::tempdir().unwrap();
    fetch(&fake, &client(), folder.path()).await.unwrap();
    let kept = std::fs::read(folder.path().join("blobs/sha256").join(layer.hex())).unwrap();
    assert_eq!(Digest::of(&kept), layer);
    assert_eq!(fake.count("GET", &layer.to_string()), 2);
}

#[tokio::test]
async fn content_that_does_not_fit_its_digest_is_never_kept() {
    let fake = Fake::start(|asked| match is_layer(asked) {
        true => Behavior::Changed(|mut reply| {
            if let Some(byte) = reply.body.last_mut() {
                *byte ^= 1;
            }
            reply
        }),
        false => Behavior::Honest,
    });
    filled(&fake, 5000).await;
    let folder = tempfile::tempdir().unwrap();
    let error = fetch(&fake, &client(), folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    let names: Vec<String> = content(folder.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["index.json", "oci-layout"]);

    let other = Fake::honest();
    let error =
        copy(remote(&client(), &fake.name(NAME)), remote(&client(), &other.name(NAME))).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    assert_eq!(other.count("PUT", "/blobs/"), 0);
    assert!(other.count("DELETE", "/uploads/") > 0);
    assert!(other.state.lock().unwrap().manifests.is_empty());
}

#[tokio::test]
async fn manifests_that_do_not_fit_their_digest_are_refused() {
    let fake = Fake::start(|asked| match asked.is("GET", "/manifests/") {
        true => Behavior::Changed(|mut reply| {
            reply.body.push(b' ');
            reply
        }),
        false => Behavior::Honest,
    });
    filled(&fake, 10).await;
    let folder = tempfile::tempdir().unwrap();
    let error = fetch(&fake, &client(), folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
}

#[tokio::test]
async fn bodies_without_end_come_to_an_end() {
    for part in ["/blobs/", "/manifests/"] {
        let fake = Fake::start(move |asked| match asked.is("GET", part) {
            true => Behavior::Changed(|reply| reply.fault(Fault::Endless)),
            false => Behavior::Honest,
        });
        filled(&fake, 10_000).await;
        let folder = tempfile::tempdir().unwrap();
        let error = fetch(&fake, &client(), folder.path()).await.unwrap_err();
        assert!(matches!(error, Error::Size { .. }), "{error}");
    }
}

#[tokio::test]
async fn huge_manifests_are_refused() {
    let fake = Fake::start(|asked| match asked.is("GET", "/manifests/") {
        true => Behavior::Instead(Reply::new(200).body(vec![b' '; 5 << 20])),
        false => Behavior::Honest,
    });
    let folder = tempfile::tempdir().unwrap();
    let error = fetch(&fake, &client(), folder.path()).await.unwrap_err().to_string();
    assert!(error.ends_with("larger than 4194304 bytes, which is the most that is taken"), "{error}");
}

#[tokio::test]
async fn a_registry_that_is_busy_is_asked_again_when_it_wants() {
    let busy: fn() -> Behavior = || Behavior::Instead(Reply::new(429).with("retry-after", "1"));
    let fake = Fake::start(first(1, |asked| asked.is("GET", "/manifests/"), busy));
    filled(&fake, 10).await;
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    fetch(&fake, &client(), folder.path()).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());

    let fake =
        Fake::start(|_| Behavior::Instead(Reply::new(503).body(r#"{"errors":[{"message":"tea time"}]}"#)));
    let folder = tempfile::tempdir().unwrap();
    let error = fetch(&fake, &client(), folder.path()).await.unwrap_err().to_string();
    assert!(error.ends_with("503 Service Unavailable: tea time"), "{error}");
    assert_eq!(fake.asked().len(), 4);
}

#[tokio::test]
async fn a_registry_that_says_nothing_is_given_up() {
    let fake = Fake::start(|_| Behavior::Instead(Reply::new(200).fault(Fault::Silence)));
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { idle_timeout: Duration::from_millis(200), retries: 1, ..fast_retry_settings() };
    let client = Arc::new(Client::new(settings).unwrap());
    // Only the idle timeout ends this.
    let error = fetch(&fake, &client, folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "{error}");
    assert!(error.to_string().contains("no answer within 200ms"), "{error}");
}

/// A registry with its own token server, for user `me` with password `pw`.
fn guarded() -> Fake {
    let host: Arc<Mutex<String>> = Arc::default();
    let inner = host.clone();
    let fake = Fake::start(move |asked| {
        if asked.path.starts_with("/token") {
            let known = asked.header("authorization") == "Basic bWU6cHc=";
            let reply = if known { Reply::new(200).body(r#"{"token":"T"}"#) } else { Reply::new(401) };
            return Behavior::Instead(reply);
        }
        if asked.header("authorization") == "Bearer T" {
            return Behavior::Honest;
        }
        let realm =
            format!(r#"Bearer realm="http://{}/token",service="s",scope="a b""#, inner.lock().unwrap());
        Behavior::Instead(Reply::new(401).with("www-authenticate", realm))
    });
    *host.lock().unwrap() = fake.host.clone();
    fake
}

#[tokio::test]
async fn tokens_are_requested_once_for_each_scope_with_one_scope_each() {
    let fake = guarded();
    filled(&fake, 100).await;
    let folder = tempfile::tempdir().unwrap();
    let me = Settings { login: Login::pair("me:pw"), ..fast_retry_settings() };
    let me = Arc::new(Client::new(me).unwrap());
    fetch(&fake, &me, folder.path()).await.unwrap();
    copy(local(&open(folder.path()), "a/b:1"), remote(&me, &fake.name("team/other:1"))).await.unwrap();
    let tokens: Vec<RecordedRequest> =
        fake.asked().into_iter().filter(|asked| asked.path.starts_with("/token")).collect();
    assert!(tokens.iter().all(|asked| asked.path.matches("scope=").count() == 1), "{tokens:?}");
    // Pulling web, pulling other, pushing other.
    assert_eq!(tokens.len(), 3, "{tokens:?}");

    let error = fetch(&fake, &client(), tempfile::tempdir().unwrap().path()).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert!(!error.to_string().contains("pw"));
}

#[tokio::test]
async fn a_redirect_target_does_not_receive_credentials() {
    let strangers = Fake::honest();
    let layer = filled(&strangers, 1000).await;
    let elsewhere = strangers.host.clone();
    let fake = Fake::start(move |asked| {
        if asked.header("authorization").is_empty() {
            return Behavior::Instead(Reply::new(401).with("www-authenticate", "Basic realm=\"x\""));
        }
        match is_layer(asked) {
            true => Behavior::Instead(
                Reply::new(307).with("location", format!("http://{elsewhere}{}", asked.path)),
            ),
            false => Behavior::Honest,
        }
    });
    filled(&fake, 1000).await;
    let folder = tempfile::tempdir().unwrap();
    let me =
        Arc::new(Client::new(Settings { login: Login::pair("me:pw"), ..fast_retry_settings() }).unwrap());
    let before = strangers.asked().len();
    fetch(&fake, &me, folder.path()).await.unwrap();
    let asked = strangers.asked();
    assert_eq!(asked.len() - before, 2);
    assert!(asked.iter().all(|asked| asked.header("authorization").is_empty()));
    assert!(folder.path().join("blobs/sha256").join(layer.hex()).is_file());
}

#[tokio::test]
async fn a_foreign_upload_target_does_not_receive_credentials() {
    let strangers = Fake::start(|asked| match asked.method.as_str() {
        "PATCH" => Behavior::Instead(Reply::new(401).with("www-authenticate", "Basic realm=\"give me\"")),
        _ => Behavior::Instead(Reply::new(404)),
    });
    let elsewhere = strangers.host.clone();
    let fake = Fake::start(move |asked| {
        if asked.header("authorization").is_empty() {
            return Behavior::Instead(Reply::new(401).with("www-authenticate", "Basic realm=\"x\""));
        }
        match asked.is("POST", "/uploads/") {
            true => Behavior::Instead(Reply::new(202).with("location", format!("http://{elsewhere}/upload"))),
            false => Behavior::Honest,
        }
    });
    let source = Fake::honest();
    filled(&source, 1000).await;
    let me =
        Arc::new(Client::new(Settings { login: Login::pair("me:pw"), ..fast_retry_settings() }).unwrap());
    let error = copy(remote(&client(), &source.name(NAME)), remote(&me, &fake.name(NAME))).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert!(strangers.asked().iter().all(|asked| asked.header("authorization").is_empty()));
}

#[tokio::test]
async fn redirect_loops_end_in_an_error() {
    let fake = Fake::start(|asked| Behavior::Instead(Reply::new(302).with("location", asked.path.clone())));
    let error = fetch(&fake, &client(), tempfile::tempdir().unwrap().path()).await.unwrap_err();
    assert!(error.to_string().contains("it leads on and on"), "{error}");
}

#[tokio::test]
async fn an_upload_that_breaks_off_goes_on_where_it_broke() {
    let source = Fake::honest();
    let layer = filled(&source, 9 << 20).await;
    let deaf: fn() -> Behavior = || Behavior::StopReading(5 << 20);
    let big: fn(&RecordedRequest) -> bool =
        |asked| asked.method == "PATCH" && asked.header("content-length").len() > 6;
    let fake = Fake::start(first(1, big, deaf));
    copy(remote(&client(), &source.name(NAME)), remote(&client(), &fake.name(NAME))).await.unwrap();
    let resumed = format!("{}-{}", 5 << 20, (9 << 20) - 1);
    assert!(fake.asked().iter().any(|asked| asked.header("content-range") == resumed));
    // The source is re-read only from the last checkpoint.
    let ranges: Vec<RecordedRequest> =
        source.asked().into_iter().filter(|asked| !asked.header("range").is_empty()).collect();
    assert_eq!(ranges.len(), 1);
    let from: u64 = ranges[0].header("range").trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    assert!((1..=5 << 20).contains(&from), "{from}");
    let state = fake.state.lock().unwrap();
    assert_eq!(Digest::of(&state.blobs[&("team/web".into(), layer.to_string())]), layer);
}

#[tokio::test]
async fn an_upload_that_is_forgotten_begins_anew() {
    let source = Fake::honest();
    filled(&source, 1 << 20).await;
    let lost = AtomicUsize::new(0);
    let fake = Fake::start(move |asked| match asked.method.as_str() {
        "PATCH" if lost.fetch_add(1, Ordering::Relaxed) < 2 => Behavior::Instead(Reply::new(500)),
        "GET" if asked.path.contains("/uploads/") => Behavior::Instead(Reply::new(404)),
        _ => Behavior::Honest,
    });
    copy(remote(&client(), &source.name(NAME)), remote(&client(), &fake.name(NAME))).await.unwrap();
    assert_eq!(fake.count("POST", "/uploads/"), 4);
}

#[tokio::test]
async fn a_source_that_breaks_off_does_not_spoil_the_upload() {
    let cut: fn() -> Behavior = || {
        Behavior::Changed(|reply| {
            let cut = reply.body.len() / 3;
            reply.fault(Fault::Cut(cut))
        })
    };
    let source = Fake::start(first(2, asks_for_layer(3 << 20), cut));
    let layer = filled(&source, 3 << 20).await;
    let fake = Fake::honest();
    copy(remote(&client(), &source.name(NAME)), remote(&client(), &fake.name(NAME))).await.unwrap();
    assert_eq!(fake.count("PATCH", ""), 2);
    let state = fake.state.lock().unwrap();
    assert!(state.blobs.contains_key(&("team/web".into(), layer.to_string())));
}

#[tokio::test]
async fn a_registry_that_takes_nothing_is_given_up() {
    let source = Fake::honest();
    filled(&source, 1000).await;
    let fake = Fake::start(|asked| match asked.method.as_str() {
        "PATCH" => Behavior::StopReading(0),
        _ => Behavior::Honest,
    });
    let error =
        copy(remote(&client(), &source.name(NAME)), remote(&client(), &fake.name(NAME))).await.unwrap_err();
    assert!(matches!(error, Error::Network { .. }), "{error}");
    assert!(fake.state.lock().unwrap().manifests.is_empty());
}

#[tokio::test]
async fn a_copy_that_is_stopped_leaves_a_folder_in_order() {
    let fake = Fake::start(|asked| match is_layer(asked) {
        true => Behavior::Changed(|reply| reply.fault(Fault::Silence)),
        false => Behavior::Honest,
    });
    filled(&fake, 1000).await;
    let folder = tempfile::tempdir().unwrap();
    let client = client();
    let reaches_a_layer = async {
        while !fake.asked().iter().any(is_layer) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        fetched = fetch(&fake, &client, folder.path()) => panic!("a layer was had: {fetched:?}"),
        () = reaches_a_layer => {}
    }
    assert!(open(folder.path()).names().is_empty());
    // The lock was released.
    create(folder.path());
}
