//! Placeholder.

/// A running engine.
pub struct Exec<'a> {
    _marker: std::marker::PhantomData<&'a ()>,
}
