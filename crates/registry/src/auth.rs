//! Who we are: logins from files and programs, challenges, tokens.

pub(crate) mod challenge;
pub(crate) mod keychain;
pub(crate) mod token;
