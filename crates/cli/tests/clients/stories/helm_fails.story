# What goes wrong, as the real Helm 4 tells it

=== sad/Chart.yaml
apiVersion: v2
name: sad
version: 0.1.0
===
=== sad/values.yaml
hook: "0"
ready: "true"
immutable: a
===
=== sad/templates/check.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-check"
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
    helm.sh/hook-output-log-policy: hook-failed
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        pintle.dev/simulate-log: "checked\n"
        pintle.dev/simulate-failures: '{{ if ne .Values.hook "0" }}always{{ else }}0{{ end }}'
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "test.invalid/busybox:1", command: [sh, -c, "echo checked; exit {{ .Values.hook }}"]}
===
=== sad/templates/app.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  progressDeadlineSeconds: 15
  selector: {matchLabels: {app: "{{ .Values.immutable }}"}}
  template:
    metadata:
      labels: {app: "{{ .Values.immutable }}"}
      annotations: {pintle.dev/simulate-ready: '{{ if eq .Values.ready "true" }}always{{ else }}never{{ end }}'}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: test.invalid/busybox:1
          command: [sleep, "3600"]
          readinessProbe: {exec: {command: ["{{ .Values.ready }}"]}, periodSeconds: 1}
===

$ helm install a sad --set hook=1 --timeout 60s
$ helm list
$ helm status a
$ helm install a sad
$ helm uninstall a
% kubectl delete job a-check --ignore-not-found
$ helm install a sad --set-string ready=false --wait --timeout 60s
$ helm list
$ helm uninstall a --wait --timeout 60s
$ helm install a sad --set-string ready=false --rollback-on-failure --timeout 60s
$ helm list --all
$ helm install a sad --wait --timeout 60s
$ helm upgrade a sad --set hook=2 --timeout 60s
$ helm history a
$ helm upgrade a sad --set immutable=b
$ helm upgrade a sad --set hook=3 --rollback-on-failure --timeout 60s
$ helm history a
$ helm upgrade none sad
$ helm rollback a 99
$ helm status none
$ helm test a
$ helm uninstall none
$ kubectl create configmap b
$ printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n' > sad/templates/taken.yaml; helm install b sad
$ helm install b sad --take-ownership --wait --timeout 60s
$ kubectl get configmap b -o jsonpath='{.metadata.annotations} {.metadata.labels}{"\n"}'
$ printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndate: {}\n' > sad/templates/taken.yaml; helm upgrade b sad
$ printf 'apiVersion: none.test/v1\nkind: None\nmetadata: {name: b}\n' > sad/templates/taken.yaml; helm upgrade b sad
$ helm uninstall a b --wait --timeout 60s
