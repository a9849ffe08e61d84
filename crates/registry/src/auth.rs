//! Authentication: logins from files and credential helpers, challenges, tokens.

pub(crate) mod challenge;
pub(crate) mod config;
pub(crate) mod keychain;
pub(crate) mod token;
