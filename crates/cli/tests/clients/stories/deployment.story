# A Deployment from the first apply to the end

=== app.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {pintle.dev/simulate-log: "hello\nagain\n"}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: test.invalid/busybox:1
          command: [sh, -c, "echo hello; echo again; sleep 3600"]
          ports: [{containerPort: 80, name: http}]
          env: [{name: COLOR, value: blue}]
          resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 32Mi}}
===

$ kubectl apply -f app.yaml
% kubectl rollout status deployment/web --timeout=60s
$ kubectl rollout status deployment/web
$ kubectl get deployment
$ kubectl get deployment web -o wide
$ kubectl get replicasets -o wide
$ kubectl get pods --show-labels
$ kubectl get pods -o wide
$ kubectl get all
$ kubectl describe deployment web
$ kubectl describe replicaset
$ kubectl logs deployment/web | sort -u
$ kubectl logs -l app=web --prefix | sort
$ kubectl apply -f app.yaml
$ kubectl diff -f app.yaml
$ kubectl scale deployment web --replicas=3
% kubectl wait --for=jsonpath='{.status.readyReplicas}'=3 deployment/web --timeout=60s
$ kubectl get deployment web
$ kubectl scale deployment web --current-replicas=5 --replicas=1
$ kubectl set env deployment/web COLOR=green
% kubectl rollout status deployment/web --timeout=60s
$ kubectl set env deployment/web --list
$ kubectl rollout history deployment/web
$ kubectl rollout history deployment/web --revision=2
$ kubectl rollout undo deployment/web
% kubectl rollout status deployment/web --timeout=60s
$ kubectl rollout history deployment/web
$ kubectl get deployment web -o jsonpath='{.spec.template.spec.containers[0].env[0].value}{"\n"}'
$ kubectl rollout undo deployment/web --to-revision=9
$ kubectl rollout pause deployment/web
$ kubectl rollout pause deployment/web
$ kubectl set image deployment/web main=test.invalid/httpd:1
$ kubectl get deployment web -o jsonpath='{.status.updatedReplicas}{"\n"}'
$ kubectl rollout resume deployment/web
$ kubectl rollout undo deployment/web --dry-run=server
$ kubectl set image deployment/web main=test.invalid/busybox:1
% kubectl rollout status deployment/web --timeout=60s
$ kubectl rollout restart deployment/web
% kubectl rollout status deployment/web --timeout=60s
$ kubectl wait --for=condition=Available deployment/web --timeout=60s
$ kubectl set resources deployment/web --limits=memory=64Mi
$ kubectl annotate deployment web kubernetes.io/change-cause='more memory'
% kubectl rollout status deployment/web --timeout=60s
$ kubectl rollout history deployment/web
$ kubectl delete deployment web --timeout=60s
% kubectl wait --for=delete pod -l app=web --timeout=60s
$ kubectl get all
$ kubectl get deployment web
$ kubectl delete deployment web
$ kubectl delete deployment web --ignore-not-found
$ kubectl create deployment quick --image=test.invalid/busybox:1 --replicas=2 -- sleep 3600
% kubectl rollout status deployment/quick --timeout=60s
$ kubectl get deployment quick -o yaml
$ kubectl delete deployment quick --cascade=orphan
$ kubectl get replicasets,pods
