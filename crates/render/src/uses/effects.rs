//! What the functions of templates do with values, for the analysis of what is read.

use pintle_gotmpl::reads::Effect;

/// The effect of a function. One that is not listed uses its arguments.
pub(super) fn effect(name: &str) -> Effect {
    match name {
        "and" | "or" | "default" | "coalesce" | "deepCopy" | "mustDeepCopy" => Effect::Choose(0),
        // The first argument is the message.
        "required" => Effect::Choose(1),
        "ternary" => Effect::Ternary,
        // These look at the type, the size or the truth of a value, but not at what is below it.
        "not" | "empty" | "len" | "kindOf" | "typeOf" | "kindIs" | "typeIs" | "typeIsLike" | "all"
        | "any" => Effect::Test,
        "index" | "get" => Effect::Index,
        "hasKey" => Effect::HasKey,
        "dig" => Effect::Dig,
        "pluck" => Effect::Pluck,
        "dict" => Effect::Dict,
        "list" | "tuple" => Effect::List,
        "first" | "mustFirst" | "last" | "mustLast" => Effect::Element,
        "values" => Effect::Elements,
        "keys" => Effect::Keys,
        "merge" | "mustMerge" | "mergeOverwrite" | "mustMergeOverwrite" => Effect::Merge,
        "concat" => Effect::Choose(0),
        "pick" | "omit" | "slice" | "mustSlice" | "unset" => Effect::Part,
        "rest" | "mustRest" | "initial" | "mustInitial" | "reverse" | "mustReverse" | "uniq" | "mustUniq"
        | "compact" | "mustCompact" => Effect::Part,
        "set" => Effect::Set,
        "include" => Effect::Include,
        "tpl" => Effect::Evaluate,
        _ => Effect::Use,
    }
}
