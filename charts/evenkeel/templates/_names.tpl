{{- define "evenkeel.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of everything: that of the release, with the chart's unless it is in it. */}}
{{- define "evenkeel.fullname" -}}
{{- $name := include "evenkeel.name" . }}
{{- $joined := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- .Values.fullnameOverride | default $joined | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "evenkeel.selectorLabels" -}}
app.kubernetes.io/name: {{ include "evenkeel.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "evenkeel.labels" -}}
{{ include "evenkeel.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* Never default, unless it is named: every Pod of the namespace that names none would have evenkeel's rights. */}}
{{- define "evenkeel.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "evenkeel.fullname" .) }}
{{- else }}
{{- required "serviceAccount.name: found none with create: false, wanted the ServiceAccount that gets evenkeel's rights" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "evenkeel.image" -}}
{{- $image := .Values.image }}
{{- $image.repository }}{{ with $image.digest }}@{{ . }}{{ else }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The image that has every command. */}}
{{- define "evenkeel.toolsImage" -}}
{{- $image := .Values.report.image }}
{{- $image.repository | default .Values.image.repository }}
{{- with $image.digest }}@{{ . }}{{ else }}:{{ $image.tag | default (printf "%s-tools" (.Values.image.tag | default .Chart.AppVersion)) }}{{ end }}
{{- end }}

{{- /* The Secret with the certificate: of another name for each mode, for whoever changes it has both for a while. */}}
{{- define "evenkeel.tlsSecret" -}}
{{- if eq .Values.certificate.mode "own" }}
{{- required "certificate.existingSecret: found none, wanted the Secret with tls.crt and tls.key that mode own serves" .Values.certificate.existingSecret }}
{{- else }}
{{- include "evenkeel.fullname" . }}-{{ ternary "tls" "cert" (eq .Values.certificate.mode "self-managed") }}
{{- end }}
{{- end }}

{{- /* What the webhook configurations say of the CA: evenkeel and cert-manager each put theirs in, later. */}}
{{- define "evenkeel.caBundle" -}}
{{- if eq .Values.certificate.mode "own" }}
{{- if contains "PRIVATE KEY" .Values.certificate.caBundle }}
{{- fail "certificate.caBundle: found a private key, which everybody could read there, wanted certificates alone; replace that key" }}
{{- end }}
{{- required "certificate.caBundle: found none, wanted the CA of the certificate in certificate.existingSecret, as PEM" .Values.certificate.caBundle | b64enc }}
{{- end }}
{{- end }}

{{- define "evenkeel.webhookMetadata" -}}
labels: {{- include "evenkeel.labels" . | nindent 2 }}
{{- $annotations := deepCopy (.Values.webhookAnnotations | default dict) }}
{{- range keys $annotations | sortAlpha }}
  {{- if hasPrefix "cert-manager.io/inject-" . }}
    {{- fail (printf "webhookAnnotations: remove %s, because cert-manager would overwrite caBundle; to use cert-manager, set certificate.mode cert-manager" .) }}
  {{- end }}
  {{- if hasPrefix "helm.sh/" . }}
    {{- fail (printf "webhookAnnotations: remove %s, because with it the configurations could outlive evenkeel" .) }}
  {{- end }}
{{- end }}
{{- if eq .Values.certificate.mode "cert-manager" }}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "evenkeel.fullname" .)) }}
{{- end }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Of every container: no privilege that it could lose. */}}
{{- define "evenkeel.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "evenkeel.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* What decides where any of the Pods may run, and with which image. */}}
{{- define "evenkeel.placement" -}}
{{- $given := pick .Values "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- range $field, $value := $given }}
{{- if $value }}
{{ $field }}: {{ toYaml $value | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
