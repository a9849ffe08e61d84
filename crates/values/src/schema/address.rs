//! IP addresses, with the error texts of Go's `net/netip`.

use pintle_tree::quote;

/// Validates an IPv4 or IPv6 address.
pub(super) fn check(text: &str) -> Result<(), String> {
    match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => check_four(text, text.as_bytes()),
        Some(b':') => check_six(text),
        Some(_) => Err(parse_error(text, "missing IPv6 address", b"")),
        None => Err(parse_error(text, "unable to parse IP", b"")),
    }
}

fn parse_error(text: &str, message: &str, at: &[u8]) -> String {
    let text = quote::quote(text.as_bytes());
    if at.is_empty() {
        format!("ParseAddr({text}): {message}")
    } else {
        format!("ParseAddr({text}): {message} (at {})", quote::quote(at))
    }
}

/// Validates a dotted quad, which may be the tail of an IPv6 address.
fn check_four(whole: &str, text: &[u8]) -> Result<(), String> {
    let (mut value, mut digits, mut dots) = (0u32, 0, 0);
    for (index, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                // Go refuses leading zeros, because some programs read them as octal.
                if digits == 1 && value == 0 {
                    return Err(parse_error(whole, "IPv4 field has octet with leading zero", b""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(parse_error(whole, "IPv4 field has value >255", b""));
                }
            }
            b'.' => {
                if index == 0 || index == text.len() - 1 || text[index - 1] == b'.' {
                    return Err(parse_error(
                        whole,
                        "IPv4 field must have at least one digit",
                        &text[index..],
                    ));
                }
                if dots == 3 {
                    return Err(parse_error(whole, "IPv4 address too long", b""));
                }
                (value, digits, dots) = (0, 0, dots + 1);
            }
            _ => return Err(parse_error(whole, "unexpected character", &text[index..])),
        }
    }
    if dots < 3 { Err(parse_error(whole, "IPv4 address too short", b"")) } else { Ok(()) }
}

fn check_six(whole: &str) -> Result<(), String> {
    let fail = |message: &str, at: &[u8]| Err(parse_error(whole, message, at));
    let mut rest = whole.as_bytes();
    if let Some((before, zone)) = whole.split_once('%') {
        rest = before.as_bytes();
        if zone.is_empty() {
            return fail("zone must be a non-empty string", b"");
        }
    }
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix(b"::") {
        ellipsis = true;
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut fields = 0;
    while fields < 8 {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > 4 {
            return fail("each group must have 4 or less digits", rest);
        }
        if digits == 0 {
            return fail("each colon-separated field must have at least one digit", rest);
        }
        if rest.get(digits) == Some(&b'.') {
            if !ellipsis && fields != 6 {
                return fail("embedded IPv4 address must replace the final 2 fields of the address", rest);
            }
            if fields > 6 {
                return fail("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
            }
            check_four(whole, rest)?;
            (rest, fields) = (b"", fields + 2);
            break;
        }
        fields += 1;
        rest = &rest[digits..];
        match rest {
            [] => break,
            [b':'] => return fail("colon must be followed by more characters", rest),
            [b':', after @ ..] => rest = after,
            _ => return fail("unexpected character, want colon", rest),
        }
        if rest[0] == b':' {
            if ellipsis {
                return fail("multiple :: in address", rest);
            }
            ellipsis = true;
            rest = &rest[1..];
            if rest.is_empty() {
                break;
            }
        }
    }
    match (rest.is_empty(), fields < 8, ellipsis) {
        (false, ..) => fail("trailing garbage after address", rest),
        (true, true, false) => fail("address string too short", b""),
        (true, false, true) => fail("the :: must expand to at least one field of zeros", b""),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinguished_from_lookalikes() {
        for text in ["::", "::1", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1.2.3.4"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        let reason = "ParseAddr(\"::g\"): each colon-separated field must have at least one digit (at \"g\")";
        assert_eq!(check("::g").unwrap_err(), reason);
        assert_eq!(check("1:2").unwrap_err(), "ParseAddr(\"1:2\"): address string too short");
        assert_eq!(check("1.2.3").unwrap_err(), "ParseAddr(\"1.2.3\"): IPv4 address too short");
    }
}
