{{- /* The settings of each program as JSON: those of `settings`, then those that the objects of this chart decide. */ -}}
{{- define "ranger-cdap.ranger" -}}
{{- $ranger := dict "url" .root.Values.ranger.urls "service" .root.Values.ranger.service "auth" .root.Values.ranger.auth -}}
{{- if .certificate -}}
{{- $_ := set $ranger "cert_file" "/run/secrets/ranger-client/tls.crt" -}}
{{- $_ := set $ranger "key_file" "/run/secrets/ranger-client/tls.key" -}}
{{- end -}}
{{ $ranger | toJson }}
{{- end -}}

{{- define "ranger-cdap.network" -}}
{{- with include "ranger-cdap.caFile" . }}{{ dict "ca_file" . | toJson }}{{ else }}{}{{ end -}}
{{- end -}}

{{- define "ranger-cdap.decisionServiceSettings" -}}
{{- $own := .Values.decisionService -}}
{{- $name := include "ranger-cdap.name" . -}}
{{- $plugin := dict "username" $own.username "cache_dir" "/var/lib/ranger-cdap/cache" -}}
{{- if ne .Values.ranger.auth "certificate" }}{{ $_ := set $plugin "password" (dict "secretKey" $own.passwordKey) }}{{ end -}}
{{- $hosts := list -}}
{{- $names := list $name -}}
{{- range $number := until (int $own.replicas) }}{{ $names = append $names (printf "%s-%d.%s-replicas" $name $number $name) }}{{ end -}}
{{- range $names -}}
{{- $inNamespace := printf "%s.%s" . $.Release.Namespace -}}
{{- $hosts = concat $hosts (list . $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.%s" $inNamespace $.Values.clusterDomain)) -}}
{{- end -}}
{{- $service := dict "host" "0.0.0.0" "hosts" (concat $hosts $own.hosts) "tls_certificate" "/run/secrets/tls/tls.crt" "tls_key" "/run/secrets/tls/tls.key" "callers" $own.callers -}}
{{- if and .Values.events.enabled .Values.fixedUsers }}{{ $_ := set $service "events_group" "10000" }}{{ end -}}
{{- if $own.tls.clientCaKey -}}
{{- $_ := set $service "tls_client_ca" (printf "/etc/ranger-cdap/ca/%s" $own.tls.clientCaKey) -}}
{{- $_ := set $service "tls_probe_certificate" "/run/secrets/probe/tls.crt" -}}
{{- $_ := set $service "tls_probe_key" "/run/secrets/probe/tls.key" -}}
{{- end -}}
{{- $ranger := include "ranger-cdap.ranger" (dict "root" . "certificate" $own.rangerCertificate) | fromJson -}}
{{- $decided := dict "ranger" $ranger "network" (include "ranger-cdap.network" . | fromJson) "cdap" (dict "instance" .Values.cdap.instance) "plugin" $plugin "service" $service -}}
{{- mustMergeOverwrite (dict) (deepCopy .Values.settings) (deepCopy $own.settings) $decided | toJson -}}
{{- end -}}

{{- define "ranger-cdap.syncSettings" -}}
{{- $own := .Values.sync -}}
{{- $name := include "ranger-cdap.name" . -}}
{{- $sync := dict "username" $own.username "state_dir" ($own.state.url | default "/var/lib/ranger-cdap/sync") -}}
{{- if ne .Values.ranger.auth "certificate" }}{{ $_ := set $sync "password" (dict "secretKey" $own.passwordKey) }}{{ end -}}
{{- $sources := list -}}
{{- if .Values.events.enabled -}}
{{- $senders := list -}}
{{- range .Values.decisionService.callers }}{{ if has "audit" .roles }}{{ $senders = append $senders .name }}{{ end }}{{ end -}}
{{- range $number := until (int .Values.decisionService.replicas) -}}
{{- $path := printf "/var/lib/ranger-cdap-events/%s-%d" $name $number -}}
{{- $sources = append $sources (dict "name" (printf "data-plane-%d" $number) "kind" "data-plane" "path" $path "callers" $senders) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $sync "sources" (concat $sources $own.sources) -}}
{{- $ranger := include "ranger-cdap.ranger" (dict "root" . "certificate" $own.rangerCertificate) | fromJson -}}
{{- $decided := dict "ranger" $ranger "network" (include "ranger-cdap.network" . | fromJson) "cdap" (dict "instance" .Values.cdap.instance) "sync" $sync -}}
{{- mustMergeOverwrite (dict) (deepCopy .Values.settings) (deepCopy $own.settings) $decided | toJson -}}
{{- end -}}

{{- /* What no schema can say. */ -}}
{{- define "ranger-cdap.check" -}}
{{- $service := .Values.decisionService -}}
{{- $name := include "ranger-cdap.name" . -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$" $name) -}}
{{- fail (printf "the name `%s` is too long for what is named after it, or no name of a Service; set `fullname` to at most 30 letters, digits and hyphens" $name) -}}
{{- end -}}
{{- if not .Values.ranger.urls }}{{ fail "`ranger.urls` is empty; set it to the addresses of Ranger Admin, like `https://ranger-admin.ranger.svc:6182`" }}{{ end -}}
{{- $plain := dig "network" "plain_hosts" list .Values.settings | join "," | lower | splitList "," -}}
{{- range .Values.ranger.urls -}}
{{- if and (hasPrefix "http:" .) (not (has (get (urlParse .) "hostname" | lower) $plain)) -}}
{{- fail (printf "`ranger.urls` has `%s`, which sends passwords unencrypted; use https, or set its host in `settings.network.plain_hosts`" .) -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- $keys := list -}}
{{- range $service.callers -}}
{{- with .secret -}}
{{- if has .secretKey $keys }}{{ fail (printf "two of `decisionService.callers` have the secret `%s`; give each caller a secret of its own" .secretKey) }}{{ end -}}
{{- $keys = append $keys .secretKey -}}
{{- end -}}
{{- if has .name $names }}{{ fail (printf "`decisionService.callers` names `%s` twice; give each caller a name of its own" .name) }}{{ end -}}
{{- $names = append $names .name -}}
{{- if and (has "audit" .roles) (not $.Values.events.enabled) -}}
{{- fail (printf "the caller `%s` has the role `audit`, and `events.enabled` is false, so no one would read its records; remove the caller, or enable the events" .name) -}}
{{- end -}}
{{- end -}}
{{- $telemetry := .Values.telemetry -}}
{{- if or $telemetry.headersKey $telemetry.caKey -}}
{{- $set := ternary "`telemetry.headersKey`" "`telemetry.caKey`" (ne $telemetry.headersKey "") -}}
{{- if not $telemetry.endpoint -}}
{{- fail (printf "%s is set, and `telemetry.endpoint` is empty; set it to the address of the collector, or remove the key" $set) -}}
{{- else if hasPrefix "http:" $telemetry.endpoint -}}
{{- fail (printf "%s is set, and `telemetry.endpoint` is `%s`, by which credentials are sent unencrypted; use https, or remove the key" $set $telemetry.endpoint) -}}
{{- end -}}
{{- end -}}
{{- range $attribute := list "service.name" "service.instance.id" -}}
{{- if hasKey $telemetry.attributes $attribute -}}
{{- fail (printf "`telemetry.attributes` has `%s`, by which the two programs and their pods differ; remove it" $attribute) -}}
{{- end -}}
{{- end -}}
{{- if and $telemetry.caKey (not .Values.ca.configMap) -}}
{{- fail "`telemetry.caKey` is set, and `ca.configMap`, which has that key, is empty; set it, or remove the key" -}}
{{- end -}}
{{- $sources := list -}}
{{- if .Values.events.enabled }}{{ range $number := until (int $service.replicas) }}{{ $sources = append $sources (printf "data-plane-%d" $number) }}{{ end }}{{ end -}}
{{- range .Values.sync.sources -}}
{{- if has .name $sources -}}
{{- fail (printf "`sync.sources` names `%s` twice, or as a source of the chart itself; give each source a name of its own" .name) -}}
{{- end -}}
{{- $sources = append $sources .name -}}
{{- end -}}
{{- if eq .Values.ranger.auth "certificate" -}}
{{- if not (and $service.rangerCertificate (or .Values.sync.rangerCertificate (eq .Values.sync.stage "off"))) -}}
{{- fail "`ranger.auth` is `certificate`: set `decisionService.rangerCertificate` and `sync.rangerCertificate`" -}}
{{- end -}}
{{- else if or $service.rangerCertificate .Values.sync.rangerCertificate -}}
{{- fail "`rangerCertificate` is set, and `ranger.auth` is not `certificate`; set it, or remove the Secret" -}}
{{- end -}}
{{- if and $service.tls.clientCaKey (not (and .Values.ca.configMap $service.tls.probeSecret)) -}}
{{- fail "`decisionService.tls.clientCaKey` is set: set `ca.configMap`, which has that key, and `decisionService.tls.probeSecret`, with which the probes ask" -}}
{{- end -}}
{{- if and $service.tls.probeSecret (not $service.tls.clientCaKey) -}}
{{- fail "`decisionService.tls.probeSecret` is set, and no client certificate is required; set `decisionService.tls.clientCaKey`, or remove it" -}}
{{- end -}}
{{- $monitor := .Values.monitoring.serviceMonitor -}}
{{- if eq .Values.monitoring.scrape "serviceMonitor" -}}
{{- if and $service.tls.clientCaKey (not $monitor.clientSecret) -}}
{{- fail "`decisionService.tls.clientCaKey` is set: set `monitoring.serviceMonitor.clientSecret`, with which Prometheus asks" -}}
{{- end -}}
{{- if not (or .Values.ca.configMap $monitor.caSecret) -}}
{{- fail "Prometheus cannot verify the service: set `monitoring.serviceMonitor.caSecret`, or `ca.configMap`" -}}
{{- end -}}
{{- end -}}
{{- if ne .Values.sync.stage "off" -}}
{{- if not (or .Values.events.enabled .Values.sync.sources) -}}
{{- fail "the sync job has no source: set `events.enabled` or `sync.sources`, or `sync.stage` to `off`" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.events.enabled (ne .Values.sync.stage "off") -}}
{{- $senders := list -}}
{{- range $service.callers }}{{ if has "audit" .roles }}{{ $senders = append $senders .name }}{{ end }}{{ end -}}
{{- if not $senders -}}
{{- fail "`events.enabled` is true, and no caller has the role `audit`, so there would be no records; name one in `decisionService.callers`, or set `events.enabled` to false" -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.sync.stage "baseline" -}}
{{- $lists := without (list .Values.sync.baseline.cdapUrl .Values.sync.baseline.configMap .Values.sync.baseline.claim) "" -}}
{{- if ne (len $lists) 1 -}}
{{- fail "`sync.stage` is `baseline`: set exactly one of `sync.baseline.cdapUrl`, `sync.baseline.configMap` and `sync.baseline.claim`, the list of the entities that exist" -}}
{{- end -}}
{{- if and (hasPrefix "http:" .Values.sync.baseline.cdapUrl) (not (has (get (urlParse .Values.sync.baseline.cdapUrl) "hostname" | lower) $plain)) -}}
{{- fail "`sync.baseline.cdapUrl` is plain `http`, by which the token is sent unencrypted; use https, or set its host in `settings.network.plain_hosts`" -}}
{{- end -}}
{{- end -}}
{{- end -}}
