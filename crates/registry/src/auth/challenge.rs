//! The `WWW-Authenticate` challenge of a 401 response.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// The authentication scheme that a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// User and password with every request.
    Basic,
    /// A token from a token server.
    Bearer {
        /// The URL of the token server.
        realm: String,
        /// The registry's name at the token server.
        service: String,
    },
}

impl Challenge {
    /// Parses the challenges of a response and chooses one; tokens are preferred over passwords.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Challenge> {
        let mut basic = None;
        for value in headers.get_all(WWW_AUTHENTICATE) {
            for (scheme, parameters) in read(value.to_str().unwrap_or_default()) {
                let parameter = |name: &str| {
                    let found = parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                    found.map(|(_, value)| value.clone())
                };
                if scheme.eq_ignore_ascii_case("bearer") {
                    let realm = parameter("realm").filter(|realm| !realm.is_empty())?;
                    return Some(Challenge::Bearer {
                        realm,
                        service: parameter("service").unwrap_or_default(),
                    });
                }
                if scheme.eq_ignore_ascii_case("basic") {
                    basic = Some(Challenge::Basic);
                }
            }
        }
        basic
    }
}

type Parameters = Vec<(String, String)>;

/// Splits `Scheme a="b", c=d, Other e=f`.
fn read(text: &str) -> Vec<(String, Parameters)> {
    let mut challenges: Vec<(String, Parameters)> = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let (word, after) = word(rest);
        if word.is_empty() {
            break;
        }
        rest = match (after.trim_start().strip_prefix('='), challenges.last_mut()) {
            (Some(after), Some((_, parameters))) => {
                let (value, after) = value(after.trim_start());
                parameters.push((word.to_owned(), value));
                after
            }
            _ => {
                challenges.push((word.to_owned(), Vec::new()));
                after
            }
        };
        rest = rest.trim_start_matches([' ', ',', '\t']);
    }
    challenges
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '=' | ',' | '"')).unwrap_or(text.len());
    text.split_at(end)
}

fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (plain, rest) = word(text);
        return (plain.to_owned(), rest);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[index + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(lines: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(WWW_AUTHENTICATE, line.parse().unwrap());
        }
        Challenge::from_headers(&headers)
    }

    #[test]
    fn tokens_are_preferred_to_passwords() {
        let bearer = Challenge::Bearer { realm: "https://a/token".into(), service: "a, b".into() };
        let text = r#"Bearer realm="https://a/token", service="a, b",scope="repository:x:pull""#;
        assert_eq!(chosen(&[text]), Some(bearer));
        let both = r#"Basic realm="x", bearer realm=https://t"#;
        let bearer = Challenge::Bearer { realm: "https://t".into(), service: String::new() };
        assert_eq!(chosen(&[both]), Some(bearer));
        assert_eq!(chosen(&[r#"BASIC realm="x \" y""#]), Some(Challenge::Basic));
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        for text in ["", ",,,", "Bearer", "Bearer realm=", "\"", "Negotiate", "Bearer realm=\"\"", "= = ="] {
            assert_eq!(chosen(&[text]), None, "{text}");
        }
    }
}
