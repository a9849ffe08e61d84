//! Who may send which request: `docs/decisions/0030-the-web-view.md`.
//!
//! A browser sends requests for any page that is open in it. Three things tell those of our own page from others: a cookie
//! that it sends with no request of another site, the headers `Sec-Fetch-Site` and `Origin`, which no page can set, and
//! `Host`, which shows another name after DNS rebinding. Each is checked, because each has holes: cookies do not tell ports
//! apart, old browsers send no `Sec-Fetch-Site`, and `Origin` comes with changes only.

use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, ORIGIN, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};

use crate::app::{App, Authentication};
use crate::clusters::Viewer;
use crate::error::{Failure, Result};
use crate::sign_in::Secret;

/// What every answer has. The page needs nothing of other servers, runs no text as a script and is in no frame.
pub(crate) const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
];

/// Checks that a request comes from the page or from a program, and not from a page of others.
pub(crate) fn check_origin(app: &App, head: &Parts) -> Result<()> {
    check_host(app, &head.headers)?;
    if head.headers.contains_key(UPGRADE) {
        return Err(Failure::input("this server has no WebSockets"));
    }
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    let refused = || Failure::new(403, "cross-site", "requests of other pages are not answered");
    let host = single(&head.headers, HOST.as_str());
    for origin in head.headers.get_all(ORIGIN) {
        let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let is_own = authority.zip(host).is_some_and(|((_, name), host)| name.eq_ignore_ascii_case(host));
        if !is_own {
            return Err(refused());
        }
    }
    let mut sites = head.headers.get_all("sec-fetch-site").iter();
    let site = sites.next().map(HeaderValue::as_bytes);
    if sites.next().is_some() {
        return Err(refused());
    }
    let is_allowed = match site {
        Some(b"same-origin") => true,
        // An address that was typed, a bookmark, or a program that opened the browser.
        Some(b"none") => is_read,
        // A link of another page may lead to our page, which has no data by itself.
        Some(_) => is_read && !head.uri.path().starts_with("/api/") && is_navigation(&head.headers),
        // Programs. A browser that does not send it sends `Origin` with changes.
        None => is_read || head.headers.contains_key(ORIGIN) || head.headers.contains_key(AUTHORIZATION),
    };
    if !is_allowed {
        return Err(refused());
    }
    // A form can only send other types, and a page cannot send this one to another site without being asked by the browser.
    let is_json = |kind: &HeaderValue| {
        let kind = kind.to_str().unwrap_or_default();
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    };
    if !is_read && !head.headers.get(CONTENT_TYPE).is_some_and(is_json) {
        return Err(Failure::new(
            415,
            "invalid-input",
            "the Content-Type of the request is not application/json",
        ));
    }
    Ok(())
}

fn is_navigation(headers: &HeaderMap) -> bool {
    single(headers, "sec-fetch-mode") == Some("navigate")
        && single(headers, "sec-fetch-dest") == Some("document")
}

/// A header that is there once.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Checks that the request names this server: after DNS rebinding it names the site of the attacker.
fn check_host(app: &App, headers: &HeaderMap) -> Result<()> {
    let is_own = single(headers, HOST.as_str()).is_some_and(|host| is_own_host(app, host));
    if is_own {
        return Ok(());
    }
    let text = "the request names another server";
    Err(Failure::new(403, "wrong-host", text)
        .hint("use the address that the program printed, or start it with `--host NAME` for another name"))
}

fn is_own_host(app: &App, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let port = app.port;
    let local = ["127.0.0.1", "localhost", "[::1]"];
    local.iter().any(|name| host == format!("{name}:{port}"))
        || app.settings.hosts.iter().any(|name| {
            let name = name.to_ascii_lowercase();
            host == name || host == format!("{name}:{port}")
        })
}

/// Who sends a request; an error if nobody is signed in.
pub(crate) fn authenticate(app: &App, headers: &HeaderMap) -> Result<Option<Viewer>> {
    match &app.settings.authentication {
        Authentication::Header(name) => match single(headers, name).map(str::trim) {
            Some(user) if !user.is_empty() => Ok(Some(proxied(headers, name, user))),
            _ => Err(not_signed_in(&format!("the proxy has not set the header {name}"))),
        },
        authentication => {
            if let Some(viewer) = cookie(app, headers).and_then(|cookie| app.sign_ins.signed_in(cookie)) {
                return Ok(viewer);
            }
            if let Authentication::Tokens(tokens) = authentication {
                let bearer =
                    single(headers, AUTHORIZATION.as_str()).and_then(|text| text.strip_prefix("Bearer "));
                if let Some(viewer) = bearer.and_then(|token| user_of(tokens, token)) {
                    return Ok(Some(viewer));
                }
                return Err(not_signed_in("sign in with a token of this server"));
            }
            Err(not_signed_in("open the address that the program printed; each can be used once"))
        }
    }
}

fn not_signed_in(hint: &str) -> Failure {
    Failure::new(401, "not-signed-in", "nobody is signed in").hint(hint)
}

/// The user of a token. All are compared, so that the time tells nothing.
pub(crate) fn user_of(tokens: &[(String, String)], token: &str) -> Option<Viewer> {
    let matching = tokens.iter().filter(|(known, _)| Secret::new(known).is(token));
    let users: Vec<&String> = matching.map(|(_, user)| user).collect();
    users.first().map(|user| Viewer { name: (*user).clone(), ..Viewer::default() })
}

fn proxied(headers: &HeaderMap, name: &str, user: &str) -> Viewer {
    let lower = name.to_ascii_lowercase();
    let groups = lower.strip_suffix("-user").map(|stem| format!("{stem}-groups"));
    let values = groups.iter().flat_map(|name| headers.get_all(name.as_str()));
    let words = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let groups = words.map(str::trim).filter(|group| !group.is_empty()).map(str::to_owned).collect();
    Viewer { name: user.to_owned(), groups, is_impersonated: true }
}

/// The name of the cookie. It has the port, because browsers send cookies to all ports of a host.
pub(crate) fn cookie_name(app: &App) -> String {
    let prefix = if app.settings.tls.is_some() { "__Host-" } else { "" };
    format!("{prefix}pintle-ui-{}", app.port)
}

pub(crate) fn cookie<'h>(app: &App, headers: &'h HeaderMap) -> Option<&'h str> {
    let name = cookie_name(app);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The header that sets the cookie.
pub(crate) fn set_cookie(app: &App, value: &str) -> String {
    let secure = if app.settings.tls.is_some() { "; Secure" } else { "" };
    format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}", cookie_name(app))
}

/// The header that removes the cookie.
pub(crate) fn remove_cookie(app: &App) -> String {
    format!("{}; Max-Age=0", set_cookie(app, ""))
}
