//! Renders a chart: `cargo run -p pintle --example template -- CHART [--set a=b …]`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context as _, Result};
use pintle::ops::{TemplateRequest, template};
use pintle::{Progress, Reporter, Session, ValuesLayer};

/// Prints warnings; a server would store them with the request instead.
struct Stderr;

impl Reporter for Stderr {
    fn report(&mut self, progress: Progress) {
        if let Progress::Message(message) = progress {
            eprintln!("{}", message.line);
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let chart = arguments.next().context("name a chart")?;
    let values = arguments.filter(|argument| argument != "--set").map(ValuesLayer::Set).collect();
    let request = TemplateRequest {
        chart: chart.as_str().into(),
        name: "demo".to_owned(),
        namespace: "staging".to_owned(),
        values,
        ..TemplateRequest::default()
    };
    let rendered = template(&Session::offline(), &request, &mut Stderr).await?;
    print!("{}", String::from_utf8_lossy(&rendered.text));
    Ok(())
}
