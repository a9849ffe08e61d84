// Package dyntracker stands in for the package of the same path in github.com/werf/kubedog, which helmfile uses with
// `trackMode: kubedog` only.
package dyntracker

import (
	"context"
	"errors"
	"time"
)

// DynamicReadinessTrackerOptions are those that helmfile sets.
type DynamicReadinessTrackerOptions struct {
	Timeout                         time.Duration
	CaptureLogsFromTime             time.Time
	IgnoreLogs                      bool
	SaveLogsOnlyForNumberOfReplicas int
}

// DynamicReadinessTracker waits for an object.
type DynamicReadinessTracker struct{}

// NewDynamicReadinessTracker fails.
func NewDynamicReadinessTracker(
	_ context.Context, _, _, _, _, _, _, _ any, _ DynamicReadinessTrackerOptions,
) (*DynamicReadinessTracker, error) {
	return nil, errors.New("this helmfile was built without kubedog")
}

// Track does nothing.
func (t *DynamicReadinessTracker) Track(context.Context) error { return nil }
