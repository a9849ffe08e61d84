// Package statestore stands in for the package of the same path in github.com/werf/kubedog. It stores nothing.
package statestore

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/werf/kubedog/pkg/trackers/dyntracker/util"
)

const (
	AttributeNameRequiredReplicas = "RequiredReplicas"
	AttributeNameStatus           = "Status"
)

// ResourceStatus is the state of an object.
type ResourceStatus string

const (
	ResourceStatusReady  ResourceStatus = "ready"
	ResourceStatusFailed ResourceStatus = "failed"
)

// ReadinessTaskStatus is the state of a task.
type ReadinessTaskStatus string

const ReadinessTaskStatusReady ReadinessTaskStatus = "ready"

// Attributer is an Attribute of any type.
type Attributer interface{ Name() string }

// Attribute describes an object.
type Attribute[T int | string] struct{ Value T }

func (a *Attribute[T]) Name() string { return "" }

// ResourceState is an object that is waited for.
type ResourceState struct{}

func (s *ResourceState) ID() string                                { return "" }
func (s *ResourceState) Name() string                              { return "" }
func (s *ResourceState) Namespace() string                         { return "" }
func (s *ResourceState) GroupVersionKind() schema.GroupVersionKind { return schema.GroupVersionKind{} }
func (s *ResourceState) Status() ResourceStatus                    { return ResourceStatusReady }
func (s *ResourceState) Attributes() []Attributer                  { return nil }
func (s *ResourceState) Errors() map[string][]error                { return nil }

// ReadinessTaskStateOptions has no options.
type ReadinessTaskStateOptions struct{}

// ReadinessTaskState is a task that waits for an object.
type ReadinessTaskState struct {
	name, namespace string
	kind            schema.GroupVersionKind
}

func NewReadinessTaskState(
	name, namespace string, kind schema.GroupVersionKind, _ ReadinessTaskStateOptions,
) *ReadinessTaskState {
	return &ReadinessTaskState{name: name, namespace: namespace, kind: kind}
}

func (s *ReadinessTaskState) Name() string                              { return s.name }
func (s *ReadinessTaskState) Namespace() string                         { return s.namespace }
func (s *ReadinessTaskState) GroupVersionKind() schema.GroupVersionKind { return s.kind }
func (s *ReadinessTaskState) Status() ReadinessTaskStatus               { return "" }
func (s *ReadinessTaskState) ResourceStates() []*util.Concurrent[*ResourceState] {
	return nil
}

// TaskStore has no tasks.
type TaskStore struct{}

func NewTaskStore() *TaskStore { return &TaskStore{} }

func (s *TaskStore) AddReadinessTaskState(*util.Concurrent[*ReadinessTaskState]) {}

func (s *TaskStore) ReadinessTasksStates() []*util.Concurrent[*ReadinessTaskState] { return nil }
