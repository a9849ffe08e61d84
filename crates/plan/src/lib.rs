//! Decides what to do to a cluster, touching nothing: steps, patches, ownership.
