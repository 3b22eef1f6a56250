{{- /* "true" where a webhook judges, alone or beside policies: what serves it is left out where none does. */}}
{{- define "evenkeel.serves" -}}
{{ ne .Values.engine "policy" }}
{{- end }}

{{- /* The ValidatingAdmissionPolicies and their bindings, as JSON: the text that the program printed, in this release. */}}
{{- define "evenkeel.policies" -}}
{{- $engine := .Values.engine }}
{{- $made := list }}
{{- if ne $engine "webhook" }}
  {{- $program := include "evenkeel.program" . | fromYaml }}
  {{- $version := .Capabilities.KubeVersion.Version }}
  {{- if semverCompare (printf "<%s.0-0" $program.variablesSince) $version }}
    {{- fail (printf "engine: found %s with Kubernetes %s, wanted %s or newer: %s; use webhook" $engine $version $program.variablesSince $program.whySince) }}
  {{- end }}
  {{- $command := printf "evenkeel manifests --engine %s --policy FILE" $engine }}
  {{- if and .Values.policy (not .Values.policies) }}
    {{- fail (printf "policies: missing with engine %s and a policy; write what %s prints into policies.yaml, and add --set-file policies=policies.yaml; if it prints nothing, set engine=webhook" $engine $command) }}
  {{- end }}
  {{- $excluded := .Values.excludeNamespaces | default list }}
  {{- if eq $engine "both" }}
    {{- $excluded = include "evenkeel.neverSent" (dict "root" . "program" $program) | fromJsonArray }}
  {{- end }}
  {{- if has .Values.probe.namespace (concat $excluded $program.systemNamespaces) }}
    {{- fail (printf "probe.namespace: found %s, which is excluded, wanted a namespace in which the policies judge" .Values.probe.namespace) }}
  {{- end }}
  {{- range regexSplit "(?m)^---[ \\t\\r]*$" (.Values.policies | default (.Files.Get "files/policies.yaml")) -1 }}
    {{- $object := fromYaml . }}
    {{- if not $object }}{{ continue }}{{ end }}
    {{- $name := dig "metadata" "name" "" $object }}
    {{- $kind := $object.kind | default "" }}
    {{- if not (and (has $kind (list "ValidatingAdmissionPolicy" "ValidatingAdmissionPolicyBinding")) (has $name $program.policyNames)) }}
      {{- fail (printf "policies: found %s, wanted only what %s prints" (trim (printf "%s %s" $kind $name) | default "no object") $command) }}
    {{- end }}
    {{- if and (eq $engine "both") (ne $name (first $program.policyNames)) }}{{ continue }}{{ end }}
    {{- $_ := set $object.metadata "labels" (merge (include "evenkeel.labels" $ | fromYaml) ($object.metadata.labels | default dict)) }}
    {{- if eq $kind "ValidatingAdmissionPolicyBinding" }}
      {{- range $object.spec.matchResources.namespaceSelector.matchExpressions }}
        {{- if eq .key "kubernetes.io/metadata.name" }}{{ $_ := set . "values" (concat .values $excluded | uniq) }}{{ end }}
      {{- end }}
    {{- end }}
    {{- $made = append $made $object }}
  {{- end }}
{{- end }}
{{- toJson $made }}
{{- end }}

{{- /* "yes" where one of the policies denies. */}}
{{- define "evenkeel.denies" -}}
{{- $deny := first (include "evenkeel.program" . | fromYaml).policyNames }}
{{- range include "evenkeel.policies" . | fromJsonArray }}
  {{- if and (eq .kind "ValidatingAdmissionPolicy") (eq .metadata.name $deny) }}yes{{ end }}
{{- end }}
{{- end }}
