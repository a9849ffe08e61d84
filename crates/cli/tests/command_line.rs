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

    hint: did you mean `pintle version`?
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

/// The lines of level DEBUG that a command of `helm` logs.
fn decisions(env: &TestEnv, line: &str) -> String {
    let shown = env.helm(&format!("{line} --debug"));
    let decisions = shown.lines().filter_map(|line| line.strip_prefix("level=DEBUG msg="));
    decisions.map(|line| format!("{line}\n")).collect()
}

#[test]
fn debug_output_has_helms_decisions_without_its_internal_steps() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.schema.json", "{}");
    env.write(
        "web/templates/a.yaml",
        "{{- range .Values.names | default (list \"a\") }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: {{ . }}\n{{- with $.Values.policy }}\n  annotations: {helm.sh/resource-policy: {{ . }}}\n{{- end }}\n{{- end }}\n",
    );
    let cluster = crate::support::cluster::start();
    let run = |line: &str| decisions(&env, &format!("{line} {cluster}"));
    assert_snapshot!(decisions(&env, "template web web --devel"), @r#"
    "Original chart version" version=""
    "setting version to >0.0.0-0"
    "Chart path" path={here}/web
    "#);
    assert_snapshot!(run("install web web --set names={b},policy=keep"), @r#"
    "Original chart version" version=""
    "Chart path" path={here}/web
    "creating resource(s)" resources=1
    "using server-side apply for resource creation" forceConflicts=false dryRun=false fieldValidationDirective=Strict
    "Created resource via patch" namespace=default name=b gvk="/v1, Kind=ConfigMap"
    "#);
    assert_snapshot!(run("upgrade web web --set names={c} --no-hooks"), @r#"
    "preparing upgrade" name=web
    "determined release apply method" server_side_apply=true previous_release_apply_method=ssa
    "performing update" name=web
    "creating upgraded release" name=web
    "upgrade hooks disabled" name=web
    "using server-side apply for resource creation" forceConflicts=false dryRun=false fieldValidationDirective=Strict
    "using server-side apply for resource update" forceConflicts=false dryRun=false fieldValidationDirective=Strict upgradeClientSideFieldManager=false
    "checking resources for changes" resources=1
    "Created resource via patch" namespace=default name=c gvk="/v1, Kind=ConfigMap"
    "created a new resource" namespace=default name=c kind=ConfigMap
    "deleting resource" namespace=default name=b kind=ConfigMap
    "skipping delete due to annotation" namespace=default name=b kind=ConfigMap annotation=helm.sh/resource-policy value=keep
    "updating status for upgraded release" name=web
    "#);
    assert_snapshot!(run("upgrade web web --reuse-values --server-side=false"), @r#"
    "preparing upgrade" name=web
    "reusing the old release's values"
    "determined release apply method" server_side_apply=false previous_release_apply_method=ssa
    "performing update" name=web
    "creating upgraded release" name=web
    "using client-side apply for resource creation"
    "using client-side apply for resource update" threeWayMergeForUnstructured=false
    "checking resources for changes" resources=1
    "no changes detected" kind=ConfigMap name=c
    "updating status for upgraded release" name=web
    "#);
    assert_snapshot!(run("rollback web 2"), @r#"
    "preparing rollback" name=web
    "rolling back" name=web currentVersion=3 targetVersion=2
    "creating rolled back release" name=web
    "performing rollback" name=web
    "using server-side apply for resource creation" forceConflicts=false dryRun=false fieldValidationDirective=Strict
    "using server-side apply for resource update" forceConflicts=false dryRun=false fieldValidationDirective=Strict upgradeClientSideFieldManager=true
    "checking resources for changes" resources=1
    "Patched resource" namespace=default name=c gvk="/v1, Kind=ConfigMap"
    "superseding previous deployment" version=3
    "updating status for rolled back release" name=web
    "#);
    assert_snapshot!(run("uninstall web --dry-run"), @r#"
    "dry-run: resources would be deleted" release=web count=1
    "dry-run: would delete resource" kind=ConfigMap name=c namespace=default
    "#);
    assert_snapshot!(run("uninstall web --no-hooks"), @r#"
    "uninstall: deleting release" name=web
    "delete hooks disabled" release=web
    "deleting resource owned by this release" kind=ConfigMap name=c namespace=default release=web
    "purge requested" release=web
    "#);
}

#[test]
fn debug_lines_need_the_flag_or_the_variable() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    assert!(!env.helm("template web").contains("level="));
    let shown = env.helm_with("template web", &[("HELM_DEBUG", "true")]);
    assert!(shown.contains("level=DEBUG msg=\"Chart path\" path={here}/web\n"), "{shown}");
    let ours = env.pintle("template web --debug");
    assert!(ours.contains("debug: Chart path; path: {here}/web\n"), "{ours}");
}
