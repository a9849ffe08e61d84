# Plain objects, and every way to change them

=== settings.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: one}}
data: {color: blue, size: "1"}
===

$ kubectl create -f settings.yaml
$ kubectl create -f settings.yaml
$ kubectl get configmap settings -o yaml
$ kubectl get configmap settings -o json
$ kubectl get configmaps
$ kubectl describe configmap settings | sort
$ kubectl apply -f settings.yaml
$ kubectl patch configmap settings -p '{"data":{"color":"red"}}'
$ kubectl patch configmap settings --type=merge -p '{"data":{"size":null}}'
$ kubectl patch configmap settings --type=json -p '[{"op":"add","path":"/data/shape","value":"round"}]'
$ kubectl patch configmap settings --type=json -p '[{"op":"test","path":"/data/shape","value":"flat"}]'
$ kubectl patch configmap settings -p '{"data":{"color":"red"}}'
$ kubectl patch configmap settings -p '{"data":{"color":7}}'
$ kubectl get configmap settings -o jsonpath='{.data}{"\n"}'
$ KUBE_EDITOR='sed -i s/round/square/' kubectl edit configmap settings
$ KUBE_EDITOR=true kubectl edit configmap settings
$ kubectl label configmap settings tier=two
$ kubectl label configmap settings tier=two --overwrite
$ kubectl label configmap settings tier-
$ kubectl label configmap settings 'bad key=x'
$ kubectl annotate configmap settings note=first
$ kubectl annotate configmap settings note=second --overwrite --resource-version=1
$ kubectl get configmap settings --show-labels
$ kubectl diff -f settings.yaml | grep '^[+-] '
$ kubectl apply -f settings.yaml
$ kubectl replace -f settings.yaml
$ kubectl replace --force -f settings.yaml
$ kubectl apply -f settings.yaml --dry-run=server
$ kubectl apply view-last-applied configmap settings
$ kubectl apply set-last-applied -f settings.yaml --create-annotation
$ kubectl patch configmap settings -p '{"immutable":true}'
$ kubectl patch configmap settings -p '{"data":{"color":"red"}}'
$ kubectl delete configmap settings --dry-run=server
$ kubectl delete -f settings.yaml
$ kubectl delete -f settings.yaml
$ kubectl apply --server-side -f settings.yaml
$ kubectl apply --server-side --field-manager=other -f settings.yaml
$ sed s/blue/green/ settings.yaml | kubectl apply --server-side --field-manager=other -f -
$ sed s/blue/green/ settings.yaml | kubectl apply --server-side --field-manager=other --force-conflicts -f -
$ kubectl get configmap settings -o yaml --show-managed-fields
$ kubectl apply -f settings.yaml
$ kubectl diff --server-side -f settings.yaml --force-conflicts
$ kubectl delete configmap settings
$ printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndate: {}\n' | kubectl apply -f -
$ printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndate: {}\n' | kubectl apply --validate=warn -f -
$ printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Odd_Name}\n' | kubectl apply -f -
$ kubectl create configmap files --from-literal=a=1 --from-file=settings.yaml
$ kubectl describe configmap files | sort
$ kubectl create secret generic keys --from-literal=word=secret
$ kubectl describe secret keys
$ kubectl get secrets
$ kubectl get secret keys -o jsonpath='{.data.word}{"\n"}'
$ kubectl create secret docker-registry pull --docker-server=r.test --docker-username=u --docker-password=p
$ kubectl get secrets -o custom-columns=NAME:.metadata.name,TYPE:.type
$ kubectl get configmaps,secrets -o name
$ kubectl delete configmaps --all
$ kubectl delete secrets keys pull
