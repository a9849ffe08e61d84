//! A small chart to run commands on.

use super::TestEnv;

/// Writes a chart with one object, one hook, one test, a subchart, a README and a CRD into `web`.
pub(crate) fn write(env: &TestEnv) {
    env
        .write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: \"1.2\"\ndescription: d\n")
        .write("web/values.yaml", "greeting: hello\nlist: [a, b]\nnested: {port: 80}\n")
        .write("web/README.md", "# web\n")
        .write("web/crds/crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")
        .write(
            "web/templates/config.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\n\
             data:\n  greeting: {{ .Values.greeting }}\n  upgrade: {{ .Release.IsUpgrade | quote }}\n  \
             kube: {{ .Capabilities.KubeVersion.Version }}\n  \
             monitoring: {{ .Capabilities.APIVersions.Has \"monitoring/v1\" | quote }}\n",
        )
        .write(
            "web/templates/hook.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: pre-install}\n",
        )
        .write(
            "web/templates/test.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
        );
}
