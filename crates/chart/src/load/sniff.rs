//! Content type sniffing for the error about files that are not archives, by the WHATWG rules as Go's
//! `DetectContentType`.

/// How much of a file is inspected. Helm passes a whole buffer of this size, so shorter files seem to end in zeros.
const WINDOW: usize = 512;

/// Types recognised by their first bytes.
const SIGNATURES: [(&[u8], &str); 26] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xfe\xff", "text/plain; charset=utf-16be"),
    (b"\xff\xfe", "text/plain; charset=utf-16le"),
    (b"\xef\xbb\xbf", "text/plain; charset=utf-8"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\x0d\x0a\x1a\x0a", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b".snd", "audio/basic"),
    (b"OggS\x00", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"ID3", "audio/mpeg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x00\x01\x00\x00", "font/ttf"),
    (b"OTTO", "font/otf"),
    (b"ttcf", "font/collection"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07\x00", "application/x-rar-compressed"),
    (b"Rar!\x1a\x07\x01\x00", "application/x-rar-compressed"),
    (b"\x00asm", "application/wasm"),
];

/// Tags that start an HTML page.
const HTML: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

/// The likely content type of a file that starts with `data`.
pub(super) fn content_type(data: &[u8]) -> &'static str {
    let mut window = [0; WINDOW];
    let length = data.len().min(WINDOW);
    window[..length].copy_from_slice(&data[..length]);
    let start = window.trim_ascii_start();
    if HTML.iter().any(|tag| is_tag(start, tag)) {
        return "text/html; charset=utf-8";
    }
    if start.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    if let Some((_, kind)) = SIGNATURES.iter().find(|(signature, _)| window.starts_with(signature)) {
        return kind;
    }
    let binary = |byte: &u8| matches!(byte, 0..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if start.iter().any(binary) { "application/octet-stream" } else { "text/plain; charset=utf-8" }
}

/// Whether the text starts with the tag, ignoring case, followed by a space or a bracket.
fn is_tag(text: &[u8], tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
        && matches!(text.get(tag.len()), Some(b' ' | b'>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_go_s() {
        assert_eq!(content_type(b"short text"), "application/octet-stream");
        assert_eq!(content_type("text ".repeat(200).as_bytes()), "text/plain; charset=utf-8");
        assert_eq!(content_type(b"PK\x03\x04..."), "application/zip");
        assert_eq!(content_type(b"  <html>"), "text/html; charset=utf-8");
    }
}
