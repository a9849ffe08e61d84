//! Go's `filepath.Match`: `*` and `?` within one path element, `[a-z]` and `[^a]`, backslash escapes.

/// The pattern is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPattern;

/// Whether the whole of `name` matches `pattern`.
///
/// # Errors
/// As in Go, a malformed pattern is noticed only when matching reaches the malformed chunk.
pub fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let (mut pattern, mut name) = (pattern, name);
    while !pattern.is_empty() {
        let (star, chunk, rest) = scan_chunk(pattern);
        pattern = rest;
        // A trailing star matches the rest, up to a slash.
        if star && chunk.is_empty() {
            return Ok(!name.contains('/'));
        }
        // The last chunk must match the end of the name; before a star, any match will do.
        if let Some(after) = match_chunk(chunk, name)?
            && (after.is_empty() || !pattern.is_empty())
        {
            name = after;
            continue;
        }
        match star.then(|| match_after_star(chunk, name, pattern.is_empty())).transpose()?.flatten() {
            Some(after) => name = after,
            None => return Ok(false),
        }
    }
    Ok(name.is_empty())
}

/// Lets the star consume one character after the other, never a slash, until the chunk matches.
fn match_after_star<'a>(chunk: &str, name: &'a str, last: bool) -> Result<Option<&'a str>, BadPattern> {
    for (index, character) in name.char_indices() {
        if character == '/' {
            break;
        }
        let from = &name[index + character.len_utf8()..];
        if let Some(after) = match_chunk(chunk, from)? {
            if last && !after.is_empty() {
                continue;
            }
            return Ok(Some(after));
        }
    }
    Ok(None)
}

/// Splits off leading stars and the chunk up to the next star outside of brackets.
fn scan_chunk(pattern: &str) -> (bool, &str, &str) {
    let body = pattern.trim_start_matches('*');
    let star = body.len() < pattern.len();
    let mut in_range = false;
    let mut bytes = body.bytes().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'[' => in_range = true,
            b']' => in_range = false,
            b'*' if !in_range => return (star, &body[..index], &body[index..]),
            _ => {}
        }
    }
    (star, body, "")
}

/// The rest of `name` after `chunk`, if the chunk matches a prefix. Scans the whole chunk for errors.
fn match_chunk<'a>(chunk: &str, name: &'a str) -> Result<Option<&'a str>, BadPattern> {
    let mut chunk = chunk;
    let mut name = Some(name);
    while let Some(first) = chunk.chars().next() {
        let next = name.and_then(|name| name.chars().next());
        let after = |name: &'a str, character: char| &name[character.len_utf8()..];
        match first {
            '[' => {
                let (rest, hit) = match_range(&chunk[1..], next)?;
                chunk = rest;
                name = name.zip(next).filter(|_| hit).map(|(name, character)| after(name, character));
            }
            '?' => {
                chunk = &chunk[1..];
                name = name.zip(next).filter(|(_, next)| *next != '/').map(|(name, next)| after(name, next));
            }
            _ => {
                let wanted = if first == '\\' {
                    chunk = &chunk[1..];
                    chunk.chars().next().ok_or(BadPattern)?
                } else {
                    first
                };
                chunk = &chunk[wanted.len_utf8()..];
                name = name.and_then(|name| name.strip_prefix(wanted));
            }
        }
    }
    Ok(name)
}

/// Parses a range after its `[`. Returns whether `character` is in it.
fn match_range(range: &str, character: Option<char>) -> Result<(&str, bool), BadPattern> {
    let (negated, mut range) = match range.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, range),
    };
    let mut hit = false;
    let mut count = 0;
    loop {
        if let Some(rest) = range.strip_prefix(']')
            && count > 0
        {
            return Ok((rest, hit != negated));
        }
        // The range is parsed to its end even after a hit, so that a syntax error in it is always found.
        let (low, rest) = range_end(range)?;
        range = rest;
        let mut high = low;
        if let Some(rest) = range.strip_prefix('-') {
            (high, range) = range_end(rest)?;
        }
        hit |= character.is_some_and(|character| (low..=high).contains(&character));
        count += 1;
    }
}

/// One end of a range, which must be followed by something.
fn range_end(range: &str) -> Result<(char, &str), BadPattern> {
    let mut characters = range.chars();
    let mut character = characters.next().ok_or(BadPattern)?;
    if character == '-' || character == ']' {
        return Err(BadPattern);
    }
    if character == '\\' {
        character = characters.next().ok_or(BadPattern)?;
    }
    let rest = characters.as_str();
    if rest.is_empty() { Err(BadPattern) } else { Ok((character, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, name, expected) in [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*/b", "abc/b", Ok(true)),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzy", Ok(false)),
            ("ab[b-d]", "abc", Ok(true)),
            ("ab[^b-d]", "abc", Ok(false)),
            ("a\\*b", "a*b", Ok(true)),
            ("a?b", "a☺b", Ok(true)),
            ("a[^a]b", "a☺b", Ok(true)),
            ("a[^a][^a][^a]b", "a☺b", Ok(false)),
            ("a?b", "a/b", Ok(false)),
            ("[\\]a]", "]", Ok(true)),
            ("[\\-x]", "-", Ok(true)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-]", "-", Err(BadPattern)),
            ("[x-]", "x", Err(BadPattern)),
            ("[a", "a", Err(BadPattern)),
            ("a[", "ab", Err(BadPattern)),
            ("a[", "x", Err(BadPattern)),
            ("a/b[", "x", Err(BadPattern)),
            ("a*[", "x", Ok(false)),
            ("*x", "xxx", Ok(true)),
            ("", "", Ok(true)),
            ("templates/.?*", "templates/.x", Ok(true)),
            ("templates/.?*", "templates/.", Ok(false)),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
