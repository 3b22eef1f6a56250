// The null webhook: it decodes the uid of a review and answers that it is allowed, over net/http and crypto/tls as
// controller-runtime's webhooks are served. It takes the flags of `evenkeel serve` that it needs. kube-apiserver speaks
// HTTP/2 to a webhook at a loopback address only, if it offers that; to all others HTTP/1.1.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"os"
	"time"
)

var (
	bind        = flag.String("bind", "", "HOST:PORT")
	certificate = flag.String("tls-cert", "", "FILE")
	key         = flag.String("tls-key", "", "FILE")
	patch       = flag.String("patch", "", "the JSON patch of every answer at /mutate; without it, of none")
	http2       = flag.Bool("http2", false, "offer HTTP/2, too, as net/http does by itself")
	_           = flag.String("log-level", "", "there is no log")
)

type given struct {
	Request struct {
		UID string `json:"uid"`
	} `json:"request"`
}

type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID       string `json:"uid"`
	Allowed   bool   `json:"allowed"`
	PatchType string `json:"patchType,omitempty"`
	Patch     []byte `json:"patch,omitempty"`
}

func review(writer http.ResponseWriter, request *http.Request) {
	var found given
	if err := json.NewDecoder(request.Body).Decode(&found); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	body := answer{"admission.k8s.io/v1", "AdmissionReview", response{UID: found.Request.UID, Allowed: true}}
	if *patch != "" && request.URL.Path == "/mutate" {
		body.Response.PatchType, body.Response.Patch = "JSONPatch", []byte(*patch)
	}
	if err := json.NewEncoder(writer).Encode(body); err != nil {
		log.Print(err)
	}
}

func main() {
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil { // after the word serve
		log.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(*http2)
	server := &http.Server{
		Addr:              *bind,
		Handler:           http.HandlerFunc(review),
		IdleTimeout:       90 * time.Second,
		ReadHeaderTimeout: 32 * time.Second,
		Protocols:         protocols,
	}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}
