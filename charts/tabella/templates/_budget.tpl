{{- /* Connections to PostgreSQL at most: of each daemon its pool and TAB_PG_ALL (8) for housekeeping, of each pod that may
run. jobs has one for each worker, thread and lane (services/jobs/main.c). A rolling update adds a pod of each. */}}
{{- define "tabella.budgetJson" -}}
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
{{- dict "sum" $sum "surge" $surge "largest" $largest "lines" $lines "needed" (add $sum $surge 20) | toJson }}
{{- end }}

{{- define "tabella.budget" -}}
{{- $b := include "tabella.budgetJson" . | fromJson }}
Connections to PostgreSQL, at most:
{{ join "\n" $b.lines }}
  {{ $b.sum }} in all, {{ add $b.sum $b.surge }} during a rolling update. PostgreSQL needs max_connections = {{ $b.needed }} or more, or a
  pooler that keeps sessions before it (decision 0250: no transaction pooling). For PgBouncer:
    pool_mode = session
    max_client_conn = {{ $b.needed }}
    default_pool_size = {{ $b.largest }}
    server_reset_query = DISCARD ALL
{{- end }}
