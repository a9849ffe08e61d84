# The real Helm 4 through the life of a release

=== shop/Chart.yaml
apiVersion: v2
name: shop
version: 1.2.3
appVersion: "4.5"
===
=== shop/values.yaml
replicas: 1
color: blue
===
=== shop/crds/goods.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.{ns}.test}
spec:
  group: {ns}.test
  scope: Namespaced
  names: {plural: goods, singular: good, kind: Good, listKind: GoodList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {price: {type: integer}}}}}}
===
=== shop/templates/objects.yaml
apiVersion: {ns}.test/v1
kind: Good
metadata: {name: "{{ .Release.Name }}"}
spec: {price: 5}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {color: "{{ .Values.color }}"}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {selector: {app: "{{ .Release.Name }}"}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      terminationGracePeriodSeconds: 1
      serviceAccountName: "{{ .Release.Name }}"
      containers:
        - name: main
          image: test.invalid/busybox:1
          command: [sleep, "3600"]
          env: [{name: COLOR, value: "{{ .Values.color }}"}]
===
=== shop/templates/migrate.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-migrate"
  annotations:
    helm.sh/hook: post-install,pre-upgrade
    helm.sh/hook-weight: "3"
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "test.invalid/busybox:1", command: ["true"]}]
===
=== shop/templates/NOTES.txt
{{ .Release.Name }} is {{ .Values.color }} at {{ .Release.Revision }} on {{ .Capabilities.KubeVersion.Major }}
===

$ helm list
$ helm install one shop --wait --timeout 90s
$ helm install one shop
$ helm list
$ helm status one | sed '/^RESOURCES/,/^$/d; /^==>/,/^$/d'
$ helm get all one
$ kubectl get goods,deployments,services,secrets,jobs
$ kubectl get secret sh.helm.release.v1.one.v1 --show-labels
$ helm upgrade one shop --set color=red,replicas=2 --wait --timeout 90s
$ helm get values one
$ helm get values one --all --revision 1
$ kubectl get deployment one -o jsonpath='{.spec.replicas} {.status.readyReplicas}{"\n"}'
$ helm upgrade one shop --reuse-values --set replicas=1 --description 'fewer' --wait=legacy --timeout 90s
$ helm history one
$ helm rollback one 1 --wait --timeout 90s
$ helm history one -o json
$ helm get metadata one
$ helm upgrade one shop --dry-run=server --set color=green
$ helm upgrade two shop --install --wait=hookOnly --timeout 90s
$ helm list -q
$ helm list -f 'o.*' --short
$ helm uninstall two --wait --timeout 90s
$ helm uninstall one --keep-history --timeout 90s --wait
$ helm list --uninstalled
$ helm history one
$ helm uninstall one
$ helm uninstall one
$ kubectl get goods,deployments,services
$ helm install hello charts/greeter --set image=test.invalid/busybox:1 --wait --timeout 90s
$ helm test hello --logs --timeout 90s
$ helm upgrade hello charts/greeter --reuse-values --set greeting=Bye --wait --timeout 90s
$ helm get notes hello
$ helm get hooks hello | grep -E '^(kind|  name):'
$ helm rollback hello --wait --timeout 90s
$ helm status hello | sed '/^RESOURCES/,/^$/d; /^==>/,/^$/d'
$ helm uninstall hello --wait --timeout 90s
$ kubectl delete crd goods.{ns}.test
$ kubectl get secrets
