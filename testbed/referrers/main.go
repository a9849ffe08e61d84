// A registry that keeps track of what belongs to what (OCI's referrers), for tests on this machine.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: registry ADDRESS FOLDER")
	}
	server := &http.Server{
		Addr:              os.Args[1],
		ReadHeaderTimeout: 5 * time.Second,
		Handler: sayingSubjects(registry.New(
			registry.WithReferrersSupport(true),
			registry.WithBlobHandler(registry.NewDiskBlobHandler(os.Args[2])),
			registry.Logger(log.New(io.Discard, "", 0)),
		)),
	}
	log.Fatal(server.ListenAndServe())
}

// The library lists referrers but does not tell clients so when they push one, as the specification wants.
func sayingSubjects(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/manifests/") {
			body, err := io.ReadAll(http.MaxBytesReader(out, request.Body, 8<<20))
			if err != nil {
				http.Error(out, err.Error(), http.StatusBadRequest)
				return
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
			var manifest struct{ Subject struct{ Digest string } }
			if json.Unmarshal(body, &manifest) == nil && manifest.Subject.Digest != "" {
				out.Header().Set("OCI-Subject", manifest.Subject.Digest)
			}
		}
		next.ServeHTTP(out, request)
	})
}
