# A kind of one's own: definition, columns, checks, and the end of it

=== definition.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cars.{ns}.test}
spec:
  group: {ns}.test
  scope: Namespaced
  names: {plural: cars, singular: car, kind: Car, listKind: CarList, shortNames: [cr], categories: [all]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
        scale: {specReplicasPath: .spec.wheels, statusReplicasPath: .status.wheels}
      additionalPrinterColumns:
        - {name: Color, type: string, jsonPath: .spec.color, description: its color}
        - {name: Wheels, type: integer, jsonPath: .spec.wheels}
        - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
        - {name: Secret, type: string, jsonPath: .spec.secret, priority: 1}
        - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
      schema:
        openAPIV3Schema:
          type: object
          description: A car on the road.
          required: [spec]
          properties:
            spec:
              type: object
              description: What the car should be.
              required: [color]
              properties:
                color: {type: string, enum: [red, blue], description: The color of the car.}
                wheels: {type: integer, minimum: 3, default: 4}
                secret: {type: string, pattern: '^[a-z]+$', maxLength: 8}
                parts:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items:
                    type: object
                    required: [name]
                    properties: {name: {type: string}, count: {type: integer}}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
===
=== car.yaml
apiVersion: {ns}.test/v1
kind: Car
metadata: {name: mine}
spec: {color: red, secret: abc, parts: [{name: a, count: 1}, {name: b}]}
===

$ kubectl apply -f definition.yaml
$ kubectl wait --for=condition=Established crd/cars.{ns}.test --timeout=30s
$ kubectl get crd cars.{ns}.test
$ kubectl describe crd cars.{ns}.test
% for i in 1 2 3 4 5 6 7 8 9 10; do kubectl explain car >/dev/null 2>&1 && break; sleep 1; done
$ kubectl api-resources --api-group={ns}.test
$ kubectl explain car
$ kubectl explain car.spec
$ kubectl explain car.spec.color
$ kubectl explain car.spec.none
$ kubectl explain cars --recursive
$ kubectl apply -f car.yaml
$ kubectl get cars
$ kubectl get car mine -o wide
$ kubectl get cr -o yaml
$ kubectl describe car mine
$ kubectl get all
$ kubectl apply -f car.yaml
$ sed s/red/green/ car.yaml | kubectl apply -f -
$ sed 's/color: red/colour: red/' car.yaml | kubectl apply -f -
$ sed 's/secret: abc/secret: ABC/' car.yaml | kubectl apply -f -
$ kubectl patch car mine --type=merge -p '{"spec":{"wheels":1}}'
$ kubectl patch car mine -p '{"spec":{"wheels":5}}'
$ kubectl patch car mine --type=merge --subresource=status -p '{"status":{"conditions":[{"type":"Ready","status":"True"}],"wheels":4}}'
$ kubectl wait --for=condition=Ready car/mine --timeout=5s
$ kubectl wait --for=condition=Ready=False car/mine --timeout=1s
$ kubectl get cars
$ kubectl scale car mine --replicas=6
$ kubectl get car mine -o jsonpath='{.spec.wheels}{"\n"}'
$ kubectl apply --server-side --force-conflicts -f car.yaml
$ sed 's/name: b/name: c/' car.yaml | kubectl apply --server-side --field-manager=other -f -
$ kubectl get car mine -o jsonpath='{.spec.parts}{"\n"}'
$ kubectl label car mine kept=yes
$ kubectl get cars -l kept=yes -o name
$ kubectl delete car mine
$ kubectl get cars
$ kubectl apply -f car.yaml
$ kubectl delete -f definition.yaml --timeout=30s
$ kubectl get cars
