{{- /*
What the API server is asked to send under a policy: webhook/manifests/configurations.py in a template's words.
tests/e2e/test_chart.py holds one against the other.
*/}}

{{- /* What the program knows and the chart needs. */}}
{{- define "evenkeel.program" -}}
{{ .Files.Get "files/program.yaml" }}
{{- end }}

{{- /* What a label selector asks, as JSON: its expressions in the order of their keys, those of labels first. */}}
{{- define "evenkeel.asked" -}}
{{- $asked := list }}
{{- range $key, $value := .matchLabels }}
  {{- $asked = append $asked (dict "key" $key "operator" "In" "values" (list $value)) }}
{{- end }}
{{- range .matchExpressions }}
  {{- $asked = append $asked (pick . "key" "operator" (empty .values | ternary "" "values")) }}
{{- end }}
{{- $keys := list }}
{{- range $asked }}{{ $keys = append $keys .key }}{{ end }}
{{- $found := list }}
{{- range $key := $keys | uniq | sortAlpha }}
  {{- range $asked }}{{ if eq .key $key }}{{ $found = append $found . }}{{ end }}{{ end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /* What all of `selectors` ask, each a list of expressions, as JSON; where they are `In` with values of any. */}}
{{- define "evenkeel.anyOf" -}}
{{- $common := list }}
{{- range $own := first .selectors }}
  {{- $values := .values | default list }}
  {{- range $other := rest $.selectors }}
    {{- $alike := ternary $own dict (has $own $other) }}
    {{- if and (not $alike) (eq $own.operator "In") }}
      {{- range $other }}
        {{- if and (eq .operator "In") (eq .key $own.key) }}{{ $alike = . }}{{ break }}{{ end }}
      {{- end }}
    {{- end }}
    {{- if not $alike }}{{ $own = dict }}{{ break }}{{ end }}
    {{- $values = concat $values ($alike.values | default list) }}
  {{- end }}
  {{- if $own }}
    {{- if $values }}{{ $_ := set $own "values" (uniq $values) }}{{ end }}
    {{- $common = append $common $own }}
  {{- end }}
{{- end }}
{{- toJson $common }}
{{- end }}

{{- /*
For each `defaulting` that gives Pods constraints, what it asks of their namespaces, as JSON: absent defaulting is as
built in, an absent type means System. That of the policy asks nothing.
*/}}
{{- define "evenkeel.defaults" -}}
{{- $found := list }}
{{- $all := dict "defaulting" (ternary .policy.defaulting .program.builtIn.defaulting (hasKey .policy "defaulting")) }}
{{- range prepend (.policy.overrides | default list) $all }}
  {{- $asked := include "evenkeel.asked" (.namespaceSelector | default dict) | fromJsonArray }}
  {{- with .defaulting }}
    {{- if and (eq (.defaultingType | default "System") "List") .defaultConstraints }}{{ $found = append $found $asked }}{{ end }}
  {{- end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /*
The settings of one rule, as JSON: one of the policy, and one of each override, as {severity, enforced, enforcement}.
*/}}
{{- define "evenkeel.settings" -}}
{{- $enforcement := .policy.enforcement | default .program.builtIn.enforcement }}
{{- $base := dict "severity" (get .program.severities .rule) "enforced" false }}
{{- $found := list }}
{{- range $i, $one := prepend (.policy.overrides | default list) .policy }}
  {{- $given := get (.rules | default dict) $.rule }}
  {{- if not (kindIs "map" $given) }}{{ $given = ternary (dict "severity" $given) dict (not (empty $given)) }}{{ end }}
  {{- $setting := merge (pick $given "severity" "enforced") $base }}
  {{- if hasKey $given "enforced" }}{{ $_ := set $setting "enforced" $given.enforced }}{{ end }}
  {{- if not $i }}{{ $base = $setting }}{{ end }}
  {{- $found = append $found (set (deepCopy $setting) "enforcement" (.enforcement | default $enforcement)) }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /* "yes" where any rule looks at what has no constraint at all. */}}
{{- define "evenkeel.judgesWithoutConstraints" -}}
{{- range .program.withoutConstraints }}
  {{- range include "evenkeel.settings" (merge (dict "rule" .) $) | fromJsonArray }}
    {{- if ne "ignore" .severity }}yes{{ end }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* "yes" where any of `rules` denies, whatever an annotation or an owner reference says. */}}
{{- define "evenkeel.enforces" -}}
{{- range .rules }}
  {{- range include "evenkeel.settings" (merge (dict "rule" .) $) | fromJsonArray }}
    {{- if and .enforced (eq "error" .severity) (eq "Deny" .enforcement) }}yes{{ end }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The kinds that the policy describes, and then those that it names, which have no paths here, as JSON. */}}
{{- define "evenkeel.ofPolicy" -}}
{{- $found := list }}
{{- $names := list }}
{{- range .policy.workloads }}
  {{- if hasKey . "builtIn" }}{{ $names = append $names .builtIn }}{{ continue }}{{ end }}
  {{- $group := regexFind "^.*/" .apiVersion | trimSuffix "/" }}
  {{- $webhook := without (list .resource $group "evenkeel.dev") "" | join "." }}
  {{- $kind := dict "webhook" $webhook "builtIn" false "template" (hasKey . "podTemplate") }}
  {{- $anchor := .podTemplate | default .constraints }}
  {{- range $name, $path := dict "anchor" $anchor "labels" .labels }}
    {{- if $path }}{{ $_ := set $kind $name (replace "[*]" ".*" $path | splitList ".") }}{{ end }}
  {{- end }}
  {{- $found = append $found (merge $kind .) }}
{{- end }}
{{- with $names }}
  {{- $operators := $.root.Files.Get "files/operators.yaml" | fromYaml }}
  {{- range . }}
    {{- $named := get $operators . }}
    {{- if not $named }}
      {{- fail (printf "policy.workloads: builtIn: found %s, wanted a kind that evenkeel kinds lists" (toJson .)) }}
    {{- end }}
    {{- $webhook := printf "%s.%s.evenkeel.dev" $named.resource $named.group }}
    {{- range $named.versions }}
      {{- $kind := dict "apiVersion" (printf "%s/%s" $named.group .) "resource" $named.resource }}
      {{- $found = append $found (merge $kind (dict "webhook" $webhook "builtIn" false)) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /* The kinds in force, as JSON: those of the program that the policy has no words for, and its own. */}}
{{- define "evenkeel.kinds" -}}
{{- $own := include "evenkeel.ofPolicy" . | fromJsonArray }}
{{- $described := list }}
{{- range $own }}{{ $described = append $described (printf "%s %s" .apiVersion (get . "kind")) }}{{ end }}
{{- $known := list }}
{{- range .program.kinds }}
  {{- if not (has (printf "%s %s" .apiVersion .kind) $described) }}{{ $known = append $known . }}{{ end }}
{{- end }}
{{- concat $known $own | toJson }}
{{- end }}

{{- /* The namespaces of which nothing is sent, as JSON. */}}
{{- define "evenkeel.neverSent" -}}
{{- $others := .root.Values.excludeNamespaces | default list }}
{{- if or (eq "Fail" .root.Values.failurePolicy) (eq "Fail" .root.Values.failurePolicyEnforced) }}
{{- $others = concat $others .program.neededNamespaces }}
{{- end }}
{{- concat .program.systemNamespaces (list .root.Release.Namespace) $others | uniq | toJson }}
{{- end }}

{{- /* One entry: `kinds` are sent by it, of namespaces that have what `namespaces` ask. */}}
{{- define "evenkeel.entry" -}}
{{- $versions := list }}
{{- range .kinds }}{{ $versions = append $versions .apiVersion }}{{ end }}
name: {{ .name }}
clientConfig:
  service:
    namespace: {{ .root.Release.Namespace }}
    name: {{ include "evenkeel.fullname" .root }}
    path: /{{ .phase }}
    port: 443
  {{- with include "evenkeel.caBundle" .root }}
  caBundle: {{ . }}
  {{- end }}
rules:
{{- range $version := uniq $versions }}
  {{- $resources := list }}
  {{- $scope := "" }}
  {{- range $.kinds }}
    {{- if eq .apiVersion $version }}
      {{- $resources = append $resources .resource }}
      {{- $scope = $scope | default (ternary "Namespaced" "*" .builtIn) }}
    {{- end }}
  {{- end }}
- apiGroups: [{{ regexFind "^.*/" $version | trimSuffix "/" | quote }}]
  apiVersions: [{{ regexReplaceAll "^.*/" $version "" | quote }}]
  resources: {{ uniq $resources | sortAlpha | toJson }}
  operations: {{ toJson $.operations }}
  scope: {{ quote $scope }}
{{- end }}
matchPolicy: Equivalent
namespaceSelector:
  matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: {{ include "evenkeel.neverSent" . }}
  - key: {{ .program.skipLabel }}
    operator: NotIn
    values: ["true"]
  {{- with .namespaces }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
objectSelector: {}
{{- /* The optional steps of these conditions are refused before 1.29: there, all is sent, and answered alike. */}}
{{- if semverCompare ">=1.29.0-0" .root.Capabilities.KubeVersion.Version }}
{{- with .conditions }}
matchConditions: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
failurePolicy: {{ .failurePolicy | default (ternary .root.Values.failurePolicy "Ignore" (first .kinds).builtIn) }}
{{- if eq .phase "mutate" }}
reinvocationPolicy: {{ .reinvocationPolicy | default "Never" }}
{{- end }}
sideEffects: None
timeoutSeconds: {{ get (.root.Values.timeoutSeconds | default dict) .phase | default (get .program.timeoutSeconds .phase) }}
admissionReviewVersions: [v1]
{{- end }}

{{- /* "yes" where what an enforced rule may deny has entries of its own. */}}
{{- define "evenkeel.enforcedApart" -}}
{{- $apart := and (eq "Fail" .root.Values.failurePolicyEnforced) (eq "Ignore" .root.Values.failurePolicy) }}
{{- if and $apart (eq .phase "validate") (include "evenkeel.enforces" (merge (dict "rules" (keys .program.severities)) .)) }}
  {{- if semverCompare "<1.29.0-0" .root.Capabilities.KubeVersion.Version }}
    {{- fail (printf "failurePolicyEnforced: found Fail with Kubernetes %s, wanted 1.29 or newer: without matchConditions the Pods of controllers cannot be told apart" .root.Capabilities.KubeVersion.Version) }}
  {{- end }}yes
{{- end }}
{{- end }}

{{- /* The entries that judge: one for each shape of built-in kinds, one for each other kind. */}}
{{- define "evenkeel.judging" -}}
{{- $all := include "evenkeel.judgesWithoutConstraints" . }}
{{- $apart := include "evenkeel.enforcedApart" . }}
{{- $enforcesAll := include "evenkeel.enforces" (merge (dict "rules" .program.withoutConstraints) .) }}
{{- $kinds := include "evenkeel.kinds" . | fromJsonArray }}
{{- $names := list }}
{{- range $kinds }}{{ $names = append $names .webhook }}{{ end }}
{{- range $name := uniq $names }}
  {{- $group := list }}
  {{- $byName := false }}
  {{- range $kinds }}
    {{- if eq .webhook $name }}
      {{- $group = append $group . }}
      {{- if not (hasKey . "anchor") }}{{ $byName = true }}{{ end }}
    {{- end }}
  {{- end }}
  {{- $these := dict "kinds" $group "program" $.program }}
  {{- $isPod := and (not $byName) (not (first $group).anchor) }}
  {{- $conditions := list }}
  {{- if and (not $byName) (or (eq $.phase "mutate") (not $all)) }}
    {{- $conditions = append $conditions (dict "name" "has-constraints" "expression" (include "evenkeel.hasConstraints" $these)) }}
  {{- end }}
  {{- if not (or $isPod $byName) }}
    {{- $conditions = append $conditions (dict "name" "changed" "expression" (include "evenkeel.changed" $these)) }}
  {{- end }}
  {{- if eq $.phase "mutate" }}{{ $conditions = append $conditions $.program.notOwned }}{{ end }}
  {{- $operations := ternary (list "CREATE") (list "CREATE" "UPDATE") $isPod }}
  {{- if and $apart (first $group).builtIn }}
    {{- $own := list $.program.notByController }}
    {{- if and $all (not $enforcesAll) }}
      {{- $own = prepend $own (dict "name" "has-constraints" "expression" (include "evenkeel.hasConstraints" $these)) }}
    {{- end }}
    {{- $enforced := dict "name" (printf "enforced.%s" $name) "kinds" $group "operations" $operations "failurePolicy" "Fail" }}
- {{ include "evenkeel.entry" (merge (dict "conditions" (concat $conditions $own)) $enforced $) | nindent 2 | trim }}
    {{- $not := list }}
    {{- range $own }}{{ $not = append $not (printf "!(%s)" .expression) }}{{ end }}
    {{- $conditions = append $conditions (dict "name" "not-enforced" "expression" (join " || " $not)) }}
  {{- end }}
- {{ include "evenkeel.entry" (merge (dict "name" $name "kinds" $group "operations" $operations "conditions" $conditions) $) | nindent 2 | trim }}
{{ end }}
{{- end }}
