{{- /* Tables as TOML: first what a table holds itself, then the tables below it. Given: path, table. */ -}}
{{- define "ranger-cdap.toml" -}}
{{- $path := .path -}}
{{- range $key, $value := .table -}}
{{- if not (include "ranger-cdap.isTable" $value) }}
{{ include "ranger-cdap.tomlKey" $key }} = {{ include "ranger-cdap.tomlValue" $value }}
{{- end -}}
{{- end -}}
{{- range $key, $value := .table -}}
{{- $below := ternary (include "ranger-cdap.tomlKey" $key) (printf "%s.%s" $path (include "ranger-cdap.tomlKey" $key)) (empty $path) -}}
{{- if eq (include "ranger-cdap.isTable" $value) "table" }}

[{{ $below }}]
{{- include "ranger-cdap.toml" (dict "path" $below "table" $value) -}}
{{- else if eq (include "ranger-cdap.isTable" $value) "tables" -}}
{{- range $value }}

[[{{ $below }}]]
{{- include "ranger-cdap.toml" (dict "path" $below "table" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* `table`, `tables` (a list of them), or nothing. */ -}}
{{- define "ranger-cdap.isTable" -}}
{{- if kindIs "map" . -}}
{{- if not (or (hasKey . "secretKey") (hasKey . "secretFile")) -}}table{{- end -}}
{{- else if kindIs "slice" . -}}
{{- if and . (kindIs "map" (first .)) -}}tables{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ranger-cdap.tomlKey" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . -}}{{ . }}{{- else -}}{{ . | toJson | replace "\u007f" "\\u007f" }}{{- end -}}
{{- end -}}

{{- /* JSON is TOML here, but for one character. */ -}}
{{- define "ranger-cdap.tomlValue" -}}
{{- if kindIs "map" . -}}
{{- if hasKey . "secretKey" -}}"file:/run/secrets/ranger-cdap/{{ .secretKey }}"{{- else -}}"/run/secrets/ranger-cdap/{{ .secretFile }}"{{- end -}}
{{- else -}}
{{ . | toJson | replace "\u007f" "\\u007f" }}
{{- end -}}
{{- end -}}

{{- /* The keys of the Secret that settings name, one a line. */ -}}
{{- define "ranger-cdap.secretKeys" -}}
{{- if kindIs "map" . -}}
{{- if hasKey . "secretKey" }}
{{ .secretKey }}
{{- else if hasKey . "secretFile" }}
{{ .secretFile }}
{{- else -}}
{{- range . }}{{ include "ranger-cdap.secretKeys" . }}{{ end -}}
{{- end -}}
{{- else if kindIs "slice" . -}}
{{- range . }}{{ include "ranger-cdap.secretKeys" . }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* The ports of all addresses in settings, one a line. */ -}}
{{- define "ranger-cdap.ports" -}}
{{- if kindIs "map" . -}}
{{- range $key, $value := . }}
{{- if and (regexMatch "bootstrap$" $key) (kindIs "string" $value) -}}
{{- range regexFindAll ":[0-9]+" $value -1 }}
{{ trimPrefix ":" . }}
{{- end -}}
{{- else -}}
{{ include "ranger-cdap.ports" $value }}
{{- end -}}
{{- end -}}
{{- else if kindIs "slice" . -}}
{{- range . }}{{ include "ranger-cdap.ports" . }}{{ end -}}
{{- else if kindIs "string" . -}}
{{- range regexFindAll "\\b(https?|ldaps?|hdfs|s3)://[^/, ]+" . -1 }}
{{- $port := regexFind ":[0-9]+$" . }}
{{- $default := get (dict "http" "80" "https" "443" "ldap" "389" "ldaps" "636" "hdfs" "8020" "s3" "443") (regexFind "^[a-z]+" .) }}
{{ trimPrefix ":" $port | default $default }}
{{- end -}}
{{- end -}}
{{- end -}}
