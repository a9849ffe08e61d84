//! Reacts to a lifecycle event in Rust: `cargo run -p pintle --example on_event -- CHART`.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use pintle::events::Event;
use pintle::ops::{TemplateRequest, template};
use pintle::{Error, Lifecycle, Session, Silent};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let chart = std::env::args().nth(1).unwrap_or_else(|| "examples/charts/web".to_owned());
    labelled(chart.into()).await.map(|text| println!("{text}"))
}

pub(crate) async fn labelled(chart: PathBuf) -> Result<String, Error> {
    let events = Lifecycle::default();
    events.on_event(Event::PostRender, |context| {
        context.objects_mut()?.iter_mut().for_each(|item| item.object.set_label("team", "blue"));
        Ok(())
    })?;
    let request = TemplateRequest { chart: chart.into(), ..TemplateRequest::default() };
    let output = template(&Session::offline().with_events(events), &request, &mut Silent).await?;
    Ok(String::from_utf8_lossy(&output.text).into_owned())
}
