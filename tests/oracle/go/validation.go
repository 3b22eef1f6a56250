package main

import (
	"context"
	"encoding/json"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
)

// validated is what the API server finds in a Pod, and what it stores of it.
type validated struct {
	PodCreate             []invalid                     `json:"podCreate"`
	PodTemplate           []invalid                     `json:"podTemplate"`
	AfterPrepareForCreate []v1.TopologySpreadConstraint `json:"afterPrepareForCreate"`
}

type invalid struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

type strategy interface {
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
}

func validation(line []byte) (any, error) {
	var given struct {
		Pod map[string]json.RawMessage
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	created, podErrors, err := create(pod.Strategy, given.Pod)
	if err != nil {
		return nil, err
	}
	template := map[string]any{"apiVersion": "v1", "kind": "PodTemplate", "template": given.Pod}
	_, templateErrors, err := create(podtemplate.Strategy, template)
	if err != nil {
		return nil, err
	}
	var stored v1.Pod
	if err := corev1.Convert_core_Pod_To_v1_Pod(created.(*core.Pod), &stored, nil); err != nil {
		return nil, err
	}
	constraints := append([]v1.TopologySpreadConstraint{}, stored.Spec.TopologySpreadConstraints...)
	return validated{podErrors, templateErrors, constraints}, nil
}

// create does with an object what a POST of it does: decode and default it, prepare it, and validate it.
func create(by strategy, given any) (runtime.Object, []invalid, error) {
	text, err := json.Marshal(given)
	if err != nil {
		return nil, nil, err
	}
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), text)
	if err != nil {
		return nil, nil, err
	}
	by.PrepareForCreate(context.Background(), object)
	found := []invalid{}
	for _, one := range by.Validate(context.Background(), object) {
		if strings.Contains(one.Field, "topologySpreadConstraints") {
			found = append(found, invalid{string(one.Type), one.Field, one.Detail})
		}
	}
	return object, found, nil
}
