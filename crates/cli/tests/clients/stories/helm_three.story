# The real Helm 3 through the life of a release, and Helm 4 after it

=== tea/Chart.yaml
apiVersion: v2
name: tea
version: 1.0.0
===
=== tea/templates/objects.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {kind: "{{ .Values.kind | default "green" }}"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: "{{ .Release.Name }}"}
spec:
  serviceName: "{{ .Release.Name }}"
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "test.invalid/busybox:1", command: [sleep, "3600"]}
===
=== tea/templates/tests/taste.yaml
apiVersion: v1
kind: Pod
metadata:
  name: "{{ .Release.Name }}-taste"
  annotations:
    helm.sh/hook: test
    pintle.dev/simulate-log: "good\n"
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "test.invalid/busybox:1", command: [echo, good]}]
===

$ helm3 install cup tea --wait --timeout 90s
$ helm3 list
$ helm3 status cup
$ helm3 test cup --logs --timeout 60s
$ helm3 upgrade cup tea --set kind=black --wait --timeout 90s
$ kubectl get configmap cup -o jsonpath='{.data.kind}{"\n"}'
$ helm3 rollback cup 1 --wait --timeout 90s
$ helm3 history cup
$ helm3 get manifest cup --revision 2
$ helm list
$ helm upgrade cup tea --set kind=white --wait --timeout 90s
$ helm test cup --timeout 60s
$ helm3 history cup
$ helm3 upgrade cup tea --atomic --timeout 90s
$ helm3 uninstall cup --wait --timeout 90s
$ helm3 list --all
$ helm3 install hello charts/greeter --set image=test.invalid/busybox:1 --wait --timeout 90s
$ helm3 get hooks hello | grep -E '^(kind|  name):'
$ helm3 uninstall hello --wait --timeout 90s
