//! Texts to read: recorded ones, ordinary ones, and mutations of both.

#![allow(dead_code, reason = "each test uses what it needs")]

pub(crate) use pintle_testkit::Random;
use serde_json::Value;

/// The recorded texts, if they are present.
pub(crate) fn golden_texts() -> Vec<Vec<u8>> {
    pintle_testkit::recorded("yaml-parse")
        .iter()
        .filter_map(|line| {
            let case: Value = serde_json::from_str(line).expect("recorded cases are JSON");
            case["in"]["text"].as_str().map(|text| text.as_bytes().to_vec())
        })
        .filter(|text| text.len() < 3000)
        .collect()
}

/// Texts that the fast reader reads whole, with what people write into manifests.
pub(crate) const ORDINARY: &[&str] = &[
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  labels: {a: b, \"c\": 'd', e: [1, x y]}\nspec:\n  ports:\n  - port: 80\n    name: http # c\n  -\n    port: 0x10\n  selector:\n",
    "# head\n---\na: |\n  one\n\n   two\n  \nb: >-\n  x\n  y\n\n  z\n   w\n  v\nc: |+\n  k\n\nd: \"q\\n\\u00e9\\x41\"\n",
    "a: some long\n  text that\n\n  goes on\nb: 'it''s\n  folded'\nc: \"also\n  folded \\\n   here\"\nd: -5\n? x\n",
    "- a\n- - b\n  - c: d\n    e:\n    - f\n- \"k\": v\n  l: m\n- |2\n   x\n- yes\n- 1.5e3\n- ~\n",
    "a: [\n  \"x\", # c\n  y ,\n  {b: c,\n   'd': [ ] , },\n  # e\n]\nf: {\n  g: h\n}\ni: |\n\nj: >+\n\n# k\nl:\n  [1,\n2]\nm: |-",
    "a:\n  b:\n    c: 1\n  d:\n\n    # x\n    e: http://x:80/#y\nf: .5\n80: x\non: y\n---\nb: [\n",
];

/// What mutations insert.
const PIECES: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\n\n",
    ":",
    ": ",
    "- ",
    "-",
    "#",
    " #",
    "\"",
    "'",
    "|",
    ">",
    "|-\n",
    ">+\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\t",
    "&a ",
    "*a",
    "!!str ",
    "? ",
    "<<: ",
    "---\n",
    "...\n",
    "%",
    "@",
    "\\",
    "\\n",
    "\\\n",
    "~",
    "null",
    "yes",
    "1",
    ".inf",
    "0o7",
    "é",
    "\u{2028}",
    "\u{85}",
    "\r\n",
    "a",
    "key: v\n",
    "  k: v\n",
    "- x\n",
    "  - y\n",
    "''",
    "\\x4",
    "\u{feff}",
    "😀",
    ".",
    "+",
    "18446744073709551615",
    "=",
];

/// The text with a few mistakes.
pub(crate) fn mutate(text: &[u8], random: &mut Random) -> Vec<u8> {
    pintle_testkit::mutate(text, PIECES, random)
}
