# Services, their endpoints, and Ingresses

=== app.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "test.invalid/httpd:1", ports: [{containerPort: 80, name: http}]}
===

% kubectl apply -f app.yaml
% kubectl rollout status deployment/web --timeout=60s
$ kubectl expose deployment web --port=8080 --target-port=http
% kubectl wait --for=jsonpath='{.endpoints[0].conditions.ready}'=true endpointslice -l kubernetes.io/service-name=web --timeout=30s
$ kubectl get services
$ kubectl get services -o wide
$ kubectl describe service web
$ kubectl get endpointslices -o wide
$ kubectl describe endpointslices
$ kubectl get endpoints
$ kubectl create service nodeport open --tcp=80:80 --node-port=30999
$ kubectl describe service open
$ kubectl create service externalname away --external-name=example.test
$ kubectl get services
$ kubectl patch service web -p '{"spec":{"type":"NodePort"}}'
$ kubectl get service web
$ kubectl create ingress door --rule='a.test/x*=web:8080,tls=cert' --class=none
$ kubectl get ingress -o custom-columns=NAME:.metadata.name,HOST:.spec.rules[0].host
$ kubectl describe ingress door | grep -v ^Address
$ kubectl create poddisruptionbudget guard --selector=app=web --min-available=1
% kubectl wait --for=jsonpath='{.status.expectedPods}'=1 poddisruptionbudget/guard --timeout=30s
$ kubectl get poddisruptionbudgets
$ kubectl describe poddisruptionbudget guard
$ kubectl autoscale deployment web --min=1 --max=3 --cpu-percent=80
$ kubectl get horizontalpodautoscalers
$ kubectl delete service,ingress,pdb,hpa --all
$ kubectl delete deployment web --timeout=60s
$ kubectl get endpointslices
