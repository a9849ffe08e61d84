// Package informer stands in for the package of the same path in github.com/werf/kubedog.
package informer

// ConcurrentInformerFactoryOptions has no options.
type ConcurrentInformerFactoryOptions struct{}

// InformerFactory makes no informers.
type InformerFactory struct{}

// NewConcurrentInformerFactory returns an InformerFactory.
func NewConcurrentInformerFactory(
	_ <-chan struct{}, _ chan<- error, _ any, _ ConcurrentInformerFactoryOptions,
) *InformerFactory {
	return &InformerFactory{}
}
