//! Annotations to typed hooks: events, weights, policies, environment.
