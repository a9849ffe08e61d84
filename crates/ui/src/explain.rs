//! Where a rendered line and a value come from, and what a value reaches.

use std::sync::Arc;

use pintle::Silent;
use pintle::chart::Chart;
use pintle::ops::{
    ExplainedCondition, ExplainedLine, ExplainedValue, Explanation, HIDDEN, HiddenTexts, RenderedLine,
    explain_chart, explain_release, hide_lines,
};
use pintle::release::ReleaseVersion;
use pintle::render::TemplateLine;
use pintle::values::{Layer, Origin};
use pintle_tree::{Node, ValuePath};
use serde_json::{Value, json};

use crate::access::reveals;
use crate::answer::{Answered, Request};
use crate::app::App;
use crate::error::{Failure, Result};
use crate::json::node;
use crate::plans::ChartQuery;
use crate::records::{blocking, load};
use crate::{plans, query};

/// The most values, and the most lines, of an answer.
const MAX_VALUES: usize = 2000;
const MAX_LINES: usize = 2000;

/// An explanation, and what of it is not shown.
struct Explained {
    explanation: Arc<Explanation>,
    /// Nothing is hidden without it.
    hidden: Option<HiddenTexts>,
}

/// The explanation of the version that a request is about. Rendering takes longest, so the last ones are kept.
async fn explained(app: &App, request: &Request) -> Result<Explained> {
    let session = app.session(request).await?;
    let version = load(app, &session, request).await?;
    let reveal = reveals(app, request, request.part(0)).await?;
    let hidden = (!reveal).then(|| HiddenTexts::of(&version));
    let viewer = request.viewer.as_ref().map(|viewer| viewer.name.clone()).unwrap_or_default();
    let key =
        (app.context(request)?, viewer, version.namespace.clone(), version.name.clone(), version.number);
    if let Some(explanation) = app.explanations.0.get(&key) {
        return Ok(Explained { explanation, hidden });
    }
    let made = blocking(move || explain_release(&version, &mut Silent)).await?;
    let explanation = Arc::new(made.map_err(|error| app.failure(&error))?);
    app.explanations.0.insert(key, Arc::clone(&explanation));
    Ok(Explained { explanation, hidden })
}

/// What a request asks about.
enum Question {
    Line(RenderedLine),
    Value(ValuePath),
}

impl Question {
    fn read(line: &str, value: Option<&str>) -> Result<Question> {
        let bad = |error: String| Failure::input(error);
        match (line, value) {
            ("", None) => Err(Failure::input("nothing is asked").hint("name a `line` or a `value`")),
            ("", Some(value)) => Ok(Question::Value(path(value)?)),
            (line, _) => {
                let parsed: pintle::Result<RenderedLine> = line.parse();
                parsed.map(Question::Line).map_err(|error| bad(error.to_string()))
            }
        }
    }
}

fn path(text: &str) -> Result<ValuePath> {
    match text {
        "" => Ok(ValuePath::root()),
        text => text.parse().map_err(|reason: String| Failure::input(format!("{text}: {reason}"))),
    }
}

pub(crate) async fn release(app: Arc<App>, request: Request) -> Result<Answered> {
    let query = &request.query;
    let value = Some(query.text("value")).filter(|_| query.given("line").is_none());
    let question = Question::read(query.text("line"), value)?;
    let explained = explained(&app, &request).await?;
    let answer = blocking(move || explained.answer(&question)).await?;
    answer.map(Answered::json).map_err(|error| app.failure(&error))
}

pub(crate) async fn files(app: Arc<App>, request: Request) -> Result<Answered> {
    let explained = explained(&app, &request).await?;
    let files = blocking(move || explained.files()).await?;
    files.map(Answered::json).map_err(|error| app.failure(&error))
}

pub(crate) async fn reaches(app: Arc<App>, request: Request) -> Result<Answered> {
    let value = path(request.query.text("value"))?;
    let explained = explained(&app, &request).await?;
    let lines = blocking(move || explained.reaches(&value)).await?;
    lines.map(Answered::json).map_err(|error| app.failure(&error))
}

/// Values that are not applied: the body is that of a plan, with a line or a value.
pub(crate) async fn edited(app: Arc<App>, request: Request) -> Result<Answered> {
    let body = query::body(&request.body)?;
    let value = body.get("value").and_then(Value::as_str);
    let question = Question::read(query::text(&body, "line")?, value)?;
    let wanted = ChartQuery::read(&body)?;
    let session = app.session(&request).await?;
    let (template, recorded) = plans::template(&app, &request, &session, &wanted).await?;
    let offline = app.settings.offline.clone();
    let handle = tokio::runtime::Handle::current();
    let made = blocking(move || handle.block_on(explain_chart(&offline, &template, &mut Silent))).await?;
    let explanation = Arc::new(made.map_err(|error| app.failure(&error))?);
    let hidden = HiddenTexts::of(&recorded.unwrap_or_else(ReleaseVersion::default));
    let explained = Explained { explanation, hidden: Some(hidden) };
    let answer = blocking(move || explained.answer(&question)).await?;
    answer.map(Answered::json).map_err(|error| app.failure(&error))
}

impl Explained {
    fn answer(&self, question: &Question) -> pintle::Result<Value> {
        match question {
            Question::Line(line) => Ok(self.line(&self.explanation.explain_line(line)?)),
            Question::Value(path) => {
                let values = self.explanation.explain(path)?;
                let shown: Vec<Value> =
                    values.iter().take(MAX_VALUES).map(|value| self.value(value)).collect();
                Ok(json!({"values": shown, "truncated": values.len() > MAX_VALUES}))
            }
        }
    }

    fn line(&self, line: &ExplainedLine) -> Value {
        let conditions: Vec<Value> =
            line.conditions.iter().map(|condition| self.condition(condition)).collect();
        json!({
            "file": line.file,
            "line": line.line,
            "text": self.text(&line.text),
            "templates": line.templates.iter().map(|line| template_line(self.explanation.chart(), line)).collect::<Vec<Value>>(),
            "values": self.values(&line.values),
            "fields": line.fields,
            "conditions": conditions,
        })
    }

    /// A text without the data of Secrets.
    fn text(&self, text: &str) -> String {
        match &self.hidden {
            Some(hidden) => hidden.hide_in_text(text),
            None => text.to_owned(),
        }
    }

    fn condition(&self, condition: &ExplainedCondition) -> Value {
        json!({"at": template_line(self.explanation.chart(), &condition.at), "values": self.values(&condition.values),
            "fields": condition.fields})
    }

    fn values(&self, values: &[ExplainedValue]) -> Vec<Value> {
        values.iter().map(|value| self.value(value)).collect()
    }

    fn value(&self, value: &ExplainedValue) -> Value {
        let (shown, is_hidden) = self.shown(&value.path, &value.value);
        let readers = value.readers.iter().map(|reader| {
            let mut line = template_line(self.explanation.chart(), &reader.at);
            line["path"] = reader.path.to_string().into();
            line
        });
        json!({
            "path": value.path.to_string(),
            "value": shown,
            "origin": value.origin.as_ref().map(|origin| self.origin(origin)),
            "overridden": value.overridden.iter().map(|origin| self.origin(origin)).collect::<Vec<Value>>(),
            "readers": readers.collect::<Vec<Value>>(),
            "hidden": is_hidden,
        })
    }

    fn origin(&self, origin: &Origin) -> Value {
        let layer = match origin.layer {
            Layer::ChartDefault => "default",
            Layer::ParentChart => "parent",
            Layer::SubchartDefault => "subchart",
            Layer::ValuesFile => "file",
            Layer::Flag(_) => "set",
            Layer::Release | Layer::Tree => "user",
        };
        let (value, _) = self.shown(&origin.path, &origin.value);
        json!({"layer": layer, "name": self.text(&origin.source), "line": origin.line,
            "path": origin.path.to_string(), "value": value})
    }

    /// A value without what is secret in it, and whether anything is.
    fn shown(&self, path: &ValuePath, value: &Node) -> (Value, bool) {
        let Some(hidden) = &self.hidden else { return (node(value), false) };
        let (mut value, mut places) = (value.clone(), Vec::new());
        hidden.hide_below(path, &mut value, &mut places);
        (node(&value), !places.is_empty())
    }

    fn files(&self) -> pintle::Result<Value> {
        let documents = self.explanation.documents()?.into_iter().map(|document| {
            let text = match &self.hidden {
                Some(_) => hide_lines(&document.text).0,
                None => document.text,
            };
            json!({"file": document.file, "kind": document.kind, "name": document.name, "line": document.line,
                "text": text})
        });
        Ok(json!({"files": documents.collect::<Vec<Value>>(), "problem": self.explanation.problem}))
    }

    fn reaches(&self, value: &ValuePath) -> pintle::Result<Value> {
        let mut lines = Vec::new();
        for document in self.explanation.documents()? {
            let text = match &self.hidden {
                Some(_) => hide_lines(&document.text).0,
                None => document.text.clone(),
            };
            let texts: Vec<&str> = text.split('\n').collect();
            for line in self.explanation.lines_of(&document, value) {
                let text = texts.get(line.saturating_sub(document.line)).copied().unwrap_or(HIDDEN);
                lines.push(json!({"file": document.file, "line": line, "text": text}));
            }
            if lines.len() > MAX_LINES {
                break;
            }
        }
        let truncated = lines.len() > MAX_LINES;
        lines.truncate(MAX_LINES);
        Ok(json!({"value": value.to_string(), "lines": lines, "truncated": truncated}))
    }
}

/// A line of a template with its text.
fn template_line(chart: &Chart, line: &TemplateLine) -> Value {
    json!({"file": line.template, "line": line.line, "text": template_text(chart, &line.template, line.line)})
}

fn template_text(chart: &Chart, path: &str, line: usize) -> Option<String> {
    let rest = path.strip_prefix(chart.name())?.strip_prefix('/')?;
    let template = chart.templates.iter().find(|template| template.name == rest);
    if let Some(template) = template {
        let text = String::from_utf8_lossy(template.data.as_ref()).into_owned();
        return text.split('\n').nth(line.checked_sub(1)?).map(str::to_owned);
    }
    let below = rest.strip_prefix("charts/")?;
    chart.subcharts.iter().find_map(|subchart| template_text(subchart, below, line))
}
