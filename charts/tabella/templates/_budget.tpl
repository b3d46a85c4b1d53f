{{- /* Connections to PostgreSQL at most: of each daemon its pool and TAB_PG_ALL (8) for housekeeping, of each pod that may
run. jobs has one for each worker, thread and lane (services/jobs/main.c). A rolling update adds a pod of each. */}}
{{- define "tabella.budget" -}}
{{- $sum := 0 }}{{ $surge := 0 }}{{ $largest := 0 }}{{ $lines := list }}
{{- range $name, $values := .Values.daemons }}
{{- $s := include "tabella.settings" (list $ $values) | fromJson }}
{{- $pool := int ($s.env.TAB_PG_POOL | default 8) }}
{{- if eq $name "jobs" }}
{{- $pool = max $pool (add (int ($s.env.TAB_JOBS_WORKERS | default 4)) (int ($s.env.TAB_THREADS | default 8)) 8) }}
{{- end }}
{{- $pods := int $s.replicas }}
{{- if $s.autoscaling.enabled }}{{ $pods = int $s.autoscaling.maxReplicas }}{{ end }}
{{- if $s.keda.enabled }}{{ $pods = int $s.keda.maxReplicas }}{{ end }}
{{- $each := add $pool 8 }}
{{- $sum = add $sum (mul $pods $each) }}{{ $surge = add $surge $each }}
{{- $largest = max $largest (mul (add $pods 1) $each) }}
{{- $lines = append $lines (printf "  %-15s %3d pods x (%d + 8) = %4d" $name $pods $pool (mul $pods $each)) }}
{{- end }}
Connections to PostgreSQL, at most:
{{ join "\n" $lines }}
  {{ $sum }} in all, {{ add $sum $surge }} during a rolling update. PostgreSQL needs max_connections = {{ add $sum $surge 20 }} or more, or a
  pooler that keeps sessions before it (docs/decisions/0250: no transaction pooling). For PgBouncer:
    pool_mode = session
    max_client_conn = {{ add $sum $surge 20 }}
    default_pool_size = {{ $largest }}
    server_reset_query = DISCARD ALL
{{- end }}
