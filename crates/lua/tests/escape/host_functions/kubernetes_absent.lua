-- expect: there is no cluster here
kubernetes.get('v1', 'Secret', 'x', 'kube-system')
