{{- /* Values that contradict each other; what a value may be at all is in values.schema.json. */}}
{{- define "tabella.validate" -}}
{{- if and .Values.auth.existingSecret .Values.auth.data }}{{ fail "auth.existingSecret and auth.data: one of them" }}{{ end }}
{{- $_ := include "tabella.secret" . }}
{{- if and .Values.trial.enabled .Values.global.production }}{{ fail "trial.enabled: single servers without a spare; not with global.production" }}{{ end }}
{{- if .Values.trial.enabled }}
{{- $needed := (include "tabella.budgetJson" . | fromJson).needed | int }}
{{- if gt $needed (int .Values.trial.postgres.maxConnections) }}{{ fail (printf "trial.postgres.maxConnections: the daemons may open %d, and find none left while they roll" $needed) }}{{ end }}
{{- end }}
{{- if and .Values.migrations.useHelmHooks (or .Values.trial.enabled .Values.auth.data) }}{{ fail "migrations.useHelmHooks: a hook runs before the chart's own database and secret are there; needs auth.existingSecret and no trial.enabled" }}{{ end }}
{{- if .Values.retention.enabled }}
{{- $r := .Values.retention }}
{{- $cuts := or (gt (int $r.auditDays) 0) (gt (int $r.ledgerDays) 0) }}
{{- if and $cuts (not $r.archive.existingClaim) }}{{ fail "retention.auditDays and ledgerDays need retention.archive.existingClaim: what is cut is written there first" }}{{ end }}
{{- if not (or $cuts (gt (int $r.jobsDays) 0) (gt (int $r.runsDays) 0)) }}{{ fail "retention.enabled: nothing is to go" }}{{ end }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}{{ fail "ingress.enabled needs ingress.hosts" }}{{ end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}{{ fail "httpRoute.enabled needs httpRoute.parentRefs" }}{{ end }}
{{- range $name, $values := merge (dict "gateway" .Values.gateway) .Values.daemons }}
{{- $s := include "tabella.settings" (list $ (omit $values "service")) | fromJson }}
{{- if and $s.autoscaling.enabled $s.keda.enabled }}{{ fail (printf "%s: autoscaling and keda would fight over its replicas; one of them" $name) }}{{ end }}
{{- if and $s.keda.enabled (not $s.keda.triggers) }}{{ fail (printf "%s: keda.enabled needs keda.triggers" $name) }}{{ end }}
{{- end }}
{{- end }}
