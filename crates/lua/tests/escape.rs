//! Sandbox escape attempts, one per file, which states the expected outcome. None may succeed; each must end with a
//! clear error within time and memory bounds.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{chart, context, error_chain, give_library, library, limits, services};
use pintle_chart::Chart;
use pintle_events::{Emitter, Event};
use pintle_lua::{Limits, Permissions, Scripts, System};

/// The CPU time limit of a script, where the system reports it. Scripts are stopped by their step limit; this is far
/// above what that takes, and far below what an uncharged host function takes.
const TIME: Duration = Duration::from_secs(20);

/// The memory limit of a script in KiB: its state, and what the host needs besides.
const MEMORY: u64 = 160 << 10;

/// Set in the process that measures.
const ALONE: &str = "PINTLE_TEST_ALONE";

#[test]
fn no_script_escapes() {
    // Memory is measured for the whole process, so no other test may run in it.
    if std::env::var_os(ALONE).is_none() {
        let (_, module) = module_path!().split_once("::").expect("the program has modules");
        let output = std::process::Command::new(std::env::current_exe().expect("this program is a file"))
            .args(["--exact", &format!("{module}::no_script_escapes"), "--nocapture"])
            .env(ALONE, "1")
            .output()
            .expect("this program can be run");
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("test result: ok. 1 passed"), "{said}");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape");
    let scripts = scripts(&folder);
    assert!(scripts.len() >= 120, "there are only {} scripts", scripts.len());
    let ground = Ground::new();
    let problems: Vec<String> = scripts
        .iter()
        .filter_map(|path| {
            let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
            attempt(path, &ground).err().map(|problem| format!("{name}: {problem}"))
        })
        .collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), scripts.len(), problems.join("\n"));
    ground.check();
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            scripts.extend(self::scripts(&path));
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            scripts.push(path);
        }
    }
    scripts.sort();
    scripts
}

/// A test file: the expected errors (one of several on slow machines), the event, the permissions and the chart files.
struct Case {
    expect: String,
    at: Option<Event>,
    /// Set lower for scripts whose steps are slow and that would otherwise run up to the step limit.
    time: Duration,
    granted: Permissions,
    chart: Chart,
}

fn read(path: &Path) -> Case {
    let text = fs::read_to_string(path).expect("it can be read");
    let header = |name: &str| {
        let start = format!("-- {name}: ");
        text.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    };
    let granted = Permissions::parse(&header("granted").unwrap_or_default()).expect("known permissions");
    // Lines of the form `--== chart file` begin another file.
    let mut files: Vec<(String, String, String)> =
        vec![("web".to_owned(), "ext/lua/chart.lua".to_owned(), String::new())];
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("--== ").and_then(|rest| rest.trim().split_once(' ')) {
            Some((chart, file)) => files.push((chart.to_owned(), file.to_owned(), String::new())),
            None => files.last_mut().expect("there is one").2.push_str(line),
        }
    }
    let asks = files.iter().any(|(chart, file, _)| chart == "web" && file == "ext/permissions.yaml");
    if !asks && !files.iter().any(|(_, file, _)| file == "ext/permissions.yaml") {
        let names: Vec<&str> = granted.iter().map(pintle_lua::Permission::as_str).collect();
        let list = format!("lua: [{}]", names.join(", "));
        files.push(("web".to_owned(), "ext/permissions.yaml".to_owned(), list));
    }
    let of = |name: &str| -> Vec<(&str, &str)> {
        let own = files.iter().filter(|(chart, ..)| chart == name);
        own.map(|(_, file, text)| (file.as_str(), text.as_str())).collect()
    };
    let mut web = chart("web", &of("web"));
    if !of("db").is_empty() {
        web.subcharts.push(chart("db", &of("db")));
    }
    if !of("common").is_empty() {
        give_library(&mut web, library("common", &of("common")));
    }
    Case {
        expect: header("expect").expect("it says how it must end"),
        at: header("at").map(|name| Event::for_handlers(&name).expect("a known event")),
        time: Duration::from_secs_f64(header("seconds").map_or(60.0, |text| text.parse().expect("a number"))),
        granted,
        chart: web,
    }
}

/// Runs a script. Returns what differs from the expected outcome.
fn attempt(path: &Path, ground: &Ground) -> Result<(), String> {
    let case = read(path);
    let wait = Duration::from_millis(300);
    let limits =
        Limits { steps: 400_000, nodes: 20_000, time: case.time, wait, all_disk: 2 << 20, ..limits() };
    let mut services = services(&std::sync::Arc::default());
    services.folder = Some(ground.folder());
    services.system = Some(std::sync::Arc::new(Leaky));
    let before = Memory::begin();
    let started = Clock::start();
    let outcome = (|| -> Result<(), String> {
        let mut emitter = Emitter::new();
        Scripts::load(&case.chart, &case.granted, &limits, &services)
            .and_then(|scripts| scripts.register(&mut emitter))
            .map_err(|error| error_chain(&error))?;
        let Some(event) = case.at else { return Ok(()) };
        let objects = ["{apiVersion: v1, kind: Pod, metadata: {name: p}}"];
        let mut context = context("a: 1\nm: {x: 1}\nl: [1, 2]\ndb: {}", &objects);
        emitter.emit(event, &mut context).map_err(|error| error_chain(&error))
    })();
    let took = started.elapsed().unwrap_or_default();
    let Err(error) = outcome else { return Err("it ended without an error".to_owned()) };
    // The lines of the script itself, which errors show, do not count.
    let said: String = error.lines().filter(|line| !line.contains(" | ")).collect();
    if said.contains("ESCAPED") || !case.expect.split(" | ").any(|part| said.contains(part)) {
        return Err(format!("it ended with\n    {}", error.replace('\n', "\n    ")));
    }
    if took > TIME {
        return Err(format!("it took {took:?}"));
    }
    match before.growth() {
        Some(growth) if growth > MEMORY => Err(format!("it took {growth} KiB")),
        _ => Ok(()),
    }
}

/// A system on which every variable is a secret.
struct Leaky;

impl System for Leaky {
    fn variable(&self, _: &str) -> Option<String> {
        Some(SECRET.to_owned())
    }

    fn now(&self) -> f64 {
        0.0
    }
}

/// The CPU time of this thread, where the system reports it.
struct Clock(Option<Duration>);

impl Clock {
    fn start() -> Self {
        Clock(Clock::worked())
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(Clock::worked()?.saturating_sub(self.0?))
    }

    fn worked() -> Option<Duration> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }
}

/// The peak memory since a point in time, where the system reports it.
struct Memory {
    resident: Option<u64>,
}

impl Memory {
    fn begin() -> Self {
        // Resets the peak memory counter.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Memory { resident: status("VmRSS:") }
    }

    fn growth(&self) -> Option<u64> {
        Some(status("VmHWM:")?.saturating_sub(self.resident?))
    }
}

/// A line of `/proc/self/status`, in KiB.
fn status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A folder that scripts may use, with links out of it.
struct Ground(tempfile::TempDir);

const SECRET: &str = "ESCAPED: the secret";

impl Ground {
    fn new() -> Self {
        let ground = Ground(tempfile::tempdir().expect("a folder can be made"));
        let (folder, outside) = (ground.folder(), ground.outside());
        fs::create_dir_all(&folder).expect("it can be made");
        fs::create_dir_all(&outside).expect("it can be made");
        fs::write(outside.join("secret.txt"), SECRET).expect("it can be written");
        fs::write(ground.0.path().join("secret.txt"), SECRET).expect("it can be written");
        fs::write(folder.join("inside.txt"), "fine").expect("it can be written");
        fs::create_dir(folder.join("a")).expect("it can be made");
        let large = fs::File::create(folder.join("large")).expect("it can be made");
        large.set_len(1 << 40).or_else(|_| large.set_len(1 << 30)).expect("it can have holes");
        fs::create_dir(folder.join(".git")).expect("it can be made");
        fs::write(folder.join(".git/config"), SECRET).expect("it can be written");
        #[cfg(unix)]
        for (target, link) in [
            (folder.join(".git/config"), "link-to-hidden"),
            (folder.join(".git"), "link-to-hidden-folder"),
            (PathBuf::from("/dev/zero"), "link-to-device"),
            (outside.join("secret.txt"), "link-to-file"),
            (outside.clone(), "link-to-folder"),
            (outside.join("nothing"), "dangling"),
            (folder.join("loop"), "loop"),
        ] {
            std::os::unix::fs::symlink(target, folder.join(link)).expect("it can be made");
        }
        #[cfg(unix)]
        let made = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status();
        #[cfg(unix)]
        assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
        ground
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("folder")
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    /// Nothing outside was changed.
    fn check(&self) {
        let names = |path: PathBuf| {
            let entries = fs::read_dir(path).expect("it is there").flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.outside()), ["secret.txt"]);
        assert_eq!(names(self.0.path().to_owned()), ["folder", "outside", "secret.txt"]);
        let secret = fs::read_to_string(self.outside().join("secret.txt")).expect("it is there");
        assert_eq!(secret, SECRET);
        let hidden = self.folder().join(".git");
        assert_eq!(names(hidden.clone()), ["config"]);
        assert_eq!(fs::read_to_string(hidden.join("config")).expect("it is there"), SECRET);
    }
}
