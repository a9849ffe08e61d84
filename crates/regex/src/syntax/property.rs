//! The names that `\p{…}` takes with their characters, and the named ASCII classes.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use super::newer;

/// Ranges of ASCII bytes.
pub(crate) type AsciiRanges = &'static [(u8, u8)];

const DIGIT: AsciiRanges = &[(b'0', b'9')];
// Without the vertical tab, which `[[:space:]]` has: Go follows Perl here.
const SPACE: AsciiRanges = &[(b'\t', b'\n'), (0x0c, b'\r'), (b' ', b' ')];
const WORD: AsciiRanges = &[(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')];

/// Returns the class behind `\d`, `\s` or `\w`.
pub(crate) fn perl_class(letter: u8) -> Option<AsciiRanges> {
    Some(match letter {
        b'd' => DIGIT,
        b's' => SPACE,
        b'w' => WORD,
        _ => return None,
    })
}

/// Returns the class behind `[:name:]`.
pub(crate) fn posix_class(name: &[u8]) -> Option<AsciiRanges> {
    Some(match name {
        b"alnum" => &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        b"alpha" => &[(b'A', b'Z'), (b'a', b'z')],
        b"ascii" => &[(0, 0x7f)],
        b"blank" => &[(b'\t', b'\t'), (b' ', b' ')],
        b"cntrl" => &[(0, 0x1f), (0x7f, 0x7f)],
        b"digit" => DIGIT,
        b"graph" => &[(b'!', b'~')],
        b"lower" => &[(b'a', b'z')],
        b"print" => &[(b' ', b'~')],
        b"punct" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        b"space" => &[(b'\t', b'\r'), (b' ', b' ')],
        b"upper" => &[(b'A', b'Z')],
        b"word" => WORD,
        b"xdigit" => &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        _ => return None,
    })
}

/// A set of characters that `\p` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    /// Every character.
    Any,
    /// Every assigned code point.
    Assigned,
    /// The first 128 characters.
    Ascii,
    /// Surrogates; valid text has none.
    Surrogate,
    /// A general category by its short name.
    Category(&'static str),
    /// A script.
    Script(&'static str),
}

/// Finds a property by a name in any spelling that Go takes.
pub(crate) fn property(name: &str) -> Option<Property> {
    let name = canonical(name);
    let name = name.as_str();
    match name {
        "Any" => return Some(Property::Any),
        "Assigned" => return Some(Property::Assigned),
        "Ascii" => return Some(Property::Ascii),
        "Cs" | "Surrogate" => return Some(Property::Surrogate),
        _ => {}
    }
    if let Ok(index) = CATEGORIES.binary_search_by_key(&name, |(spelling, _)| *spelling) {
        return Some(Property::Category(CATEGORIES[index].1));
    }
    SCRIPTS.binary_search(&name).ok().map(|index| Property::Script(SCRIPTS[index]))
}

/// The characters of a property in the Unicode version of Go.
pub(crate) fn characters(property: Property) -> ClassUnicode {
    match property {
        Property::Any => older(r"\p{any}"),
        Property::Assigned => {
            let mut class = characters(Property::Category("Cn"));
            class.negate();
            class
        }
        Property::Ascii => older(r"\p{ascii}"),
        Property::Surrogate => ClassUnicode::empty(),
        Property::Category(name) => newer::with_category(older(&format!(r"\p{{gc={name}}}")), name),
        Property::Script(name) => newer::with_script(older(&format!(r"\p{{sc={name}}}")), name),
    }
}

/// The class that a pattern of regex-syntax stands for, in the Unicode version of that library; empty if it does not know the
/// name.
fn older(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    }
}

/// Removes `_`, `-` and spaces, and writes the first letter in upper case and the rest in lower case.
fn canonical(name: &str) -> String {
    let mut canonical = String::with_capacity(name.len());
    for character in name.chars().filter(|character| !matches!(character, '_' | '-' | ' ')) {
        canonical.push(match canonical.is_empty() {
            true => character.to_ascii_uppercase(),
            false => character.to_ascii_lowercase(),
        });
    }
    canonical
}

/// Spellings of general categories, sorted, with the short name.
const CATEGORIES: &[(&str, &str)] = &[
    ("C", "C"),
    ("Casedletter", "LC"),
    ("Cc", "Cc"),
    ("Cf", "Cf"),
    ("Closepunctuation", "Pe"),
    ("Cn", "Cn"),
    ("Cntrl", "Cc"),
    ("Co", "Co"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Digit", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("L", "L"),
    ("Lc", "LC"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Ll", "Ll"),
    ("Lm", "Lm"),
    ("Lo", "Lo"),
    ("Lowercaseletter", "Ll"),
    ("Lt", "Lt"),
    ("Lu", "Lu"),
    ("M", "M"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Mc", "Mc"),
    ("Me", "Me"),
    ("Mn", "Mn"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("N", "N"),
    ("Nd", "Nd"),
    ("Nl", "Nl"),
    ("No", "No"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("P", "P"),
    ("Paragraphseparator", "Zp"),
    ("Pc", "Pc"),
    ("Pd", "Pd"),
    ("Pe", "Pe"),
    ("Pf", "Pf"),
    ("Pi", "Pi"),
    ("Po", "Po"),
    ("Privateuse", "Co"),
    ("Ps", "Ps"),
    ("Punct", "P"),
    ("Punctuation", "P"),
    ("S", "S"),
    ("Sc", "Sc"),
    ("Separator", "Z"),
    ("Sk", "Sk"),
    ("Sm", "Sm"),
    ("So", "So"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
    ("Z", "Z"),
    ("Zl", "Zl"),
    ("Zp", "Zp"),
    ("Zs", "Zs"),
];

/// Scripts in the spelling of [`canonical`], sorted.
const SCRIPTS: &[&str] = &[
    "Adlam",
    "Ahom",
    "Anatolianhieroglyphs",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Bassavah",
    "Batak",
    "Bengali",
    "Beriaerfe",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadianaboriginal",
    "Carian",
    "Caucasianalbanian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Chorasmian",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyprominoan",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Divesakuru",
    "Dogra",
    "Duployan",
    "Egyptianhieroglyphs",
    "Elbasan",
    "Elymaic",
    "Ethiopic",
    "Garay",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gunjalagondi",
    "Gurmukhi",
    "Gurungkhema",
    "Han",
    "Hangul",
    "Hanifirohingya",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "Hiragana",
    "Imperialaramaic",
    "Inherited",
    "Inscriptionalpahlavi",
    "Inscriptionalparthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kawi",
    "Kayahli",
    "Kharoshthi",
    "Khitansmallscript",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Kiratrai",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Lineara",
    "Linearb",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Makasar",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "Masaramgondi",
    "Medefaidrin",
    "Meeteimayek",
    "Mendekikakui",
    "Meroiticcursive",
    "Meroitichieroglyphs",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "Nagmundari",
    "Nandinagari",
    "Newa",
    "Newtailue",
    "Nko",
    "Nushu",
    "Nyiakengpuachuehmong",
    "Ogham",
    "Olchiki",
    "Oldhungarian",
    "Olditalic",
    "Oldnortharabian",
    "Oldpermic",
    "Oldpersian",
    "Oldsogdian",
    "Oldsoutharabian",
    "Oldturkic",
    "Olduyghur",
    "Olonal",
    "Oriya",
    "Osage",
    "Osmanya",
    "Pahawhhmong",
    "Palmyrene",
    "Paucinhau",
    "Phagspa",
    "Phoenician",
    "Psalterpahlavi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "Sidetic",
    "Signwriting",
    "Sinhala",
    "Sogdian",
    "Sorasompeng",
    "Soyombo",
    "Sundanese",
    "Sunuwar",
    "Sylotinagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Taile",
    "Taitham",
    "Taiviet",
    "Taiyo",
    "Takri",
    "Tamil",
    "Tangsa",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Todhri",
    "Tolongsiki",
    "Toto",
    "Tulutigalari",
    "Ugaritic",
    "Vai",
    "Vithkuqi",
    "Wancho",
    "Warangciti",
    "Yezidi",
    "Yi",
    "Zanabazarsquare",
];

#[cfg(test)]
mod tests {
    use pintle_testkit::unicode as testkit;

    use super::*;

    #[test]
    fn tables_are_sorted_for_the_search() {
        assert!(CATEGORIES.is_sorted_by(|left, right| left.0 < right.0));
        assert!(SCRIPTS.is_sorted());
    }

    #[test]
    fn names_are_found_in_any_spelling() {
        assert_eq!(property("lu"), Some(Property::Category("Lu")));
        assert_eq!(property("cased_Letter"), Some(Property::Category("LC")));
        assert_eq!(property("GREEK"), Some(Property::Script("Greek")));
        for name in ["Old_Italic", "olditalic", "OLD ITALIC", "old-Italic"] {
            assert_eq!(property(name), Some(Property::Script("Olditalic")), "{name}");
        }
        assert_eq!(property(""), None);
    }

    #[test]
    fn properties_have_the_characters_that_they_have_in_go() {
        let mut compared = 0;
        for name in testkit::sets() {
            // The other sets are not properties.
            let Some(property) = name.strip_prefix(r"\p{").and_then(|name| property(name.strip_suffix('}')?))
            else {
                continue;
            };
            let class = characters(property);
            let ranges: Vec<(char, char)> =
                class.ranges().iter().map(|range| (range.start(), range.end())).collect();
            testkit::compare_ranges(name, &ranges);
            compared += 1;
        }
        assert_eq!(compared, testkit::sets().filter(|name| name.starts_with(r"\p{")).count());
    }
}
