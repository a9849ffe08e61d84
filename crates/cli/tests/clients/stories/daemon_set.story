# A DaemonSet, its revisions, and the way back

=== agent.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, labels: {app: agent}}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "test.invalid/busybox:1", command: [sleep, "3600"]}
===

$ kubectl apply -f agent.yaml
% kubectl rollout status daemonset/agent --timeout=60s
$ kubectl get daemonset
$ kubectl get daemonset agent -o wide
$ kubectl describe daemonset agent
$ kubectl get controllerrevisions
$ kubectl rollout history daemonset/agent
$ kubectl set env daemonset/agent LEVEL=2
% kubectl rollout status daemonset/agent --timeout=60s
$ kubectl rollout history daemonset/agent --revision=2
$ kubectl rollout undo daemonset/agent
% kubectl rollout status daemonset/agent --timeout=60s
$ kubectl rollout history daemonset/agent
$ kubectl rollout undo daemonset/agent --to-revision=7
$ kubectl rollout restart daemonset/agent
% kubectl rollout status daemonset/agent --timeout=60s
$ kubectl get pods -l app=agent -o jsonpath='{.items[*].metadata.ownerReferences[0].kind}{"\n"}'
$ kubectl delete -f agent.yaml --timeout=60s
