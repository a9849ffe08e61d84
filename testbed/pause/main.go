// The first process of every pod: keeps the pod's namespaces alive, and collects dead children
// where containers share its process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		select {
		case <-ends:
			return
		case <-children:
			collect()
		}
	}
}

// One signal may stand for many dead children.
func collect() {
	for {
		child, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil || child <= 0 {
			return
		}
	}
}
