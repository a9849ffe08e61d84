//! What was installed: records, states, version ids and the port to where they are kept.
