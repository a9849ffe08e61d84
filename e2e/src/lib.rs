//! What tests on a real cluster are written with.
