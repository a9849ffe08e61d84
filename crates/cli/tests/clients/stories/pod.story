# Pods: logs, events, and what cannot be done without containers

=== two.yaml
apiVersion: v1
kind: Pod
metadata:
  name: two
  labels: {app: two}
  annotations: {pintle.dev/simulate-log: "hi\n"}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
    - {name: before, image: "test.invalid/busybox:1", command: ["true"]}
  containers:
    - {name: main, image: "test.invalid/busybox:1", command: [sh, -c, "echo hi; sleep 3600"]}
    - name: side
      image: test.invalid/busybox:1
      command: [sh, -c, "echo hi; sleep 3600"]
      livenessProbe: {exec: {command: ["true"]}}
      readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
      envFrom: [{configMapRef: {name: none, optional: true}}]
===
=== waits.yaml
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: test.invalid/busybox:1
      command: [sleep, "3600"]
      env: [{name: A, valueFrom: {configMapKeyRef: {name: late, key: a}}}]
===

$ kubectl apply -f two.yaml
% kubectl wait --for=condition=Ready pod/two --timeout=60s
$ kubectl get pods
$ kubectl get pod two -o wide
$ kubectl describe pod two
$ kubectl logs two
$ kubectl logs two -c main
$ kubectl logs two --all-containers
$ kubectl logs two -c none
$ kubectl logs two -c main --previous
$ kubectl logs none
$ kubectl get pods --field-selector=status.phase=Running
$ kubectl get pods --field-selector=status.phase=Failed
$ kubectl get pods -l 'app in (two,three),!gone'
$ kubectl get pods -l 'app='
$ kubectl get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase,QOS:.status.qosClass
$ kubectl get pods -o name
$ kubectl get pod two -o go-template='{{range .spec.containers}}{{.name}} {{end}}{{"\n"}}'
$ kubectl get events --field-selector involvedObject.name=two -o custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message | sort
$ kubectl events --for pod/two --types=Normal -o name | wc -l
$ kubectl top pods
$ kubectl apply -f waits.yaml
% kubectl wait --for=jsonpath='{.status.containerStatuses[0].state.waiting.reason}'=CreateContainerConfigError pod/waits --timeout=60s
$ kubectl get pod waits
$ kubectl logs waits
$ kubectl create configmap late --from-literal=a=1
% kubectl wait --for=condition=Ready pod/waits --timeout=90s
$ kubectl get pod waits -o jsonpath='{.status.phase}{"\n"}'
$ kubectl patch pod waits -p '{"spec":{"containers":[{"name":"main","command":["other"]}]}}' 2>&1 | head -1
$ kubectl delete pod waits --grace-period=0 --force
$ kubectl run quick --image=test.invalid/busybox:1 --restart=Never -- true
% kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/quick --timeout=60s
$ kubectl get pod quick
$ kubectl delete pods --all --timeout=60s
$ kubectl get pods
$ kubectl get pods -A --field-selector metadata.name=none
