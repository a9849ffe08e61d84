//! `lengthEqual`: lists of a given length, or of the same length.

use std::collections::BTreeMap;

use pintle_tree::Node;

use super::{Context, Verdict, each_document};
use crate::fail::{self, Info};
use crate::mapstructure::Fields;
use crate::path::Path;

#[derive(Debug)]
pub(crate) struct LengthEqual {
    paths: Vec<Path>,
    path: Path,
    count: Option<i64>,
}

impl LengthEqual {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        LengthEqual {
            paths: fields.strings("paths").iter().map(|path| Path::new(path)).collect(),
            path: Path::new(&fields.str("path")),
            count: fields.int("count"),
        }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        let single = !self.path.text().is_empty();
        if single && self.count.is_none_or(|count| count < 0) {
            return (false, fail::error(None, None, "'count' field must be set if 'path' is used"));
        }
        if single && !self.paths.is_empty() {
            return (false, fail::error(None, None, "'paths' couldn't be used with 'path'"));
        }
        let negative = context.negative;
        each_document(
            context,
            |context, index, document| {
                if single {
                    let (passed, info, _) = self.count(context, index, document, &self.path);
                    (passed, info)
                } else {
                    self.same(context, index, document)
                }
            },
            || info("", "", "no manifest found", None, negative),
        )
    }

    /// Whether the lists at a path have the wanted length, and the length of the last.
    fn count(
        &self,
        context: &Context<'_, '_>,
        index: usize,
        document: &Node,
        path: &Path,
    ) -> (bool, Info, usize) {
        let found = match path.find(document) {
            Ok(found) => found,
            Err(error) => return (false, fail::error(Some(index), None, &error), 0),
        };
        let mut passed = found.is_empty() && context.negative;
        let (mut lines, mut length) = (Info::new(), 0);
        for (at, value) in found.iter().enumerate() {
            let items = value.as_list();
            if items.is_none() && self.count.is_none() {
                lines.append(&mut fail::error(
                    Some(index),
                    Some(at),
                    &format!("{} is not array", path.text()),
                ));
                continue;
            }
            length = items.map_or(0, <[Node]>::len);
            let wrong = self.count.filter(|count| (length as i64 == *count) == context.negative);
            if let Some(count) = wrong {
                let (count, actual) = (count.to_string(), length.to_string());
                lines.append(&mut info(path.text(), &count, &actual, Some(index), context.negative));
            }
            passed = wrong.is_none() && (at == 0 || passed);
            if !passed && context.fail_fast {
                break;
            }
        }
        (passed, lines, length)
    }

    /// Whether the lists at all paths have the same length.
    fn same(&self, context: &Context<'_, '_>, index: usize, document: &Node) -> Verdict {
        let mut lengths = BTreeMap::new();
        let (mut all, mut lines) = (true, Info::new());
        for path in &self.paths {
            let (passed, mut info, length) = self.count(context, index, document, path);
            lengths.insert(path.text(), length);
            if !passed {
                lines.append(&mut info);
                all = false;
            }
        }
        if !all {
            return (false, lines);
        }
        let mut first = None;
        for (path, length) in lengths {
            match first {
                None => first = Some(length),
                Some(first) if (first == length) == context.negative => {
                    let actual = length.to_string();
                    return (false, info(path, "-1", &actual, Some(index), context.negative));
                }
                Some(_) => {}
            }
        }
        (first.is_some(), lines)
    }
}

fn info(path: &str, count: &str, actual: &str, index: Option<usize>, negative: bool) -> Info {
    let format = fail::format(negative, true, true, false, " to match count");
    fail::lines(&format, index, None, &[path, count, actual])
}
