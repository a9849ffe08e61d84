//! Operands of the executor: a value, and whether its static type is Go's empty interface.

use std::borrow::Cow;

use crate::value::Value;

/// A value as Go's reflection shows it to templates.
///
/// Three kinds of nothing differ: no value at all, a nil interface (such as a missing map key), and empty values. The
/// first two are [`Value::Nil`], distinguished by `interface`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operand {
    pub(crate) value: Value,
    /// The static type is `interface {}`.
    pub(crate) interface: bool,
}

impl Operand {
    /// No value: Go's zero `reflect.Value`.
    pub(crate) const INVALID: Operand = Operand { value: Value::Nil, interface: false };

    /// A value of its own type.
    #[inline]
    pub(crate) fn concrete(value: Value) -> Self {
        Operand { value, interface: false }
    }

    /// A value inside an interface.
    #[inline]
    pub(crate) fn interface(value: Value) -> Self {
        Operand { value, interface: true }
    }

    /// Whether there is no value at all.
    pub(crate) fn is_invalid(&self) -> bool {
        self.value.is_nil() && !self.interface
    }

    /// Whether this is a nil interface.
    pub(crate) fn is_nil_interface(&self) -> bool {
        self.value.is_nil() && self.interface
    }

    /// The value inside the interface.
    #[inline]
    pub(crate) fn inside(mut self) -> Self {
        self.interface = false;
        self
    }

    /// Go's name of the static type.
    pub(crate) fn type_name(&self) -> Cow<'static, str> {
        if self.interface { Cow::Borrowed("interface {}") } else { self.value.type_name() }
    }
}
