{{- define "ranger-cdap.name" -}}
{{- .Values.fullname | default .Release.Name -}}
{{- end -}}

{{- /* What selects the pods of a component: never changes. Given: root, component. */ -}}
{{- define "ranger-cdap.selector" -}}
app.kubernetes.io/name: ranger-cdap
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "ranger-cdap.labels" -}}
{{- include "ranger-cdap.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- range $name, $value := .root.Values.labels }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- /* Given: root, image. */ -}}
{{- define "ranger-cdap.image" -}}
{{- $name := ternary .image.repository (printf "%s/%s" .root.Values.image.registry .image.repository) (empty .root.Values.image.registry) -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "ranger-cdap.eventsClaim" -}}
{{- .Values.events.existingClaim | default (printf "%s-events" (include "ranger-cdap.name" .)) -}}
{{- end -}}

{{- define "ranger-cdap.syncClaim" -}}
{{- .Values.sync.state.existingClaim | default (printf "%s-sync" (include "ranger-cdap.name" .)) -}}
{{- end -}}

{{- define "ranger-cdap.caFile" -}}
{{- if .Values.ca.configMap -}}/etc/ranger-cdap/ca/{{ .Values.ca.key }}{{- end -}}
{{- end -}}
