//! Acts on lifecycle events: `cargo run -p pintle --example events -- CHART`.
//!
//! Renders a chart with two handlers: one sets a value before templates are rendered, the other puts a label on every
//! object that came out of them.
#![allow(clippy::print_stdout)]

use anyhow::{Context as _, Result};
use pintle::events::{ChartPath, Handler, Registration};
use pintle::ops::{TemplateRequest, template_with_events};
use pintle::{Lifecycle, Silent};

/// Registers a handler of this program. Handlers of charts run before it, unless their weight is larger.
fn on(lifecycle: &Lifecycle, event: &str, handler: Handler) -> Result<()> {
    let chart = ChartPath::program();
    let place = "examples/library/events.rs".to_owned();
    lifecycle.on(Registration { event, weight: Registration::MIDDLE, chart, place }, handler)?;
    Ok(())
}

fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart")?.into();
    let lifecycle = Lifecycle::default();
    on(
        &lifecycle,
        "pre-render",
        Box::new(|context| {
            // The values are merged by now; what is set here wins, and must fit the chart's schema.
            context.values_mut()?.insert("replicaCount".into(), 3.into());
            Ok(())
        }),
    )?;
    on(
        &lifecycle,
        "post-render",
        Box::new(|context| {
            // An error, as in `return Err(HandlerError::new("why"))`, would stop the operation here.
            for rendered in context.objects_mut()? {
                rendered.object.set_label("example.com/team", "blue");
            }
            Ok(())
        }),
    )?;
    let request = TemplateRequest { chart, name: "demo".to_owned(), ..TemplateRequest::default() };
    let rendered = template_with_events(&request, &lifecycle, &mut Silent)?;
    print!("{}", String::from_utf8_lossy(&rendered.text));
    Ok(())
}
