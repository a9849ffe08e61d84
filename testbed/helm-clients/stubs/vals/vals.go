// Package vals stands in for github.com/helmfile/vals, which brings the clients of every cloud and of every store of
// secrets: they take most of the time of building helmfile, and no test speaks to them. Values without references are
// returned as they are, and references are an error.
package vals

import (
	"fmt"
	"io"
	"strings"
)

// Options are those of the real package.
type Options struct {
	LogOutput             io.Writer
	AWSLogLevel           string
	CacheSize             int
	ExcludeSecret         bool
	FailOnMissingKeyInMap bool
}

// Evaluator replaces references by what they refer to.
type Evaluator interface {
	Eval(map[string]interface{}) (map[string]interface{}, error)
}

// Runtime knows no store of secrets.
type Runtime struct{}

// New returns a Runtime.
func New(Options) (*Runtime, error) {
	return &Runtime{}, nil
}

// Eval returns the values if they have no references.
func (r *Runtime) Eval(values map[string]interface{}) (map[string]interface{}, error) {
	return values, check(values)
}

func check(value interface{}) error {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(value, "ref+") || strings.HasPrefix(value, "secretref+") {
			return fmt.Errorf("%s: this helmfile was built without stores of secrets", value)
		}
	case map[string]interface{}:
		for _, item := range value {
			if err := check(item); err != nil {
				return err
			}
		}
	case []interface{}:
		for _, item := range value {
			if err := check(item); err != nil {
				return err
			}
		}
	}
	return nil
}
