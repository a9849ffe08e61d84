# A StatefulSet with claims, its revisions, and the way back

=== db.yaml
apiVersion: v1
kind: Service
metadata: {name: db, labels: {app: db}}
spec:
  clusterIP: None
  selector: {app: db}
  ports: [{port: 5432, name: sql}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {app: db}}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: test.invalid/busybox:1
          command: [sleep, "3600"]
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 16Mi}}
===

$ kubectl apply -f db.yaml
% kubectl rollout status statefulset/db --timeout=90s
$ kubectl get statefulset -o wide
$ kubectl get pods
$ kubectl get persistentvolumeclaims
$ kubectl get controllerrevisions
$ kubectl describe statefulset db
$ kubectl describe pod db-0 | sed '/^Events/,$d'
$ kubectl describe service db
$ kubectl rollout history statefulset/db
$ kubectl rollout history statefulset/db --revision=1
$ kubectl set env statefulset/db LEVEL=2
% kubectl rollout status statefulset/db --timeout=90s
$ kubectl rollout history statefulset/db
$ kubectl rollout history statefulset/db --revision=2
$ kubectl get controllerrevisions --sort-by=.revision
$ kubectl rollout undo statefulset/db
% kubectl rollout status statefulset/db --timeout=90s
$ kubectl rollout history statefulset/db
$ kubectl set env statefulset/db --list
$ kubectl rollout restart statefulset/db
% kubectl rollout status statefulset/db --timeout=90s
$ kubectl scale statefulset db --replicas=1
% kubectl wait --for=delete pod/db-1 --timeout=60s
$ kubectl get statefulset db
$ kubectl get pods
$ kubectl delete statefulset db --timeout=60s
% kubectl wait --for=delete pod/db-0 --timeout=60s
$ kubectl get persistentvolumeclaims
$ kubectl get controllerrevisions
$ kubectl delete persistentvolumeclaims --all --timeout=60s
$ kubectl delete service db
