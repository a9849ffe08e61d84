# Jobs that end well and badly, their logs, and CronJobs

=== good.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: good}
spec:
  template:
    metadata:
      annotations: {pintle.dev/simulate-log: "one\ntwo\nthree\n"}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "test.invalid/busybox:1", command: [sh, -c, "echo one; echo two; sleep 1; echo three"]}
===
=== bad.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: bad}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        pintle.dev/simulate-log: "no\n"
        pintle.dev/simulate-failures: always
        pintle.dev/simulate-exit-code: "3"
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "test.invalid/busybox:1", command: [sh, -c, "echo no; exit 3"]}
===

$ kubectl apply -f good.yaml
% kubectl wait --for=condition=Complete job/good --timeout=60s
$ kubectl wait --for=condition=Complete job/good --timeout=60s
$ kubectl logs -f job/good
$ kubectl logs job/good --tail=1
$ kubectl logs job/good --limit-bytes=5
$ kubectl logs job/good -c other
$ kubectl get jobs
$ kubectl get jobs -o wide
$ kubectl describe job good
$ kubectl get pods
$ kubectl describe pods
$ kubectl apply -f bad.yaml
% kubectl wait --for=condition=Failed job/bad --timeout=60s
$ kubectl get job bad
$ kubectl describe job bad
$ kubectl logs job/bad
$ kubectl get pods -l job-name=bad
$ kubectl get pods -l job-name=bad -o jsonpath='{.items[0].status.containerStatuses[0].state.terminated.exitCode}{"\n"}'
$ kubectl create job single --image=test.invalid/busybox:1 -- true
% kubectl wait --for=condition=Complete job/single --timeout=60s
$ kubectl get job single -o jsonpath='{.status.succeeded}{"\n"}'
$ kubectl create cronjob nightly --image=test.invalid/busybox:1 --schedule='0 3 * * *' -- true
$ kubectl get cronjobs
$ kubectl get cronjobs -o wide
$ kubectl describe cronjob nightly
$ kubectl create job now --from=cronjob/nightly
% kubectl wait --for=condition=Complete job/now --timeout=60s
$ kubectl get job now -o jsonpath='{.metadata.ownerReferences[0].kind} {.metadata.annotations}{"\n"}'
$ kubectl patch cronjob nightly -p '{"spec":{"suspend":true}}'
$ kubectl get cronjobs
$ kubectl delete cronjob nightly
$ kubectl delete jobs --all --timeout=60s
$ kubectl wait --for=delete pods --all --timeout=60s
$ kubectl get pods
