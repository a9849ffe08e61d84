//! Acts on lifecycle events: `cargo run -p pintle --example events -- examples/charts/web`.
//!
//! A handler is a closure on an event. The ones here do what handlers are mostly for: one sets a value before templates
//! are rendered, one refuses what it does not want, and one puts a label on every object. They are called by whatever
//! operation the `Lifecycle` is given to, on the same emitter as the handlers that charts bring along as scripts.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use pintle::events::{ChartPath, Context, Handler, HandlerError, Registration};
use pintle::ops::{TemplateRequest, template_with_events};
use pintle::tree::Node;
use pintle::{Lifecycle, Silent};

/// The most that this program lets anyone run.
const MOST: i64 = 5;

fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart")?;
    print!("{}", rendered(chart.into(), 3)?);
    Ok(())
}

/// What a chart renders to, with so many replicas.
pub(crate) fn rendered(chart: PathBuf, replicas: i64) -> Result<String> {
    let lifecycle = Lifecycle::default();
    // The values are merged by now. What is set here wins over what users give, and must fit the chart's schema.
    on(&lifecycle, "pre-render", 0.2, move |context| {
        context.values_mut()?.insert("replicas".into(), replicas.into());
        Ok(())
    })?;
    // Handlers run by weight, so that this one sees what the other did. Its error ends the operation.
    on(&lifecycle, "pre-render", 0.9, |context| {
        match context.values().and_then(|values| values.get("replicas")) {
            Some(Node::Int(wanted)) if *wanted > MOST => {
                Err(HandlerError::new(format!("{wanted} replicas are more than {MOST}")))
            }
            _ => Ok(()),
        }
    })?;
    // Objects are there once templates are rendered, and can be changed, added and taken away.
    on(&lifecycle, "post-render", Registration::DEFAULT_WEIGHT, |context| {
        for rendered in context.objects_mut()? {
            rendered.object.set_label("example.com/team", "blue");
        }
        Ok(())
    })?;
    let request = TemplateRequest { chart, name: "demo".to_owned(), ..TemplateRequest::default() };
    let rendered = template_with_events(&request, &lifecycle, &mut Silent)?;
    Ok(String::from_utf8_lossy(&rendered.text).into_owned())
}

/// Registers a handler of this program. At the same weight, the handlers of charts come before it.
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
