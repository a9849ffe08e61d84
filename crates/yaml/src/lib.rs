//! YAML text to tree and back, exactly as Helm's Go libraries do it.
