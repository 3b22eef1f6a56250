// Oracle says what Kubernetes' own code decides: a case a line comes in, the decision on it goes out as a line of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

var modes = map[string]func(line []byte) (any, error){
	"validation": validation,
	"placement":  placement,
	"profile":    profile,
	"configured": profile,
	"measure":    measure,
	"replicas":   replicas,
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	metrics.Register()
	if len(os.Args) != 2 || modes[os.Args[1]] == nil {
		fail(fmt.Errorf("usage: oracle validation|placement|profile|configured|preemption|measure|replicas < cases > decisions"))
	}
	if err := decide(modes[os.Args[1]], os.Stdin, os.Stdout); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func decide(mode func([]byte) (any, error), cases io.Reader, decisions io.Writer) error {
	in, out := bufio.NewReader(cases), json.NewEncoder(decisions)
	out.SetEscapeHTML(false)
	for number := 1; ; number++ {
		line, end := in.ReadBytes('\n')
		if len(line) > 0 {
			decision, err := mode(line)
			if err == nil {
				err = out.Encode(decision)
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		if end == io.EOF {
			return nil
		}
		if end != nil {
			return end
		}
	}
}
