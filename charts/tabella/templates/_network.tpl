{{- /* One rule of egress: to a server, of the chart or of values. (list $ SERVER), SERVER: postgres, nats, redis */}}
{{- define "tabella.toServer" -}}
{{- $ctx := index . 0 -}}{{- $server := index . 1 -}}
{{- $own := eq $server "nats" | ternary (include "tabella.ownNats" $ctx) ($ctx.Values.trial.enabled | ternary "yes" "") -}}
{{- if $own }}
{{- $port := get (dict "postgres" 5432 "nats" 4222 "redis" 6379) $server }}
- to:
    - podSelector:
        matchLabels: {{- include "tabella.selector" (list $ctx $server) | nindent 10 }}
  ports: [{ port: {{ $port }}, protocol: TCP }]
{{- else }}
{{- $to := get $ctx.Values.networkPolicy $server }}
- to: {{- toYaml $to.to | nindent 4 }}
  ports: [{ port: {{ $to.port }}, protocol: TCP }]
{{- end }}
{{- end }}

{{- define "tabella.toDns" -}}
- to: {{- toYaml .Values.networkPolicy.dns.to | nindent 4 }}
  ports: [{ port: {{ .Values.networkPolicy.dns.port }}, protocol: UDP }, { port: {{ .Values.networkPolicy.dns.port }}, protocol: TCP }]
{{- end }}
