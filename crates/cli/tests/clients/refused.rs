//! Features that the embedded cluster does not have, and how clients report it.

use super::scenario::Scenario;
use super::side::{Side, Tools};

#[test]
fn requests_that_need_running_containers_are_rejected() {
    let scenario = Scenario {
        namespace: "refused".to_owned(),
        files: vec![("file".to_owned(), "text".to_owned())],
        steps: Vec::new(),
    };
    let tools = match Tools::find(&scenario) {
        Ok(tools) => tools,
        Err(missing) => return println!("skipped: {missing}"),
    };
    let stage = Side::embedded().stage(&scenario, &tools);
    assert_eq!(stage.run("kubectl run web --image=nginx").0, 0);
    let inside = "the embedded cluster runs no containers";
    for (command, why) in [
        ("kubectl exec web -- ls", inside),
        ("kubectl attach web", inside),
        ("kubectl cp file web:/tmp/file", inside),
        ("kubectl port-forward web 0:80", inside),
        ("kubectl get --raw /api/v1/namespaces/refused/pods/web/proxy/", inside),
        ("kubectl debug web --image=busybox --profile=general", inside),
        ("kubectl create token default", "issues no tokens"),
        ("kubectl top pods", "Metrics API not available"),
        ("kubectl exec none -- ls", "pods \"none\" not found"),
    ] {
        let (code, said) = stage.run(command);
        assert!(code != 0 && code != 124 && said.contains(why), "{command} ends with {code}: {said}");
    }
}
