//! What expressions may cost, and what they may say.

use serde_json::json;

use super::*;

fn evaluated(text: &str) -> Result<Evaluation, String> {
    let hundred: Vec<u32> = (0..100).collect();
    let object = json!({
        "list": hundred,
        "name": "web",
        "secret": "hunter2",
        "labels": {"app": "web", "tier": "front"},
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}],
    });
    Expression::parse(text)?.evaluate([("dep", object)])
}

#[test]
fn expressions_mean_what_they_mean_without_a_meter() {
    for text in [
        "dep.name == 'web'",
        "dep.name + 'x' == 'webx' && [1] + [2] == [1, 2]",
        "dep.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
        "dep.conditions.exists_one(c, c.type == 'Ready')",
        "dep.conditions.all(c, has(c.type) && c.type.size() > 3)",
        "dep.list.filter(x, x > 97).map(x, int(x) * 2) == [196, 198]",
        "dep.list.map(x, x > 97, int(x) + 1) == [99, 100]",
        "dep.labels['app'] == dep.labels.app && 'tier' in dep.labels",
        "dep.labels.all(key, dep.labels[key] != '')",
        "dep.name.startsWith('w') && dep.name.contains('e') && size(dep.list) == 100",
        "(dep.name + dep.name).endsWith('bweb')",
        "type(dep.name) == string && type(1) == int && string(1) == '1'",
        "{'a': dep.name}.a == 'web' && [dep.name][0] == 'web'",
        "dep.list.size() > 50 ? dep.list[99] == 99 : false",
        "!has(dep.nothing) && !(dep.list == [])",
        "dep.nothing == 1 || true",
        "-1 < 1 && 7 / 2 == 3 && 7 % 2 == 1 && 2.5 > 1.0",
    ] {
        assert_eq!(evaluated(text), Ok(Evaluation::True), "{text}");
    }
    assert_eq!(evaluated("dep.name == 'x'"), Ok(Evaluation::False));
    assert_eq!(evaluated("dep.nothing == 1"), Ok(Evaluation::MissingField("nothing".to_owned())));
    assert_eq!(evaluated("nobody == 1"), Ok(Evaluation::MissingVariable("nobody".to_owned())));
}

#[test]
fn nesting_is_limited_before_the_parser_runs() {
    for deep in [
        format!("{}true{}", "(".repeat(200), ")".repeat(200)),
        format!("{}1{} == []", "[".repeat(60), "]".repeat(60)),
        format!("{}true", "true ? true : ".repeat(100)),
    ] {
        let error = Expression::parse(&deep).expect_err("it is too deep");
        assert!(error.contains("nested more than"), "{error}");
    }
    for long in [
        format!("{}true{}", "(".repeat(2_040), ")".repeat(2_040)),
        format!("dep{}", ".a".repeat(1_000)),
        "!".repeat(4_000),
    ] {
        let error = Expression::parse(&long).expect_err("it has too many operators");
        assert!(error.contains("operators"), "{error}");
    }
    let long = format!("dep.name == '{}'", "x".repeat(5_000));
    assert!(Expression::parse(&long).expect_err("it is too long").contains("bytes"));
}

#[test]
fn every_deep_form_within_the_limits_is_survived() {
    let most = MAX_NESTING - 2;
    for text in [
        format!("{}true{}", "(".repeat(most), ")".repeat(most)),
        format!("dep{}", ".a".repeat(399)),
        format!("1{} > 0", "+1".repeat(399)),
        format!("{}true", "!".repeat(400)),
        format!("{}1 < 0", "-".repeat(399)),
        format!("dep{}", "[0]".repeat(400)),
        format!("dep{}", ".size()".repeat(200)),
        format!("true{}", "&&true".repeat(200)),
        format!("{}[]{}", "[].map(x, ".repeat(40), ")".repeat(40)),
        format!("{}true", "true ? true : ".repeat(40)),
        format!("{}1{}", "{'a':".repeat(40), "}".repeat(40)),
        "(".repeat(40),
        "[1,".repeat(40),
        "!(".repeat(40),
        "a.b(".repeat(40),
    ] {
        // Whether it is accepted does not matter here: the process is still there.
        let _ = evaluated(&text);
    }
}

#[test]
fn nested_loops_have_a_budget() {
    let nested = |levels: usize| {
        (0..levels).fold("true".to_owned(), |body, level| format!("dep.list.all(x{level}, {body})"))
    };
    assert_eq!(evaluated(&nested(1)), Ok(Evaluation::True));
    assert_eq!(evaluated(&nested(2)), Ok(Evaluation::True));
    let error = evaluated(&nested(8)).expect_err("10^16 steps");
    assert!(error.contains("needs more than"), "{error}");
    // An error that does not decide the result is ignored by CEL, but not by the budget.
    let hidden = format!("{} || true", nested(8));
    assert!(evaluated(&hidden).expect_err("it is too much anyway").contains("needs more than"));
    let absorbed = nested(8).replace("true)", "true || false)");
    assert!(evaluated(&absorbed).expect_err("it is too much anyway").contains("needs more than"));
}

#[test]
fn values_that_grow_have_a_budget() {
    for text in [
        format!("['xxxxxxxxxxxxxxxx']{}.size() == 1", ".map(y, y+y)".repeat(30)),
        format!("[dep.list]{}.size() == 1", ".map(y, y+y)".repeat(30)),
        format!("[dep.list]{}.size() == 1", ".map(y, [y, y])".repeat(30)),
        format!("[dep.list]{}.size() == 1", ".map(y, {'a': y, 'b': y})".repeat(30)),
        "dep.list.all(a, dep.list.all(b, dep.list == dep.list))".to_owned(),
        "dep.list.all(a, dep.list.all(b, [dep, dep, dep].size() == 3))".to_owned(),
        "dep.list.all(a, dep.list.all(b, dep.list.all(c, dep.name.contains('e'))))".to_owned(),
    ] {
        let error = evaluated(&text).expect_err(&text);
        assert!(error.contains("needs more than"), "{text}: {error}");
    }
}

#[test]
fn a_type_is_no_variable_of_a_loop() {
    let error = evaluated("dep.list.all(string, string == string)").expect_err("a hole in the budget");
    assert!(error.contains("has the name of a type"), "{error}");
}

#[test]
fn errors_contain_no_data() {
    for text in [
        "{'a': true}[dep.secret]",
        "dep.labels[dep.secret] == 'x'",
        "dep.secret",
        "dep.secret + 1 == 2",
        "dep.secret > 1",
        "int(dep.secret) == 1",
        "{dep.labels: 1} == {}",
        "dep.list[dep.secret] == 1",
        "dep.secret.all(x, true)",
        "dep.labels.nothing(dep.secret)",
        "[1, 2][size(dep.secret)] == 1",
        "1 / (size(dep.secret) - 7) == 1",
        "{dep.secret: 1, dep.secret: 2} == {}",
        "double(dep.secret) > 1.0",
        "dep.secret in dep.secret",
        "-dep.secret == 1",
        "dep.secret.name",
    ] {
        let outcome = format!("{:?}", evaluated(text));
        assert!(!outcome.contains("hunter2"), "{text}: {outcome}");
    }
    assert_eq!(evaluated("dep.labels[dep.secret] == 'x'"), Ok(Evaluation::MissingField(String::new())));
}
