//! Token requests and responses (Docker's token authentication specification).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use pintle_tree::Node;
use tokio::time::{Duration, Instant};

use crate::name::Repository;
use crate::settings::Login;

/// The access that a request needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Read a repository.
    Pull(Repository),
    /// Read and write a repository.
    Push(Repository),
    /// Write the first repository, and mount blobs from the second.
    Mount(Repository, Repository),
}

impl Scope {
    /// The repository that the request is sent to.
    pub(crate) fn repository(&self) -> &Repository {
        match self {
            Scope::Pull(repository) | Scope::Push(repository) | Scope::Mount(repository, _) => repository,
        }
    }

    /// The action as shown in errors.
    pub(crate) fn action(&self) -> &'static str {
        if matches!(self, Scope::Pull(_)) { "pull" } else { "push" }
    }

    /// The scopes in the spelling of token servers. One, except for mounting: some servers cannot handle two.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let word =
            |repository: &Repository, actions: &str| format!("repository:{}:{actions}", repository.path());
        match self {
            Scope::Pull(repository) => vec![word(repository, "pull")],
            Scope::Push(repository) => vec![word(repository, "pull,push")],
            Scope::Mount(to, from) => vec![word(to, "pull,push"), word(from, "pull")],
        }
    }
}

/// An `Authorization` header with its expiry.
#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) header: HeaderValue,
    until: Option<Instant>,
}

impl Token {
    /// Basic authentication, which does not expire.
    pub(crate) fn basic(user: &str, password: &str) -> Option<Token> {
        let pair = STANDARD.encode(format!("{user}:{password}"));
        Token::new(&format!("Basic {pair}"), None)
    }

    /// A bearer token that may expire.
    pub(crate) fn bearer(token: &str, until: Option<Instant>) -> Option<Token> {
        Token::new(&format!("Bearer {token}"), until)
    }

    fn new(text: &str, until: Option<Instant>) -> Option<Token> {
        let mut header = HeaderValue::from_str(text).ok()?;
        header.set_sensitive(true);
        Some(Token { header, until })
    }

    /// Whether it stays valid long enough for the next request.
    pub(crate) fn is_valid(&self) -> bool {
        self.until.is_none_or(|until| until > Instant::now() + Duration::from_secs(5))
    }

    /// Parses the response of a token server.
    pub(crate) fn read(answer: &[u8]) -> Option<Token> {
        let tree = pintle_tree::json::read(answer).ok()?;
        let field = |key: &str| tree.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
        let token = field("token").or_else(|| field("access_token"))?;
        // The specification's default if the server gives no lifetime.
        let seconds =
            tree.get("expires_in").and_then(crate::manifest::number).unwrap_or(60).clamp(10, 86_400);
        Token::bearer(token, Some(Instant::now() + Duration::from_secs(seconds)))
    }
}

/// The query string of a token request.
pub(crate) fn query(service: &str, scope: &Scope) -> String {
    let mut query = String::new();
    if !service.is_empty() {
        query.push_str(&format!("service={}", encode(service)));
    }
    for word in scope.scopes() {
        let sign = if query.is_empty() { "" } else { "&" };
        query.push_str(&format!("{sign}scope={}", encode(&word)));
    }
    query
}

/// The form that exchanges an identity token (OAuth2 refresh token).
pub(crate) fn form(service: &str, scope: &Scope, identity: &str) -> String {
    let scope = scope.scopes().join(" ");
    let (service, scope, identity) = (encode(service), encode(&scope), encode(identity));
    format!(
        "grant_type=refresh_token&client_id=pintle&service={service}&scope={scope}&refresh_token={identity}"
    )
}

/// User and password of a login, if it has them.
pub(crate) fn pair(login: &Login) -> Option<(&str, &str)> {
    match login {
        Login::Password { user, password } => Some((user, password)),
        _ => None,
    }
}

/// Percent-encodes text for a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(path: &str) -> Repository {
        Repository::new("r.example.com", path).unwrap()
    }

    #[test]
    fn one_scope_is_asked_for_unless_content_is_taken_over() {
        let push = Scope::Push(repository("a/b"));
        assert_eq!(query("r s", &push), "service=r%20s&scope=repository%3Aa%2Fb%3Apull%2Cpush");
        let mount = Scope::Mount(repository("a"), repository("b"));
        assert_eq!(query("", &mount), "scope=repository%3Aa%3Apull%2Cpush&scope=repository%3Ab%3Apull");
    }

    #[test]
    fn tokens_of_both_spellings_are_read() {
        for text in [r#"{"token":"x"}"#, r#"{"access_token":"x","expires_in":300}"#] {
            let token = Token::read(text.as_bytes()).unwrap();
            assert_eq!(token.header, "Bearer x");
            assert!(token.is_valid());
        }
        for text in ["", "{}", r#"{"token":""}"#, r#"{"token":"a\nb"}"#, "[]"] {
            assert!(Token::read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
