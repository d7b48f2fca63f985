{{- /* What all pods have in common. Given: root, component, user, and the values of the component. */ -}}
{{- define "ranger-cdap.podSpec" -}}
automountServiceAccountToken: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- if .root.Values.fixedUsers }}
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  {{- if .root.Values.events.enabled }}
  supplementalGroups: [10000]
  {{- end }}
  # Not the group of the events: Kubernetes lets this group write to its volumes.
  fsGroup: {{ .user }}
  {{- end }}
  # Otherwise every mount makes the volumes writable for the group again, and our programs refuse that.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClass }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "ranger-cdap.container" -}}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
resources: {{- toYaml .values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- /* Given: root, file, secretKeys (one a line), rangerCertificate. */ -}}
{{- define "ranger-cdap.commonVolumes" -}}
- name: files
  configMap:
    name: {{ include "ranger-cdap.name" .root }}-files
    items: [{key: {{ .file }}, path: {{ .file }}}]
{{- with .root.Values.ca.configMap }}
- name: ca
  configMap: {name: {{ . }}}
{{- end }}
{{- with compact (splitList "\n" .secretKeys) }}
- name: secrets
  secret:
    secretName: {{ $.root.Values.secret }}
    defaultMode: 0440
    items:
      {{- range . | uniq | sortAlpha }}
      - {key: {{ . | quote }}, path: {{ . | quote }}}
      {{- end }}
{{- end }}
{{- with .rangerCertificate }}
- name: ranger-client
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "ranger-cdap.commonMounts" -}}
- {name: files, mountPath: /etc/ranger-cdap/files, readOnly: true}
{{- if .root.Values.ca.configMap }}
- {name: ca, mountPath: /etc/ranger-cdap/ca, readOnly: true}
{{- end }}
{{- if compact (splitList "\n" .secretKeys) }}
- {name: secrets, mountPath: /run/secrets/ranger-cdap, readOnly: true}
{{- end }}
{{- if .rangerCertificate }}
- {name: ranger-client, mountPath: /run/secrets/ranger-client, readOnly: true}
{{- end }}
{{- end -}}

{{- /* The pod of the sync job. Given: root, args, and where it lists what exists: inventory. */ -}}
{{- define "ranger-cdap.syncPod" -}}
{{- $own := .root.Values.sync -}}
{{- $settings := include "ranger-cdap.syncSettings" .root | fromJson -}}
{{- $keys := include "ranger-cdap.secretKeys" $settings -}}
{{- if and .inventory $own.baseline.cdapUrl }}{{ with $own.baseline.tokenKey }}{{ $keys = printf "%s\n%s" $keys . }}{{ end }}{{ end -}}
{{- $given := dict "root" .root "file" "sync.toml" "secretKeys" $keys "rangerCertificate" $own.rangerCertificate -}}
{{ include "ranger-cdap.podSpec" (dict "root" .root "user" 10002 "values" $own) }}
restartPolicy: {{ .restartPolicy }}
terminationGracePeriodSeconds: {{ $own.stopTimeout }}
{{- if and .inventory $own.baseline.cdapUrl }}
initContainers:
  - name: inventory
    image: {{ include "ranger-cdap.image" (dict "root" .root "image" $own.image) }}
    args:
      - sync
      - inventory
      - --url={{ $own.baseline.cdapUrl }}
      {{- with $own.baseline.tokenKey }}
      - --token-file=/run/secrets/ranger-cdap/{{ . }}
      {{- end }}
      - --out=/inventory/{{ $own.baseline.file }}
    env:
      - {name: RANGER_CDAP_CONFIG, value: /etc/ranger-cdap/files/sync.toml}
    {{- include "ranger-cdap.container" (dict "root" .root "values" $own) | nindent 4 }}
    volumeMounts:
      {{- include "ranger-cdap.commonMounts" $given | nindent 6 }}
      - {name: inventory, mountPath: /inventory}
      - {name: tmp, mountPath: /tmp}
{{- end }}
containers:
  - name: sync
    image: {{ include "ranger-cdap.image" (dict "root" .root "image" $own.image) }}
    args: {{ .args | toJson }}
    {{- if and $own.state.url $own.state.variables }}
    envFrom: [{secretRef: {name: {{ $own.state.variables }}}}]
    {{- end }}
    env:
      - {name: RANGER_CDAP_CONFIG, value: /etc/ranger-cdap/files/sync.toml}
    {{- if not .inventory }}
    {{- with include "ranger-cdap.telemetry" .root }}
      - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      {{- . | nindent 6 }}
    {{- end }}
    {{- end }}
    {{- include "ranger-cdap.container" (dict "root" .root "values" $own) | nindent 4 }}
    volumeMounts:
      {{- include "ranger-cdap.commonMounts" $given | nindent 6 }}
      - {name: state, mountPath: /var/lib/ranger-cdap}
      {{- if .inventory }}
      - {name: inventory, mountPath: /inventory, readOnly: true}
      {{- else if .root.Values.events.enabled }}
      - {name: events, mountPath: /var/lib/ranger-cdap-events, readOnly: true}
      {{- end }}
      - {name: tmp, mountPath: /tmp}
volumes:
  {{- include "ranger-cdap.commonVolumes" $given | nindent 2 }}
  - name: state
    {{- if $own.state.url }}
    emptyDir: {}
    {{- else }}
    persistentVolumeClaim: {claimName: {{ include "ranger-cdap.syncClaim" .root }}}
    {{- end }}
  {{- if .inventory }}
  - name: inventory
    {{- if $own.baseline.cdapUrl }}
    emptyDir: {}
    {{- else if $own.baseline.claim }}
    persistentVolumeClaim: {claimName: {{ $own.baseline.claim }}, readOnly: true}
    {{- else }}
    configMap: {name: {{ $own.baseline.configMap }}}
    {{- end }}
  {{- else if .root.Values.events.enabled }}
  # A read-only mount keeps owner, group and modes.
  - name: events
    persistentVolumeClaim: {claimName: {{ include "ranger-cdap.eventsClaim" .root }}, readOnly: true}
  {{- end }}
  # Spark unpacks native libraries there.
  - name: tmp
    emptyDir: {sizeLimit: {{ $own.temporary }}}
{{- end -}}
