//! Rendered text to Kubernetes objects: splitting, identity, order, hooks.
