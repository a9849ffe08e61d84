# Namespaces, accounts, roles and limits

$ kubectl create namespace {ns}-more
$ kubectl create namespace {ns}-more
$ kubectl create namespace Bad_Name
$ kubectl label namespace {ns}-more kind=extra
$ kubectl get namespace {ns}-more --show-labels
$ kubectl describe namespace {ns}-more
$ kubectl create configmap inside --from-literal=a=1 -n {ns}-more
$ kubectl create serviceaccount robot
$ kubectl describe serviceaccount robot
$ kubectl create role reader --verb=get,list --resource=pods,deployments.apps
$ kubectl describe role reader
$ kubectl get roles
$ kubectl create rolebinding reads --role=reader --serviceaccount={ns}:robot
$ kubectl describe rolebinding reads
$ kubectl get rolebindings -o wide
$ kubectl create clusterrole {ns}-wide --verb='*' --resource=nodes
$ kubectl describe clusterrole {ns}-wide
$ kubectl create clusterrolebinding {ns}-wide --clusterrole={ns}-wide --user=me --group=us
$ kubectl get clusterrolebinding {ns}-wide -o wide
$ kubectl create quota few --hard=pods=3,configmaps=20
$ kubectl get resourcequota few -o jsonpath='{.spec.hard}{"\n"}'
$ kubectl create priorityclass {ns}-first --value=10 --description=first
$ kubectl get priorityclass {ns}-first
$ kubectl delete namespace {ns}-more --timeout=60s
$ kubectl get namespace {ns}-more
$ kubectl get configmap inside -n {ns}-more
$ kubectl delete clusterrole,clusterrolebinding,priorityclass {ns}-wide --ignore-not-found
$ kubectl delete priorityclass {ns}-first
$ kubectl delete role,rolebinding,serviceaccount,quota --all | grep -v default
$ kubectl create configmap x --from-literal=a=1 -n {ns}-gone
$ kubectl delete namespace {ns}-gone
