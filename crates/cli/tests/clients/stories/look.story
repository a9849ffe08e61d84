# Looking around

$ kubectl api-versions | grep -v test
$ kubectl api-resources | grep -v test
$ kubectl api-resources --namespaced=false --verbs=list -o name | grep -v test | sort
$ kubectl api-resources --api-group=apps -o wide
$ kubectl explain deployment
$ kubectl explain deployment.spec.strategy
$ kubectl explain pod.spec.containers.resources
$ kubectl explain pods.status.phase
$ kubectl explain service --recursive
$ kubectl explain nothing
$ kubectl explain deployment.spec.none
$ kubectl explain cronjob --api-version=batch/v1
$ kubectl get nothing
$ kubectl get pods none
$ kubectl get pods
$ kubectl get pods,services
$ kubectl get namespaces --field-selector metadata.name=kube-system
$ kubectl get --raw /healthz
$ kubectl get --raw /livez
$ kubectl get --raw /readyz
$ kubectl get --raw /none
$ kubectl auth can-i create pods
$ kubectl auth can-i '*' '*' --all-namespaces
$ kubectl auth can-i --list | head -3
$ kubectl auth whoami -o jsonpath='{.kind}{"\n"}'
$ kubectl get priorityclasses system-node-critical -o jsonpath='{.value}{"\n"}'
$ kubectl get storageclasses -o custom-columns=DEFAULT:'.metadata.annotations.storageclass\.kubernetes\.io/is-default-class'
$ kubectl get serviceaccounts
$ kubectl describe serviceaccount default
$ kubectl describe namespace {ns}
$ kubectl get configmaps
$ kubectl get configmap kube-root-ca.crt -o jsonpath='{.metadata.annotations}{"\n"}'
$ kubectl top nodes
$ kubectl top pods
$ kubectl get events
$ kubectl get leases
$ kubectl get nodes -o jsonpath='{.items[*].status.conditions[?(@.type=="Ready")].status}{"\n"}'
$ kubectl cluster-info | grep -c running
$ kubectl version -o json | grep -A3 serverVersion | grep major
$ (sleep 1; kubectl create configmap seen --from-literal=a=1; kubectl delete configmap seen) >/dev/null & timeout 4 kubectl get configmaps --watch --output-watch-events --field-selector metadata.name=seen
$ kubectl get configmaps --watch-only --request-timeout=1s
