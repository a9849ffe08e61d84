// Package util stands in for the package of the same path in github.com/werf/kubedog.
package util

import "k8s.io/apimachinery/pkg/runtime/schema"

// Concurrent gives access to an object.
type Concurrent[T any] struct{ object T }

// NewConcurrent returns access to an object.
func NewConcurrent[T any](object T) *Concurrent[T] {
	return &Concurrent[T]{object: object}
}

// RTransaction calls a function with the object.
func (c *Concurrent[T]) RTransaction(use func(T)) { use(c.object) }

// RWTransaction calls a function with the object.
func (c *Concurrent[T]) RWTransaction(use func(T)) { use(c.object) }

// ResourceID identifies an object of a cluster.
func ResourceID(name, namespace string, kind schema.GroupVersionKind) string {
	return namespace + ":" + kind.Group + ":" + kind.Kind + ":" + name
}
