//! Semantic versions in templates: the two functions, and the version object with its methods.

use std::any::Any;

use pintle_gotmpl::{
    Args, CallError, CallResult, Encoded, Fuel, Function, IntKind, Kind, Method, Object, Type, Value,
};
use pintle_semver::{Constraint, Error, Version};

use crate::text::NIL_POINTER;

const POINTER: Type = Type::Object("*semver.Version");
const STRUCT: Type = Type::Object("semver.Version");

/// The cost of parsing a constraint, in steps.
const COMPARE_STEPS: u64 = 40;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::pure("semver", &[Type::Str], None, POINTER, semver),
        Function::metered("semverCompare", &[Type::Str, Type::Str], None, Type::Bool, compare),
    ]
}

fn semver(args: Args<'_>) -> CallResult {
    let version = Version::parse(&args.str(0).to_str_lossy()).map_err(failed)?;
    Ok(Value::object(VersionObject { version, is_pointer: true }))
}

fn compare(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    fuel.spend(COMPARE_STEPS)?;
    let constraint = Constraint::parse(&args.str(0).to_str_lossy()).map_err(failed)?;
    let version = Version::parse(&args.str(1).to_str_lossy()).map_err(failed)?;
    Ok(Value::Bool(constraint.check(&version)))
}

fn failed(error: Error) -> CallError {
    CallError::new(error.to_string())
}

/// A version held by templates. `semver` returns a pointer; methods that create a new version return the struct,
/// which has fewer methods.
#[derive(Debug)]
pub(crate) struct VersionObject {
    version: Version,
    is_pointer: bool,
}

const fn method(name: &'static str, params: &'static [Type], result: Type) -> Method {
    Method { name, params, variadic: None, result }
}

/// The methods of the pointer; the first [`VALUE_METHODS`] of them are those of the struct as well.
const METHODS: &[Method] = &[
    method("String", &[], Type::Str),
    method("Major", &[], Type::Uint64),
    method("Minor", &[], Type::Uint64),
    method("Patch", &[], Type::Uint64),
    method("Prerelease", &[], Type::Str),
    method("Metadata", &[], Type::Str),
    method("IncPatch", &[], STRUCT),
    method("IncMinor", &[], STRUCT),
    method("IncMajor", &[], STRUCT),
    method("SetPrerelease", &[Type::Str], STRUCT),
    method("SetMetadata", &[Type::Str], STRUCT),
    method("MarshalJSON", &[], Type::Bytes),
    method("MarshalText", &[], Type::Bytes),
    method("Value", &[], Type::Any),
    method("Original", &[], Type::Str),
    method("LessThan", &[POINTER], Type::Bool),
    method("LessThanEqual", &[POINTER], Type::Bool),
    method("GreaterThan", &[POINTER], Type::Bool),
    method("GreaterThanEqual", &[POINTER], Type::Bool),
    method("Equal", &[POINTER], Type::Bool),
    method("Compare", &[POINTER], Type::Int),
];

// Methods with a pointer receiver are not in the method set of a struct value, so templates cannot call them
// there.
const VALUE_METHODS: usize = 14;

impl VersionObject {
    /// The zero value of the type.
    pub(crate) fn zero(&self) -> Self {
        VersionObject { version: Version::default(), is_pointer: self.is_pointer }
    }

    /// Another version, as a struct.
    fn next(version: Result<Version, Error>) -> CallResult {
        let version = version.map_err(failed)?;
        Ok(Value::object(VersionObject { version, is_pointer: false }))
    }

    /// The order relative to the version in the first argument.
    fn order(&self, arguments: &[Value]) -> Result<std::cmp::Ordering, CallError> {
        let other = Args(arguments).any(0).downcast::<VersionObject>().ok_or(NIL_POINTER)?;
        Ok(self.version.compare(&other.version))
    }
}

impl Object for VersionObject {
    fn type_name(&self) -> &'static str {
        if self.is_pointer { POINTER.name() } else { STRUCT.name() }
    }

    fn kind(&self) -> Kind {
        if self.is_pointer { Kind::Pointer } else { Kind::Struct }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        if self.is_pointer { METHODS } else { &METHODS[..VALUE_METHODS] }
    }

    fn call(&self, method: &str, arguments: &[Value]) -> CallResult {
        let version = &self.version;
        let number = |number: u64| Ok(Value::Int(IntKind::Uint64, number as i64));
        let text = Args(arguments).str(0);
        match method {
            "String" | "Value" => Ok(Value::from(version.to_string())),
            "MarshalText" => Ok(Value::Bytes(version.to_string().into())),
            "MarshalJSON" => Ok(Value::Bytes(format!("\"{version}\"").into())),
            "Major" => number(version.major),
            "Minor" => number(version.minor),
            "Patch" => number(version.patch),
            "Prerelease" => Ok(Value::str(version.pre.as_str())),
            "Metadata" => Ok(Value::str(version.metadata.as_str())),
            "Original" => Ok(Value::str(version.original())),
            "IncPatch" => VersionObject::next(version.inc_patch()),
            "IncMinor" => VersionObject::next(version.inc_minor()),
            "IncMajor" => VersionObject::next(version.inc_major()),
            "SetPrerelease" => VersionObject::next(version.set_prerelease(&text.to_str_lossy())),
            "SetMetadata" => VersionObject::next(version.set_metadata(&text.to_str_lossy())),
            // The only comparison that accepts nil.
            "Equal" if Args(arguments).any(0).is_nil() => Ok(Value::Bool(false)),
            "Equal" => Ok(Value::Bool(self.order(arguments)?.is_eq())),
            "LessThan" => Ok(Value::Bool(self.order(arguments)?.is_lt())),
            "LessThanEqual" => Ok(Value::Bool(self.order(arguments)?.is_le())),
            "GreaterThan" => Ok(Value::Bool(self.order(arguments)?.is_gt())),
            "GreaterThanEqual" => Ok(Value::Bool(self.order(arguments)?.is_ge())),
            "Compare" => Ok(Value::int(self.order(arguments)? as i64)),
            _ => Err(CallError::new(format!("no method {method}"))),
        }
    }

    fn print(&self) -> String {
        self.version.to_string()
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::from(self.version.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Value {
        semver(Args(&[Value::str(text)])).expect(text)
    }

    fn call(value: &Value, method: &str, arguments: &[Value]) -> CallResult {
        let Value::Object(object) = value else { panic!("no object") };
        assert!(object.methods().iter().any(|known| known.name == method), "{method}");
        object.call(method, arguments)
    }

    #[test]
    fn raised_versions_are_structs_without_the_methods_of_pointers() {
        let next = call(&version("v1.2.3-a"), "IncPatch", &[]).unwrap();
        assert_eq!((next.type_name().as_ref(), next.kind().name()), ("semver.Version", "struct"));
        let Value::Object(object) = &next else { panic!("no object") };
        assert!(object.methods().iter().all(|method| method.name != "Original"));
        assert_eq!(object.print(), "1.2.3");
        assert_eq!(version("1").type_name(), "*semver.Version");
    }

    #[test]
    fn versions_compare_and_nil_is_a_panic_except_for_equality() {
        let (old, new) = (version("1.2.3"), version("1.3"));
        assert!(call(&old, "LessThan", std::slice::from_ref(&new)).unwrap().is_true());
        assert!(matches!(call(&old, "Compare", &[new]).unwrap(), Value::Int(IntKind::Int, -1)));
        assert!(!call(&old, "Equal", &[Value::Nil]).unwrap().is_true());
        assert_eq!(call(&old, "LessThan", &[Value::Nil]).unwrap_err().message, NIL_POINTER);
    }
}
