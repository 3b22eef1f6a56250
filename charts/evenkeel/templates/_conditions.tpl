{{- /*
The matchConditions of a policy's kinds, in CEL: webhook/manifests/conditions.py in a template's words.
Each takes a dict; `path` is a list of names in which "*" stands for each item of a list.
*/}}

{{- /* How to reach `path` from `root`: every step is optional. */}}
{{- define "evenkeel.at" -}}
{{- if not .path }}optional.of({{ .root }}){{ else }}{{ .root }}{{ end }}
{{- range .path }}
  {{- $plain := and (regexMatch "^[A-Za-z_][A-Za-z0-9_]*$" .) (not (has . $.program.celKeywords)) }}
  {{- if $plain }}.?{{ . }}{{ else }}[?{{ toJson . }}]{{ end }}
{{- end }}
{{- end }}

{{- /* The part of `path` before its first "*"; all of it where there is none. */}}
{{- define "evenkeel.upToList" -}}
{{- $before := list }}
{{- range .path }}
  {{- if eq . "*" }}{{ break }}{{ end }}
  {{- $before = append $before . }}
{{- end }}
{{- toJson $before }}
{{- end }}

{{- /* Whether the list at `path`, or any of them, holds anything. */}}
{{- define "evenkeel.some" -}}
{{- $before := include "evenkeel.upToList" . | fromJsonArray }}
{{- $list := include "evenkeel.at" (dict "root" .root "path" $before "program" .program) }}
{{- if eq (len $before) (len .path) }}{{ $list }}.orValue([]).size() > 0
{{- else }}
  {{- $one := printf "e%d" (int .depth) }}
  {{- $items := printf "%s.orValue([])" $list }}
  {{- $inside := dict "path" (slice .path (add1 (len $before) | int)) "root" $one "depth" (add1 .depth) "program" .program }}
  {{- $items }}.size() > {{ .program.long }} || {{ $items }}.exists({{ $one }}, {{ include "evenkeel.some" $inside }})
{{- end }}
{{- end }}

{{- /* That there is something to judge in any of the places of `kinds`. */}}
{{- define "evenkeel.hasConstraints" -}}
{{- $found := list }}
{{- range .kinds }}
  {{- $path := ternary (concat .anchor (list "spec" "topologySpreadConstraints")) .anchor .template }}
  {{- $found = append $found (include "evenkeel.some" (dict "root" "object" "path" $path "depth" 0 "program" $.program)) }}
{{- end }}
{{- uniq $found | join " || " }}
{{- end }}

{{- /* That an UPDATE changes what is judged in `kinds`. */}}
{{- define "evenkeel.changed" -}}
{{- $found := list "oldObject == null" }}
{{- range .kinds }}
  {{- range list .anchor .labels }}
    {{- if . }}
      {{- $path := include "evenkeel.upToList" (dict "path" .) | fromJsonArray }}
      {{- $new := include "evenkeel.at" (dict "root" "object" "path" $path "program" $.program) }}
      {{- $old := include "evenkeel.at" (dict "root" "oldObject" "path" $path "program" $.program) }}
      {{- $found = append $found (printf "%s != %s" $new $old) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- uniq $found | join " || " }}
{{- end }}
