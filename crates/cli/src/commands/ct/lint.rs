//! `ct lint`: the checks of one chart, in chart-testing's order.

use std::path::absolute;
use std::process::Command;
use std::sync::Arc;

use pintle::repo::Request;
use pintle::yaml::lint::{Config, Level, check};
use pintle_tree::quote::quote;

use super::charts::{Chart, Fields, semantic_version};
use super::schema::Schema;
use super::{Outcome, Testing, not_started};
use crate::failure::Failure;
use crate::path::join;

/// The style of charts, unless there is a lintconf.yaml.
const STYLE: &str = "\
rules:
  braces: {max-spaces-inside: 0}
  brackets: {max-spaces-inside: 0}
  colons: enable
  commas: enable
  comments: enable
  empty-lines: enable
  hyphens: enable
  indentation: {spaces: consistent, indent-sequences: whatever}
  key-duplicates: enable
  new-line-at-end-of-file: enable
  new-lines: enable
  trailing-spaces: enable
  truthy: {level: warning}
";

/// chart-testing's error for a program that fails.
const EXIT_1: &str = "failed waiting for process: exit status 1";

type Check<T> = fn(&mut T, &Chart) -> Outcome;

impl Testing<'_, '_> {
    pub(super) fn lint_chart(&mut self, chart: &Chart) -> Outcome {
        let config = Arc::clone(&self.config);
        self.print(&format!("Linting chart {}\n", chart.quoted()))?;
        let checks: [(bool, Check<Self>); 4] = [
            (config.check_version_increment, Testing::check_version),
            (config.validate_chart_schema, Testing::check_schema),
            (config.validate_yaml, Testing::check_style),
            (config.validate_maintainers, Testing::check_maintainers),
        ];
        for (_, check) in checks.iter().filter(|(wanted, _)| *wanted) {
            if let Err(error) = check(self, chart)? {
                return Ok(Err(error));
            }
        }
        for command in &config.additional_commands {
            if let Err(error) = self.run_command(command, chart)? {
                return Ok(Err(error));
            }
        }
        let defaults = [String::new()];
        let files = if chart.values_files.is_empty() { &defaults[..] } else { &chart.values_files };
        for file in files {
            let mut words = vec!["lint".to_owned(), chart.path.clone()];
            if !file.is_empty() {
                self.print(&format!("\nLinting chart with values file {}...\n\n", quote(file.as_bytes())))?;
                words.extend(["--values".to_owned(), file.clone()]);
            }
            words.extend(config.helm_lint_extra_args.split_whitespace().map(str::to_owned));
            if let Err(error) = self.helm(words)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// The version of the chart on the target branch, if it is there; or why it cannot be read.
    pub(super) fn old_version(&mut self, chart: &Chart) -> Result<Result<Option<String>, String>, Failure> {
        let file = join(&[&chart.path, "Chart.yaml"]);
        let Some(text) = self.file_on_branch(&file) else {
            let branch = self.config.target_branch.clone();
            self.print(&format!("Unable to find chart on {branch}. New chart detected.\n"))?;
            return Ok(Ok(None));
        };
        // A chart without a version counts as new.
        let version = Fields::read(text.as_bytes())
            .map(|fields| Some(fields.text("version")).filter(|version| !version.is_empty()));
        Ok(version.map_err(|error| format!("failed reading old chart version: {error}")))
    }

    fn check_version(&mut self, chart: &Chart) -> Outcome {
        self.print(&format!("Checking chart {} for a version bump...\n", chart.quoted()))?;
        let old = match self.old_version(chart)? {
            Ok(Some(old)) => old,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        self.print(&format!("Old chart version: {old}\nNew chart version: {}\n", chart.version))?;
        let (old, new) = match (semantic_version(&old), semantic_version(&chart.version)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
        };
        if old.compare(&new).is_ge() {
            return Ok(Err("chart version not ok. Needs a version bump! ".to_owned()));
        }
        self.print("Chart version ok.\n")?;
        Ok(Ok(()))
    }

    fn check_schema(&mut self, chart: &Chart) -> Outcome {
        let config = Arc::clone(&self.config);
        let file = join(&[&chart.path, "Chart.yaml"]);
        self.print(&format!("Validating {file}...\n"))?;
        let (name, schema) = match &config.chart_yaml_schema {
            Some(path) => (path.as_str(), Schema::read(&read(path)?)),
            None => ("built-in", Schema::of_charts()),
        };
        let schema = schema.map_err(|error| Failure::run_time(format!("{name}: {error}")))?;
        let errors = schema.check(&read(&file)?);
        if errors.is_empty() {
            self.print("Validation success! \u{1f44d}\n")?;
            return Ok(Ok(()));
        }
        let lines: String = errors.iter().map(|error| format!("\t{error}\n")).collect();
        self.print(&format!(
            "Validation failed!\nError validating data '{}' with schema '{name}'\n{lines}",
            absolute(&file).map_or(file.clone(), |path| path.to_string_lossy().into_owned())
        ))?;
        Ok(Err(EXIT_1.to_owned()))
    }

    fn check_style(&mut self, chart: &Chart) -> Outcome {
        let config = Arc::clone(&self.config);
        let style = match &config.lint_conf {
            Some(path) => Config::read(&read(path)?)
                .map_err(|error| Failure::run_time(format!("invalid config: {path}: {error}")))?,
            None => Config::read(STYLE.as_bytes()).map_err(Failure::run_time)?,
        };
        let own = ["Chart.yaml", "values.yaml"].map(|name| join(&[&chart.path, name]));
        for file in own.iter().chain(&chart.values_files) {
            let problems = check(&read(file)?, &style);
            if !problems.is_empty() {
                let lines: String = problems.iter().map(|problem| format!("  {problem}\n")).collect();
                self.print(&format!("{file}\n{lines}\n"))?;
            }
            if problems.iter().any(|problem| problem.level == Level::Error) {
                return Ok(Err(EXIT_1.to_owned()));
            }
        }
        Ok(Ok(()))
    }

    /// Checks that maintainers are accounts on the host of the git remote.
    fn check_maintainers(&mut self, chart: &Chart) -> Outcome {
        self.print("Validating maintainers...\n")?;
        if chart.deprecated {
            return Ok(match chart.maintainers.is_empty() {
                true => Ok(()),
                false => Err("deprecated chart must not have maintainers".to_owned()),
            });
        }
        if chart.maintainers.is_empty() {
            return Ok(Err("chart doesn't have maintainers".to_owned()));
        }
        let remote = self.config.remote.clone();
        let url = match self.git(&["ls-remote", "--get-url", &remote]) {
            Ok(url) => url,
            Err(error) => return Ok(Err(error)),
        };
        let Some(host) = host_of(&url) else {
            let url = quote(url.as_bytes());
            return Ok(Err(format!("could not parse git repository domain for {url}")));
        };
        let getter = crate::remote::getter(self.invocation, std::time::Duration::from_secs(30));
        for maintainer in &chart.maintainers {
            let address = format!("https://{host}/{maintainer}");
            let request = Request { url: &address, home: &address, limit: 16 << 20, ..Request::default() };
            if let Err(error) = getter.get_bytes(&request) {
                let maintainer = quote(maintainer.as_bytes());
                return Ok(Err(format!("failed validating maintainer {maintainer}: {error}")));
            }
        }
        Ok(Ok(()))
    }

    /// Runs an additional command; `{{ .Path }}` and the like are fields of the chart.
    fn run_command(&mut self, command: &str, chart: &Chart) -> Outcome {
        let rendered =
            match crate::text_template::chart_command(command, &chart.path, &chart.name, &chart.version) {
                Ok(rendered) => rendered,
                Err(error) => return Ok(Err(error)),
            };
        let Some(words) = split_words(&rendered) else {
            return Ok(Err(format!("invalid command line string: {rendered}")));
        };
        let Some((program, arguments)) = words.split_first() else { return Ok(Ok(())) };
        self.show_call(program, &arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
        let output = match Command::new(program).args(arguments).output() {
            Ok(output) => output,
            Err(error) => {
                return Ok(Err(format!("failed running process: {}", not_started(program, &error))));
            }
        };
        // chart-testing merges the standard error of programs into its standard output.
        for stream in [&output.stdout, &output.stderr] {
            for line in String::from_utf8_lossy(stream).lines() {
                self.print(&format!("{line}\n"))?;
            }
        }
        Ok(match output.status.code() {
            Some(0) => Ok(()),
            code => Err(format!("failed waiting for process: exit status {}", code.unwrap_or(-1))),
        })
    }
}

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    crate::read::file(path, crate::read::MAX_SETTINGS)
        .map_err(|error| Failure::run_time(format!("{path}: {error}")))
}

/// The host of a URL, or of `user@host:path`.
fn host_of(url: &str) -> Option<String> {
    let rest = match url.split_once("://") {
        Some((_, rest)) => rest.split('/').next()?,
        None => url.split_once(':')?.0,
    };
    let host = rest.rsplit('@').next()?;
    let host = host.split(':').next()?;
    (!host.is_empty() && !host.contains('/')).then(|| host.to_owned())
}

/// Divides a command line at blanks outside of quotes.
fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some('"') | None, '\\') => word.get_or_insert_default().push(letters.next()?),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_remotes() {
        assert_eq!(host_of("https://user@example.org:8443/a/b.git").as_deref(), Some("example.org"));
        assert_eq!(host_of("git@example.org:a/b.git").as_deref(), Some("example.org"));
        assert_eq!(host_of("/srv/git/a"), None);
    }

    #[test]
    fn command_lines_have_quotes() {
        assert_eq!(split_words("a 'b c' \"d\\\"e\" f\\ g").expect("words"), ["a", "b c", "d\"e", "f g"]);
        assert_eq!(split_words("a 'b"), None);
    }
}
