// Package s3 stands in for github.com/aws/aws-sdk-go-v2/service/s3, one of the slowest packages to compile. Its client is
// never reached, because no configuration can be loaded.
package s3

import (
	"context"
	"errors"
	"io"
)

var errMissing = errors.New("this helmfile was built without the clients of AWS")

// Client has no connection.
type Client struct{}

// NewFromConfig returns a Client.
func NewFromConfig(any) *Client { return &Client{} }

type (
	GetObjectInput          struct{ Bucket, Key *string }
	GetObjectOutput         struct{ Body io.ReadCloser }
	GetBucketLocationInput  struct{ Bucket *string }
	GetBucketLocationOutput struct{ LocationConstraint string }
	HeadObjectInput         struct{ Bucket, Key *string }
	HeadObjectOutput        struct{}
)

func (c *Client) GetObject(context.Context, *GetObjectInput) (*GetObjectOutput, error) {
	return nil, errMissing
}

func (c *Client) GetBucketLocation(context.Context, *GetBucketLocationInput) (*GetBucketLocationOutput, error) {
	return nil, errMissing
}

func (c *Client) HeadObject(context.Context, *HeadObjectInput) (*HeadObjectOutput, error) {
	return nil, errMissing
}
