//! Streams of objects as Kubernetes' own tools read them (`NewYAMLOrJSONDecoder`): JSON values one after the other, or
//! YAML documents between separator lines. This is not how Helm splits what templates render; Helm's rule cuts at every
//! line that begins with `---`, whatever follows.

use std::borrow::Cow;

use pintle_tree::json;

use crate::documents::Documents;

/// How far Kubernetes searches for the brace that makes a stream JSON: the buffer size that kubectl and Helm pass.
const GUESS: usize = 4096;

/// A text read document by document. After an error the rest is not read.
#[derive(Clone, Debug)]
pub struct Stream<'t> {
    json: Option<Json<'t>>,
    documents: Documents<'t>,
    done: bool,
}

/// The part of a stream that is read as JSON.
#[derive(Clone, Debug)]
struct Json<'t> {
    rest: &'t [u8],
    count: usize,
    /// The number of bytes before `rest`.
    offset: usize,
}

impl<'t> Stream<'t> {
    /// Starts reading a text.
    pub fn new(text: &'t [u8]) -> Self {
        let head = &text[..text.len().min(GUESS)];
        let looks_like_json = head.trim_ascii_start().first() == Some(&b'{');
        Stream {
            json: looks_like_json.then_some(Json { rest: text, count: 0, offset: 0 }),
            documents: Documents::new(if looks_like_json { b"" } else { text }),
            done: false,
        }
    }

    /// Reads the next document: `json` reads one value from the start of a longer text and says how many bytes it
    /// took, `yaml` reads a whole YAML document. A text that looks like JSON and turns out not to be is read as YAML;
    /// when it is neither, the error is that of JSON.
    pub fn next_with<T>(
        &mut self,
        json: impl FnOnce(&'t [u8]) -> Result<(T, usize), json::Error>,
        yaml: impl FnOnce(Cow<'t, [u8]>) -> Result<T, String>,
    ) -> Option<Result<T, String>> {
        if self.done {
            return None;
        }
        let mut first = None;
        if let Some(state) = &mut self.json {
            if state.rest.trim_ascii_start().is_empty() {
                return None;
            }
            match json(state.rest) {
                Ok((value, used)) => {
                    state.rest = &state.rest[used..];
                    state.offset += used;
                    state.count += 1;
                    return Some(Ok(value));
                }
                // After more than one value the stream is certainly JSON.
                Err(error) if state.count > 1 => {
                    self.done = true;
                    return Some(Err(error.to_string()));
                }
                Err(error) => first = Some(stream_text(&error, state.offset)),
            }
            self.documents = Documents::new(after_line_of_blanks(state.rest));
            self.json = None;
        }
        let outcome = match self.documents.next() {
            Ok(None) => return None,
            Ok(Some(document)) => yaml(document),
            Err(separator) => Err(separator),
        };
        self.done = outcome.is_err();
        Some(outcome.map_err(|error| first.unwrap_or(error)))
    }
}

/// Syntax errors have an offset; others, such as an unexpected end, do not.
fn stream_text(error: &json::Error, before: usize) -> String {
    let text = error.to_string();
    match error.kind() {
        json::ErrorKind::Syntax if text != "unexpected EOF" => {
            format!("json: offset {}: {text}", before + error.offset())
        }
        _ => text,
    }
}

/// The rest of a text after white space, up to and including the first line break.
fn after_line_of_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match text[..blanks].iter().position(|&byte| byte == b'\n') {
        Some(line_break) => &text[line_break + 1..],
        None => &text[blanks..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::Node;

    fn documents(text: &str) -> Vec<Result<Node, String>> {
        let mut stream = Stream::new(text.as_bytes());
        std::iter::from_fn(|| {
            stream.next_with(json::read_prefix, |document| {
                crate::read(&document).map_err(|error| error.to_string())
            })
        })
        .collect()
    }

    fn node(text: &str) -> Result<Node, String> {
        Ok(crate::read(text.as_bytes()).expect("good YAML"))
    }

    #[test]
    fn a_separator_may_have_a_comment_on_its_line_glued_or_not() {
        assert_eq!(
            documents("a: 1\n---# text\nb: 2\n--- # text\nc: 3\n"),
            [node("a: 1"), node("b: 2"), node("c: 3")]
        );
        let text = "a: 1\n---b: 2\n";
        assert_eq!(documents(text), [Err("invalid Yaml document separator: b: 2".to_owned())]);
    }

    #[test]
    fn json_values_may_follow_each_other_and_yaml_may_follow_one() {
        assert_eq!(documents("{\"a\":1}\n{\"b\":2}{\"c\":3}\n"), [node("a: 1"), node("b: 2"), node("c: 3")]);
        assert_eq!(documents("{\"a\":1}\n---\nb: 2\n"), [node("a: 1"), node("b: 2")]);
        assert_eq!(documents(" {a: 1}\n---\nb: 2\n"), [node("a: 1"), node("b: 2")]);
    }

    #[test]
    fn what_is_neither_json_nor_yaml_has_the_error_of_json() {
        assert_eq!(documents("{\"a\": 1"), [Err("unexpected EOF".to_owned())]);
        let text = "json: offset 2: invalid character 'a' looking for beginning of object key string";
        assert_eq!(documents("{a: [\n"), [Err(text.to_owned())]);
        let text = "json: offset 5: invalid character '-' in numeric literal";
        assert_eq!(documents("{}\n---a\n").last(), Some(&Err(text.to_owned())));
        let text = "invalid character '-' in numeric literal";
        assert_eq!(documents("{}{}\n---\n").last(), Some(&Err(text.to_owned())));
    }
}
