//! Runs the scripts of a chart beside handlers of this program: `cargo run -p pintle --example scripts -- CHART`.
//!
//! The program decides what scripts may reach and which permissions they get; its own handler runs after theirs and sees
//! what they made of the objects.
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use anyhow::{Context as _, Result};
use pintle::events::{ChartPath, Event, Registration};
use pintle::lua::{Level, Listener, Permissions, Services};
use pintle::ops::{TemplateRequest, template_with_events};
use pintle::{Granted, Lifecycle, Network, Scripting, Silent};

/// Prints what scripts say, and what they change.
struct Loud;

impl Listener for Loud {
    fn log(&self, chart: &ChartPath, level: Level, text: &str) {
        println!("# {chart} says ({level:?}): {text}");
    }

    fn wants_changes(&self) -> bool {
        true
    }

    fn changed(&self, chart: &ChartPath, event: Event, place: &str, paths: &[String]) {
        println!("# {chart} changed {} at {event} ({place})", paths.join(", "));
    }
}

fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart")?.into();
    let services = Services {
        listener: Some(Arc::new(Loud)),
        network: Some(Arc::new(Network::public())),
        ..Services::default()
    };
    // A chart that asks for anything but the network is refused. A program with users would ask them: see `Consent`.
    let granted = Granted(Permissions::parse("network")?);
    let lifecycle = Lifecycle::default().with_scripting(Scripting::new(services, granted));
    lifecycle.on(
        Registration {
            event: "post-render",
            weight: Registration::MIDDLE,
            chart: ChartPath::program(),
            place: "examples/library/scripts.rs".to_owned(),
        },
        Box::new(|context| {
            println!("# {} objects after the scripts", context.objects().len());
            Ok(())
        }),
    )?;
    let request = TemplateRequest { chart, name: "demo".to_owned(), ..TemplateRequest::default() };
    let rendered = template_with_events(&request, &lifecycle, &mut Silent)?;
    print!("{}", String::from_utf8_lossy(&rendered.text));
    Ok(())
}
