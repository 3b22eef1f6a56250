// A load: clients that each POST one body again and again over a connection of their own, and wait for each answer.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"
)

var (
	target   = flag.String("url", "", "where to POST")
	ca       = flag.String("ca", "", "a file: the CA of the server, PEM")
	body     = flag.String("body", "", "a file: what to POST")
	token    = flag.String("token", "", "a bearer token")
	clients  = flag.Int("clients", 1, "how many")
	duration = flag.Duration("duration", time.Second, "how long")
	pause    = flag.Duration("pause", 0, "between an answer and the next request of a client")
)

// post sends what is prepared until the time is over, and returns how often it was answered.
func post(connection io.ReadWriter, prepared []byte, end time.Time) int {
	reader := bufio.NewReaderSize(connection, 64<<10)
	for answered := 0; ; answered++ {
		if time.Now().After(end) {
			return answered
		}
		must(connection.Write(prepared))
		answer := must(http.ReadResponse(reader, nil))
		if content := must(io.ReadAll(answer.Body)); answer.StatusCode >= 300 {
			log.Fatalf("%s: %s", answer.Status, content)
		}
		time.Sleep(*pause)
	}
}

// message is the whole request, head and body.
func message(where *url.URL) []byte {
	content := must(os.ReadFile(*body))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\n", where.RequestURI(), where.Host)
	if *token != "" {
		head += fmt.Sprintf("Authorization: Bearer %s\r\n", *token)
	}
	head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(content))
	return append([]byte(head), content...)
}

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	flag.Parse()
	where := must(url.Parse(*target))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(must(os.ReadFile(*ca)))
	prepared := message(where)
	connections := make([]*tls.Conn, *clients)
	for i := range connections {
		connections[i] = must(tls.Dial("tcp", where.Host, &tls.Config{RootCAs: trusted, ServerName: where.Hostname()}))
	}

	answered, before, begun := make([]int, *clients), cpu(), time.Now()
	var done sync.WaitGroup
	for i, connection := range connections {
		done.Add(1)
		go func() {
			defer done.Done()
			answered[i] = post(connection, prepared, begun.Add(*duration))
		}()
	}
	done.Wait()
	calls := 0
	for _, one := range answered {
		calls += one
	}
	result := map[string]any{"calls": calls, "seconds": time.Since(begun).Seconds(), "cpu": cpu() - before}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
