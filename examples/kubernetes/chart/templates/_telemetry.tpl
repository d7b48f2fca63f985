{{- /* The standard variables of OpenTelemetry for a container that has POD_NAME; nothing without an endpoint. Given: the root. */ -}}
{{- define "ranger-cdap.telemetry" -}}
{{- $own := .Values.telemetry -}}
{{- if $own.endpoint -}}
- {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ $own.endpoint | quote }}}
- {name: OTEL_EXPORTER_OTLP_PROTOCOL, value: http/protobuf}
{{- with $own.headersKey }}
# Optional: a pod decides, whether or not its traces can be sent.
- {name: OTEL_EXPORTER_OTLP_HEADERS, valueFrom: {secretKeyRef: {name: {{ $.Values.secret }}, key: {{ . | quote }}, optional: true}}}
{{- end }}
{{- with $own.caKey }}
- {name: OTEL_EXPORTER_OTLP_CERTIFICATE, value: /etc/ranger-cdap/ca/{{ . }}}
{{- end }}
{{- if ne (float64 $own.sampling) 1.0 }}
- {name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio}
- {name: OTEL_TRACES_SAMPLER_ARG, value: {{ $own.sampling | toJson | quote }}}
{{- end }}
{{- $attributes := list (printf "k8s.namespace.name=%s" .Release.Namespace) "k8s.pod.name=$(POD_NAME)" -}}
{{- range $name, $value := $own.attributes }}{{ $attributes = append $attributes (printf "%s=%s" $name ($value | urlquery | replace "+" "%20")) }}{{ end }}
- {name: OTEL_RESOURCE_ATTRIBUTES, value: {{ join "," $attributes | quote }}}
{{- end -}}
{{- end -}}
