// All parts of a test cluster in one program, so that they are compiled, linked and cached once.
// The first argument says which part to be.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	_ "time/tzdata" // A CronJob may name a time zone that this machine has no file for.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Commands are made when asked for: each of them registers flags that are global to the process.
var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	if len(os.Args) < 2 {
		refuse()
	}
	part := os.Args[1]
	os.Args = os.Args[1:]
	if part == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	command, known := commands[part]
	if !known {
		refuse()
	}
	os.Exit(cli.Run(command()))
}

func refuse() {
	names := []string{"etcd"}
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintln(os.Stderr, "usage: kubeall "+strings.Join(names, "|")+" [FLAGS]")
	os.Exit(2)
}
