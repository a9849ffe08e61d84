// Package logstore stands in for the package of the same path in github.com/werf/kubedog. It stores nothing.
package logstore

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/werf/kubedog/pkg/trackers/dyntracker/util"
)

// LogLine is a line of a log.
type LogLine struct {
	Time time.Time
	Line string
}

// ResourceLogs are the logs of an object.
type ResourceLogs struct{}

func (l *ResourceLogs) Name() string                              { return "" }
func (l *ResourceLogs) Namespace() string                         { return "" }
func (l *ResourceLogs) GroupVersionKind() schema.GroupVersionKind { return schema.GroupVersionKind{} }
func (l *ResourceLogs) LogLines() map[string][]*LogLine           { return nil }

// LogStore has no logs.
type LogStore struct{}

func NewLogStore() *LogStore { return &LogStore{} }

func (s *LogStore) ResourcesLogs() []*util.Concurrent[*ResourceLogs] { return nil }
