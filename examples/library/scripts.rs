//! Runs the scripts of a chart: `cargo run -p pintle --example scripts -- examples/scripts/labels`.
//!
//! Scripts can access only what the program provides (`Services`), and run only if the program consents to the
//! permissions that their chart requests (`Consent`). A handler of the program sees the objects after the scripts
//! changed them.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use pintle::events::{ChartPath, Event, Registration};
use pintle::lua::{Level, Listener, Permissions, Services};
use pintle::ops::{TemplateRequest, template};
use pintle::{Granted, Lifecycle, Network, Scripting, Session, Silent};

/// Records what scripts log and change.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|note| format!("# {note}\n"))
            .collect()
    }
}

impl Listener for Notes {
    fn log(&self, chart: &ChartPath, level: Level, text: &str) {
        self.note(format!("{chart} says ({level:?}): {text}"));
    }

    // Computing changes takes time, so a listener has to ask for it.
    fn wants_changes(&self) -> bool {
        true
    }

    fn changed(&self, chart: &ChartPath, event: Event, place: &str, paths: &[String]) {
        self.note(format!("{chart} changed {} at {event} ({place})", paths.join(", ")));
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart")?;
    print!("{}", rendered(chart.into()).await?);
    Ok(())
}

/// Returns the output of a chart with scripts, preceded by what the scripts did.
pub(crate) async fn rendered(chart: PathBuf) -> Result<String> {
    let notes = Arc::new(Notes::default());
    let services = Services {
        listener: Some(notes.clone()),
        network: Some(Arc::new(Network::public())),
        ..Services::default()
    };
    // A chart that requests anything but the network is refused. An interactive program would ask its users: see
    // `Consent`.
    let granted = Granted(Permissions::parse("network")?);
    let lifecycle = Lifecycle::default().with_scripting(Scripting::new(services, granted));
    let counting = Arc::clone(&notes);
    lifecycle.on(
        Registration {
            event: "post-render",
            weight: Registration::DEFAULT_WEIGHT,
            chart: ChartPath::program(),
            location: "examples/library/scripts.rs".to_owned(),
        },
        Box::new(move |context| {
            counting.note(format!("{} objects after the scripts", context.objects().len()));
            Ok(())
        }),
    )?;
    let request =
        TemplateRequest { chart: chart.into(), name: "demo".to_owned(), ..TemplateRequest::default() };
    let rendered = template(&Session::offline().with_events(lifecycle), &request, &mut Silent).await?;
    Ok(format!("{}{}", notes.text(), String::from_utf8_lossy(&rendered.text)))
}
