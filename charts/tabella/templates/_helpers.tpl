{{- define "tabella.name" -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{- end }}
{{- define "tabella.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tabella.labels" -}}
{{ include "tabella.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: tabella
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
{{- define "tabella.image" -}}
{{- $i := .image -}}
{{- if $i.registry }}{{ $i.registry }}/{{ end }}{{ $i.repository }}{{ if $i.digest }}@{{ $i.digest }}{{ else }}:{{ $i.tag | default .version }}{{ end -}}
{{- end }}
{{- define "tabella.podSecurity" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- define "tabella.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}
{{- define "tabella.env" -}}
{{- $secret := required "auth.existingSecret is required: the secret that values.yaml describes" .Values.auth.existingSecret -}}
- { name: TAB_ORG_KEY, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: org-key } } }
- { name: TAB_NATS, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: nats } } }
- { name: TAB_NATS_TLS, value: {{ .Values.nats.tls | ternary "1" "0" | quote }} }
- { name: TAB_NATS_CA, valueFrom: { secretKeyRef: { name: {{ $secret }}, key: ca.crt, optional: true } } }
- { name: TAB_HEALTH_PORT, value: "9100" }
- { name: TAB_HEALTH_BIND, value: "0.0.0.0" }
- { name: TAB_DRAIN_S, value: {{ .Values.drainSeconds | quote }} }
{{- end }}
{{- define "tabella.redis" -}}
- { name: TAB_REDIS, value: {{ .Values.redis.address | quote }} }
- { name: TAB_REDIS_TLS, value: {{ .Values.redis.tls | ternary "1" "0" | quote }} }
- { name: TAB_REDIS_CA, valueFrom: { secretKeyRef: { name: {{ .Values.auth.existingSecret }}, key: ca.crt, optional: true } } }
{{- end }}
