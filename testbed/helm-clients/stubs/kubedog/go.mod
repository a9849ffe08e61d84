module github.com/werf/kubedog

go 1.26

require k8s.io/apimachinery v0.36.1
