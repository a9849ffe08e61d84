//! Parses one CSV record as Go's `encoding/csv` does, because pflag parses `stringSlice` flags with it.

/// Reads the first record of `text`.
///
/// # Errors
///
/// The text of Go's error, for a quote in the wrong place.
pub(crate) fn record(text: &str) -> Result<Vec<String>, String> {
    // Go skips empty lines before a record and returns `EOF` if nothing else follows.
    let text = text.trim_start_matches(['\n', '\r']);
    if text.is_empty() {
        return Err("EOF".to_owned());
    }
    Reader { rest: text, line: 1, column: 1, fields: Vec::new() }.read()
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
    fields: Vec<String>,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Vec<String>, String> {
        loop {
            let more = if self.rest.starts_with('"') { self.quoted()? } else { self.plain()? };
            if !more {
                return Ok(self.fields);
            }
        }
    }

    /// Reads an unquoted field; returns whether another one follows on this line.
    fn plain(&mut self) -> Result<bool, String> {
        let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
        let field = &self.rest[..end];
        if let Some(at) = field.find('"') {
            return Err(self.fault(self.column + at, "bare \" in non-quoted-field"));
        }
        let more = self.rest[end..].starts_with(',');
        self.fields.push(if more { field } else { field.strip_suffix('\r').unwrap_or(field) }.to_owned());
        self.advance(end + usize::from(more));
        Ok(more)
    }

    /// Reads a quoted field, which may contain commas, doubled quotes and line breaks.
    fn quoted(&mut self) -> Result<bool, String> {
        self.advance(1);
        let mut field = String::new();
        loop {
            let Some(at) = self.rest.find('"') else {
                let lines = self.rest.matches('\n').count();
                let tail = self.rest.len() - self.rest.rfind('\n').map_or(0, |at| at + 1);
                let column = if lines == 0 { self.column + tail } else { tail + 1 };
                self.line += lines;
                return Err(self.fault(column, "extraneous or missing \" in quoted-field"));
            };
            field.push_str(&self.rest[..at].replace("\r\n", "\n"));
            self.advance(at + 1);
            if self.rest.starts_with('"') {
                field.push('"');
                self.advance(1);
            } else if self.rest.starts_with(',') {
                self.advance(1);
                self.fields.push(field);
                return Ok(true);
            } else if self.rest.is_empty() || self.rest.starts_with('\n') || self.rest.starts_with("\r\n") {
                self.fields.push(field);
                return Ok(false);
            } else {
                return Err(self.fault(self.column - 1, "extraneous or missing \" in quoted-field"));
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        match passed.rfind('\n') {
            Some(at) => {
                self.line += passed.matches('\n').count();
                self.column = passed.len() - at;
            }
            None => self.column += bytes,
        }
        self.rest = rest;
    }

    fn fault(&self, column: usize, what: &str) -> String {
        let record = if self.line > 1 { "record on line 1; " } else { "" };
        format!("{record}parse error on line {}, column {column}: {what}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_protect_commas_and_double_to_one() {
        assert_eq!(record("a,b").unwrap(), ["a", "b"]);
        assert_eq!(record("\"a,b\",c").unwrap(), ["a,b", "c"]);
        assert_eq!(record("\"a\"\"b\",").unwrap(), ["a\"b", ""]);
        assert_eq!(record("a\nb").unwrap(), ["a"]);
    }

    #[test]
    fn a_misplaced_quote_names_line_and_column() {
        assert_eq!(
            record("a=\"b,c").unwrap_err(),
            "parse error on line 1, column 3: bare \" in non-quoted-field"
        );
        assert_eq!(
            record("\"ab").unwrap_err(),
            "parse error on line 1, column 4: extraneous or missing \" in quoted-field"
        );
        assert_eq!(
            record("\"a\"b").unwrap_err(),
            "parse error on line 1, column 3: extraneous or missing \" in quoted-field"
        );
        assert_eq!(
            record("\"a\nb").unwrap_err(),
            "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field"
        );
        assert_eq!(record("\n").unwrap_err(), "EOF");
    }
}
