// Package config stands in for github.com/aws/aws-sdk-go-v2/config.
package config

import (
	"context"
	"errors"
)

// Config has no settings.
type Config struct{}

// LoadOptions has no options.
type LoadOptions struct{}

// WithRegion changes nothing.
func WithRegion(string) func(*LoadOptions) error {
	return func(*LoadOptions) error { return nil }
}

// WithClientLogMode changes nothing.
func WithClientLogMode(int) func(*LoadOptions) error {
	return func(*LoadOptions) error { return nil }
}

// LoadDefaultConfig fails.
func LoadDefaultConfig(context.Context, ...func(*LoadOptions) error) (Config, error) {
	return Config{}, errors.New("this helmfile was built without the clients of AWS")
}
