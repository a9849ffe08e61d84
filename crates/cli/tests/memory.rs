//! Release output, with releases from a file (`HELM_DRIVER=memory`)

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

const RELEASES: &str = r#"
- name: web
  namespace: default
  version: 2
  info:
    first_deployed: "2025-01-02T03:04:05.123456789Z"
    last_deployed: "2026-01-02T03:04:05.120000000Z"
    description: Upgrade complete
    status: deployed
    notes: "\nVisit <http://web>\n\n"
  chart:
    metadata:
      name: web
      version: 1.2.3
      appVersion: "9"
      apiVersion: v2
      annotations: {b: "2", a: "1"}
      dependencies:
      - {name: db, version: ^1, repository: "https://charts", alias: store, tags: [x], condition: db.on, import-values: [v]}
      - {name: cache, repository: ""}
    values: {replicas: 1, image: {name: web}}
  config: {image: {tag: "1e3"}, size: 1000000, ratio: 0.5}
  manifest: "---\n# Source: web/templates/a.yaml\na: b\n"
  hooks:
  - {name: check, kind: Pod, path: web/templates/check.yaml, manifest: "kind: Pod\n", events: [test], weight: 3, last_run: {started_at: "2026-01-02T03:05:00Z", completed_at: "2026-01-02T03:05:09Z", phase: Succeeded}, delete_policies: [hook-failed]}
  - {name: later, kind: Pod, path: web/templates/later.yaml, manifest: "kind: Pod\n", events: [test], last_run: {phase: ""}}
  apply_method: ssa
- name: web
  namespace: default
  version: 1
  info: {status: superseded, last_deployed: "2025-01-02T03:04:05+02:00", description: "two\nlines"}
  chart: {metadata: {name: web, version: 1.2.2}}
- name: odd
  namespace: default
  version: 1
  info: {status: failed}
  chart: {metadata: {name: odd, version: 0.1.0}}
  apply_method: csa
"#;

fn helm(line: &str) -> String {
    let env = TestEnv::new();
    env.write("releases.yaml", RELEASES);
    env.helm_with(line, &[("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "releases.yaml")])
}

#[test]
fn lists_show_the_last_version_of_each_release() {
    assert_snapshot!(helm("list"), @"
    exit 0
    --- stdout
    NAME	NAMESPACE	REVISION	UPDATED                         	STATUS  	CHART    	APP VERSION
    odd 	default  	1       	-                               	failed  	odd-0.1.0	           
    web 	default  	2       	2026-01-02 03:04:05.12 +0000 UTC	deployed	web-1.2.3	9
    ");
    assert_snapshot!(helm("list -r --no-headers --time-format 2006"), @"
    exit 0
    --- stdout
    web	default	2	2026	deployed	web-1.2.3	9
    odd	default	1	-   	failed  	odd-0.1.0
    ");
    assert_snapshot!(helm("list --failed -o json"), @r#"
    exit 0
    --- stdout
    [{"name":"odd","namespace":"default","revision":"1","updated":"-","status":"failed","chart":"odd-0.1.0","app_version":""}]
    "#);
    assert_snapshot!(helm("list -q -o yaml"), @"
    exit 0
    --- stdout
    - odd
    - web
    ");
    assert_snapshot!(helm("list -q -f ^w"), @"
    exit 0
    --- stdout
    web
    ");
    assert_snapshot!(helm("list --pending -o json"), @"
    exit 0
    --- stdout
    []
    ");
    assert_snapshot!(helm("list --color always -f odd").replace('\u{1b}', "ESC"), @"
    exit 0
    --- stdout
    ESC[1mNAMEESC[22m	ESC[1mNAMESPACEESC[22m	ESC[1mREVISIONESC[22m	ESC[1mUPDATEDESC[22m	ESC[1mSTATUSESC[22m	ESC[1mCHARTESC[22m    	ESC[1mAPP VERSIONESC[22m
    odd 	ESC[36mdefaultESC[0m  	1       	-      	ESC[31mfailedESC[0m	odd-0.1.0
    ");
}

#[test]
fn history_shows_all_versions_the_oldest_first() {
    assert_snapshot!(helm("history web"), @"
    exit 0
    --- stdout
    REVISION	UPDATED                 	STATUS    	CHART    	APP VERSION	DESCRIPTION     
    1       	Thu Jan  2 03:04:05 2025	superseded	web-1.2.2	           	two             
            	                        	          	         	           	lines           
    2       	Fri Jan  2 03:04:05 2026	deployed  	web-1.2.3	9          	Upgrade complete
    ");
    assert_snapshot!(helm("history web --max 1 -o json"), @r#"
    exit 0
    --- stdout
    [{"revision":2,"updated":"2026-01-02T03:04:05.12Z","status":"deployed","chart":"web-1.2.3","app_version":"9","description":"Upgrade complete"}]
    "#);
    assert_snapshot!(helm("history odd -o yaml"), @r#"
    exit 0
    --- stdout
    - app_version: ""
      chart: odd-0.1.0
      description: ""
      revision: 1
      status: failed
    "#);
    assert_snapshot!(helm("history nobody"), @"
    exit 1
    --- stderr
    Error: release: not found
    ");
}

#[test]
fn status_shows_tests_and_notes() {
    assert_snapshot!(helm("status web"), @"
    exit 0
    --- stdout
    NAME: web
    LAST DEPLOYED: Fri Jan  2 03:04:05 2026
    NAMESPACE: default
    STATUS: deployed
    REVISION: 2
    DESCRIPTION: Upgrade complete
    TEST SUITE:     check
    Last Started:   Fri Jan  2 03:05:00 2026
    Last Completed: Fri Jan  2 03:05:09 2026
    Phase:          Succeeded
    NOTES:
    Visit <http://web>
    ");
    assert_snapshot!(helm("status web -o json"), @r#"
    exit 0
    --- stdout
    {"name":"web","info":{"first_deployed":"2025-01-02T03:04:05.123456789Z","last_deployed":"2026-01-02T03:04:05.12Z","description":"Upgrade complete","status":"deployed","notes":"\nVisit \u003chttp://web\u003e\n\n"},"config":{"image":{"tag":"1e3"},"ratio":0.5,"size":1000000},"manifest":"---\n# Source: web/templates/a.yaml\na: b\n","hooks":[{"name":"check","kind":"Pod","path":"web/templates/check.yaml","manifest":"kind: Pod\n","events":["test"],"last_run":{"started_at":"2026-01-02T03:05:00Z","completed_at":"2026-01-02T03:05:09Z","phase":"Succeeded"},"weight":3,"delete_policies":["hook-failed"]},{"name":"later","kind":"Pod","path":"web/templates/later.yaml","manifest":"kind: Pod\n","events":["test"],"last_run":{"phase":""}}],"version":2,"namespace":"default","apply_method":"ssa"}
    "#);
    assert_snapshot!(helm("status web --revision 1"), @"
    exit 0
    --- stdout
    NAME: web
    LAST DEPLOYED: Thu Jan  2 03:04:05 2025
    NAMESPACE: default
    STATUS: superseded
    REVISION: 1
    DESCRIPTION: two
    lines
    TEST SUITE: None
    ");
}

#[test]
fn everything_stored_can_be_shown() {
    assert_snapshot!(helm("get all web"), @r#"
    exit 0
    --- stdout
    NAME: web
    LAST DEPLOYED: Fri Jan  2 03:04:05 2026
    NAMESPACE: default
    STATUS: deployed
    REVISION: 2
    CHART: web
    VERSION: 1.2.3
    APP_VERSION: 9
    DESCRIPTION: Upgrade complete
    TEST SUITE:     check
    Last Started:   Fri Jan  2 03:05:00 2026
    Last Completed: Fri Jan  2 03:05:09 2026
    Phase:          Succeeded
    USER-SUPPLIED VALUES:
    image:
      tag: "1e3"
    ratio: 0.5
    size: 1000000

    COMPUTED VALUES:
    image:
      name: web
      tag: "1e3"
    ratio: 0.5
    replicas: 1
    size: 1000000

    HOOKS:
    ---
    # Source: web/templates/check.yaml
    kind: Pod

    ---
    # Source: web/templates/later.yaml
    kind: Pod

    MANIFEST:
    ---
    # Source: web/templates/a.yaml
    a: b

    NOTES:
    Visit <http://web>
    "#);
    assert_snapshot!(helm("get hooks web"), @"
    exit 0
    --- stdout
    ---
    # Source: web/templates/check.yaml
    kind: Pod

    ---
    # Source: web/templates/later.yaml
    kind: Pod
    ");
    assert_snapshot!(helm("get manifest web"), @"
    exit 0
    --- stdout
    ---
    # Source: web/templates/a.yaml
    a: b
    ");
    assert_snapshot!(helm("get notes web"), @"
    exit 0
    --- stdout
    NOTES:

    Visit <http://web>
    ");
    assert_snapshot!(helm("get notes odd"), @"exit 0");
    assert_snapshot!(helm("get values web --all"), @r#"
    exit 0
    --- stdout
    COMPUTED VALUES:
    image:
      name: web
      tag: "1e3"
    ratio: 0.5
    replicas: 1
    size: 1000000
    "#);
    assert_snapshot!(helm("get values web -o json"), @r#"
    exit 0
    --- stdout
    {"image":{"tag":"1e3"},"ratio":0.5,"size":1000000}
    "#);
    assert_snapshot!(helm("get values odd"), @"
    exit 0
    --- stdout
    USER-SUPPLIED VALUES:
    null
    ");
}

#[test]
fn metadata_names_chart_and_dependencies() {
    assert_snapshot!(helm("get metadata web"), @"
    exit 0
    --- stdout
    NAME: web
    CHART: web
    VERSION: 1.2.3
    APP_VERSION: 9
    ANNOTATIONS: a=1,b=2
    LABELS: 
    DEPENDENCIES: cache,db
    NAMESPACE: default
    REVISION: 2
    STATUS: deployed
    DEPLOYED_AT: 2026-01-02T03:04:05Z
    APPLY_METHOD: server-side apply
    ");
    assert_snapshot!(helm("get metadata web -o json"), @r#"
    exit 0
    --- stdout
    {"name":"web","chart":"web","version":"1.2.3","appVersion":"9","annotations":{"a":"1","b":"2"},"dependencies":[{"name":"db","version":"^1","repository":"https://charts","condition":"db.on","tags":["x"],"import-values":["v"],"alias":"store"},{"name":"cache","repository":""}],"namespace":"default","revision":2,"status":"deployed","deployedAt":"2026-01-02T03:04:05Z","applyMethod":"ssa"}
    "#);
    assert_snapshot!(helm("get metadata odd -o yaml"), @r#"
    exit 0
    --- stdout
    appVersion: ""
    applyMethod: csa
    chart: odd
    deployedAt: "0001-01-01T00:00:00Z"
    name: odd
    namespace: default
    revision: 1
    status: failed
    version: 0.1.0
    "#);
}

#[test]
fn templates_reach_into_the_release() {
    let line = "get all web --template '{{.Release.Name}} {{.Release.Chart.Metadata.Version}} {{len .Release.Hooks}} \
                {{.Release.Info.LastDeployed}} {{(index .Release.Hooks 0).LastRun.Phase}} {{.Release.Config.size}}'";
    assert_snapshot!(helm(line), @"
    exit 0
    --- stdout
    web 1.2.3 2 2026-01-02 03:04:05.12 +0000 UTC Succeeded 1e+06<no line break>
    ");
    assert_snapshot!(helm("get all web --template '{{.Release.Nope}}'"), @r#"
    exit 1
    --- stderr
    Error: template: _:1:10: executing "_" at <.Release.Nope>: can't evaluate field Nope in type interface {}
    "#);
}

#[test]
fn files_that_are_no_releases_are_refused() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm_with("list", &[("HELM_DRIVER", "memory")]), @r#"
    exit 1
    --- stderr
    level=INFO msg="Unable to read memory driver dataopen : no such file or directory"
    "#);
}

#[test]
fn a_version_without_a_number_has_none_in_data() {
    let env = TestEnv::new();
    env.write("releases.yaml", "- {name: web, namespace: default, info: {status: deployed}, chart: {metadata: {name: web, version: 0.1.0}}}\n");
    let memory = [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "releases.yaml")];
    assert_snapshot!(env.helm_with("status web -o json", &memory), @r#"
    exit 0
    --- stdout
    {"name":"web","info":{"status":"deployed"},"namespace":"default"}
    "#);
}

#[test]
fn commands_without_releases_ignore_the_driver() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    for driver in ["memory", "unknown", "sql"] {
        for line in ["show chart web", "template web", "lint web", "version", "env", "__complete show "] {
            let shown = env.helm_with(line, &[("HELM_DRIVER", driver)]);
            assert!(shown.starts_with("exit 0"), "{driver}: {line}: {shown}");
        }
    }
    let shown = env.helm_with("list", &[("HELM_DRIVER", "unknown")]);
    assert!(shown.starts_with("exit 1") && shown.contains("unknown driver"), "{shown}");
}
