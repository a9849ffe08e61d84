//! Whose value wins: layers, scopes, globals, imports and schemas.
