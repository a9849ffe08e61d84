//! Rules for hooks.

use pintle_hooks::{Annotations, HOOK, WEIGHT, WEIGHTS};

use crate::document::Object;
use crate::scope::Scope;

pub(super) fn check(scope: &mut Scope<'_>, object: &Object) {
    let text = |key: &str| object.annotation(key).map(str::to_owned);
    let annotations = Annotations {
        hook: text(HOOK),
        weight: text(WEIGHT),
        weights: text(WEIGHTS),
        ..Annotations::default()
    };
    for problem in annotations.problems() {
        let pointer =
            format!("/metadata/annotations/{}", problem.annotation(&annotations).replace('/', "~1"));
        scope.add("hook-annotations", object, &pointer, problem.to_string());
    }
}
