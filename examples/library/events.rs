//! Handles lifecycle events: `cargo run -p pintle --example events -- examples/charts/web`.
//!
//! A handler is a closure for an event. These show the most common uses: one sets a value before templates are
//! rendered, one rejects a bad value, and one labels every object. They run in every operation that gets the
//! `Lifecycle`, together with the handlers that charts provide as scripts.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use pintle::events::{ChartPath, Context, Handler, HandlerError, Registration};
use pintle::ops::{TemplateRequest, template};
use pintle::tree::Node;
use pintle::{Lifecycle, Session, Silent};

/// The limit of replicas that this program enforces.
const MAX_REPLICAS: i64 = 5;

#[tokio::main]
async fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart")?;
    print!("{}", rendered(chart.into(), 3).await?);
    Ok(())
}

/// Returns the output of a chart with this number of replicas.
pub(crate) async fn rendered(chart: PathBuf, replicas: i64) -> Result<String> {
    let lifecycle = Lifecycle::default();
    // The values are merged by now. What is set here overrides the user's values and is validated against the chart's
    // schema.
    on(&lifecycle, "pre-render", 0.2, move |context| {
        context.values_mut()?.insert("replicas".into(), replicas.into());
        Ok(())
    })?;
    // Handlers run in order of weight, so this one sees the change of the other. Its error ends the operation.
    on(&lifecycle, "pre-render", 0.9, |context| {
        match context.values().and_then(|values| values.get("replicas")) {
            Some(Node::Int(wanted)) if *wanted > MAX_REPLICAS => {
                Err(HandlerError::new(format!("{wanted} replicas are more than {MAX_REPLICAS}")))
            }
            _ => Ok(()),
        }
    })?;
    // After rendering, handlers may change, add and remove objects.
    on(&lifecycle, "post-render", Registration::DEFAULT_WEIGHT, |context| {
        for rendered in context.objects_mut()? {
            rendered.object.set_label("example.com/team", "blue");
        }
        Ok(())
    })?;
    let request =
        TemplateRequest { chart: chart.into(), name: "demo".to_owned(), ..TemplateRequest::default() };
    let rendered = template(&Session::offline().with_events(lifecycle), &request, &mut Silent).await?;
    Ok(String::from_utf8_lossy(&rendered.text).into_owned())
}

/// Registers a handler of this program. At the same weight, the handlers of charts run first.
fn on(
    lifecycle: &Lifecycle,
    event: &str,
    weight: f64,
    handler: impl FnMut(&mut Context) -> Result<(), HandlerError> + Send + 'static,
) -> Result<()> {
    let (chart, location) = (ChartPath::program(), "examples/library/events.rs".to_owned());
    let handler: Handler = Box::new(handler);
    lifecycle.on(Registration { event, weight, chart, location }, handler)?;
    Ok(())
}
