//! The parser of the command line: which input is rejected, and with which text.

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

#[test]
fn an_unknown_command_is_refused_with_suggestions() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("instal"), @r#"
    exit 1
    --- stderr
    Error: unknown command "instal" for "helm"

    Did you mean this?
    	install

    Run 'helm --help' for usage.
    "#);
    assert_snapshot!(env.pintle("versoin"), @"
    exit 2
    --- stderr
    error: unknown command `versoin`

    hint: did you mean `version`?
    ");
    assert_snapshot!(env.pintle("nonsense"), @"
    exit 2
    --- stderr
    error: unknown command `nonsense`

    hint: `pintle --help` lists the commands
    ");
}

#[test]
fn an_unknown_subcommand_is_refused_where_helm_has_no_such_group() {
    let env = TestEnv::new();
    assert_snapshot!(env.pintle("ct lnt"), @"
    exit 2
    --- stderr
    error: unknown command `lnt` for `pintle ct`

    hint: did you mean `pintle ct lint`?
    ");
    assert_snapshot!(env.pintle("repo --debug bogus"), @"
    exit 2
    --- stderr
    error: unknown command `bogus` for `pintle repo`

    hint: `pintle repo --help` lists the commands
    ");
    assert_snapshot!(env.helm("ct bogus"), @r#"
    exit 1
    --- stderr
    Error: unknown command "bogus" for "helm ct"
    Run 'helm ct --help' for usage.
    "#);
    // Command groups that Helm has, too, print their help for an unknown command, as in Helm.
    for line in ["repo bogus", "get bogus", "dependency bogus"] {
        assert!(env.helm(line).starts_with("exit 0\n--- stdout\n"), "{line}");
    }
    assert!(env.pintle("ct help").starts_with("exit 0\n--- stdout\n"));
}

#[test]
fn unknown_flags_and_missing_values_read_as_in_helm() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("version --nope"), @"
    exit 1
    --- stderr
    Error: unknown flag: --nope
    ");
    assert_snapshot!(env.helm("version -x"), @"
    exit 1
    --- stderr
    Error: unknown shorthand flag: 'x' in -x
    ");
    assert_snapshot!(env.helm("env -n"), @"
    exit 1
    --- stderr
    Error: flag needs an argument: 'n' in -n
    ");
    assert_snapshot!(env.helm("env --qps=zz"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "zz" for "--qps" flag: strconv.ParseFloat: parsing "zz": invalid syntax
    "#);
    assert_snapshot!(env.pintle("version --nope"), @"
    exit 2
    --- stderr
    error: unknown flag: --nope

    hint: `pintle version --help` lists the flags
    ");
}

#[test]
fn the_number_of_operands_is_checked() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("version x"), @r#"
    exit 1
    --- stderr
    Error: "helm version" accepts no arguments

    Usage:  helm version [flags]
    "#);
    assert_snapshot!(env.pintle("env A B"), @"
    exit 2
    --- stderr
    error: `pintle env` accepts at most 1 argument, but 2 were given

    hint: usage: pintle env [flags]
    ");
}

#[test]
fn an_invalid_color_mode_is_an_error() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("--color=pink version"), @r#"
    exit 1
    --- stderr
    level=WARN msg="command failed" error="invalid color mode \"pink\": must be one of: never, auto, always"
    "#);
    assert_snapshot!(env.pintle("version --colour=pink"), @r#"
    exit 2
    --- stderr
    error: invalid color mode "pink": must be one of: never, auto, always
    "#);
}

#[test]
fn the_flags_of_the_kubernetes_logger_are_accepted() {
    let env = TestEnv::new();
    let line = "version --short -v 3 --vmodule=a=1 --logtostderr=false --alsologtostderr --stderrthreshold=2 \
                --add-dir-header --skip-headers --skip-log-headers --one-output --log-dir d --log-file f \
                --log-file-max-size 1 --log-backtrace-at f:1 --alsologtostderrthreshold 1 \
                --legacy-stderr-threshold-behavior";
    assert_snapshot!(env.helm(line), @"
    exit 0
    --- stdout
    v4.3.1
    ");
}

#[test]
fn debug_output_omits_helms_internal_steps() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/a.yaml", "kind: ConfigMap\n");
    assert_eq!(env.helm("template web --debug"), env.helm("template web"));
}
