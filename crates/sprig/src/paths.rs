//! Slash-separated paths. The functions with `os` are the same on every system that Pintle supports.

use bstr::ByteSlice as _;
use pintle_gotmpl::{Args, CallResult, Function, Type, Value};

use crate::text::text;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Bool, Str};
    vec![
        Function::pure("base", &[Str], None, Str, |args| text(base(args.text(0)))),
        Function::pure("osBase", &[Str], None, Str, |args| text(base(args.text(0)))),
        Function::pure("dir", &[Str], None, Str, |args| text(dir(args.text(0)))),
        Function::pure("osDir", &[Str], None, Str, |args| text(dir(args.text(0)))),
        Function::pure("clean", &[Str], None, Str, |args| text(clean(args.text(0)))),
        Function::pure("osClean", &[Str], None, Str, |args| text(clean(args.text(0)))),
        Function::pure("ext", &[Str], None, Str, |args| text(ext(args.text(0)))),
        Function::pure("osExt", &[Str], None, Str, |args| text(ext(args.text(0)))),
        Function::pure("isAbs", &[Str], None, Bool, is_absolute),
        Function::pure("osIsAbs", &[Str], None, Bool, is_absolute),
    ]
}

fn is_absolute(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.text(0).starts_with(b"/")))
}

/// The last element, without slashes at the end.
fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    match path.trim_end_with(|rune| rune == '/').rsplit(|&byte| byte == b'/').next() {
        None | Some([]) => b"/",
        Some(last) => last,
    }
}

/// All but the last element, cleaned.
fn dir(path: &[u8]) -> Vec<u8> {
    clean(&path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)])
}

/// What follows the last dot of the last element, with the dot.
fn ext(path: &[u8]) -> &[u8] {
    let start = path.rfind_byteset(b"./");
    start.filter(|&start| path[start] == b'.').map_or(b"", |dot| &path[dot..])
}

/// The shortest equivalent path.
fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for element in path.split(|&byte| byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|last| *last != b"..") => {
                kept.pop();
            }
            // Above the root there is nothing.
            b".." if rooted => {}
            _ => kept.push(element),
        }
    }
    let mut cleaned = if rooted { b"/".to_vec() } else { Vec::new() };
    cleaned.extend(kept.join(&b"/"[..]));
    if cleaned.is_empty() { b".".to_vec() } else { cleaned }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_as_go_does() {
        for (path, base_, dir_, clean_, ext_) in [
            ("", ".", ".", ".", ""),
            ("/", "/", "/", "/", ""),
            ("a/b.c/", "b.c", "a/b.c", "a/b.c", ""),
            ("/../a//./b/../c.tar.gz", "c.tar.gz", "/a", "/a/c.tar.gz", ".gz"),
            ("../../x", "x", "../..", "../../x", ""),
            ("a/..", "..", "a", ".", "."),
        ] {
            assert_eq!(base(path.as_bytes()), base_.as_bytes(), "base {path}");
            assert_eq!(dir(path.as_bytes()), dir_.as_bytes(), "dir {path}");
            assert_eq!(clean(path.as_bytes()), clean_.as_bytes(), "clean {path}");
            assert_eq!(ext(path.as_bytes()), ext_.as_bytes(), "ext {path}");
        }
    }
}
