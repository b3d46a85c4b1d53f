{{- /* Names, labels and images. $ or . is the chart's context everywhere. */}}
{{- define "tabella.name" -}}
{{- .Values.fullnameOverride | default (printf "%s-%s" .Release.Name (.Values.nameOverride | default .Chart.Name)) | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* What selects a component's pods; it cannot be changed later. (list $ COMPONENT) */}}
{{- define "tabella.selector" -}}
{{- include "tabella.selectorJson" . | fromJson | toYaml -}}
{{- end }}
{{- define "tabella.selectorJson" -}}
{{- $s := dict "app.kubernetes.io/name" (index . 0).Chart.Name "app.kubernetes.io/instance" (index . 0).Release.Name -}}
{{- with index . 1 }}{{ $_ := set $s "app.kubernetes.io/component" . }}{{ end -}}
{{- toJson $s -}}
{{- end }}

{{- /* (list $ COMPONENT) */}}
{{- define "tabella.labels" -}}
{{- $ctx := index . 0 -}}
{{ include "tabella.selector" . }}
app.kubernetes.io/version: {{ $ctx.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: tabella
app.kubernetes.io/managed-by: {{ $ctx.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $ctx.Chart.Name $ctx.Chart.Version }}
{{- with $ctx.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Labels of a server's pods: without versions, so that a new release of the product restarts none.
(list $ COMPONENT) */}}
{{- define "tabella.serverLabels" -}}
{{ include "tabella.selector" . }}
app.kubernetes.io/part-of: tabella
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* (list $ COMPONENT [NAME]): name, namespace, labels and annotations of an object. */}}
{{- define "tabella.metadata" -}}
{{- $ctx := index . 0 -}}
{{- $name := index . 1 -}}
{{- if gt (len .) 2 }}{{ $name = index . 2 }}{{ end -}}
name: {{ include "tabella.name" $ctx }}-{{ $name }}
namespace: {{ $ctx.Release.Namespace }}
labels: {{- include "tabella.labels" (list $ctx (index . 1)) | nindent 2 }}
{{- with $ctx.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* (list $ IMAGE TAG): the digest beats the tag. */}}
{{- define "tabella.image" -}}
{{- $i := index . 1 -}}
{{- with $i.registry | default (index . 0).Values.global.imageRegistry }}{{ . }}/{{ end }}{{ $i.repository }}
{{- if $i.digest }}@{{ $i.digest }}{{ else }}:{{ $i.tag | default (index . 2) }}{{ end -}}
{{- end }}

{{- /* What a component has of its own over what `pod` gives to all, as JSON. (list $ VALUES) */}}
{{- define "tabella.settings" -}}
{{- mergeOverwrite (deepCopy (index . 0).Values.pod) (deepCopy (index . 1)) | toJson -}}
{{- end }}

{{- /* The name of the secret; the chart makes it where auth.data is given. */}}
{{- define "tabella.secret" -}}
{{- if .Values.auth.data }}{{ include "tabella.name" . }}-auth
{{- else }}{{ required "auth.existingSecret is required: the secret that README.md describes (or auth.data)" .Values.auth.existingSecret }}
{{- end }}
{{- end }}

{{- /* Rolls a pod when one of its secrets changes: of auth.data its own keys alone; of a secret that the chart
does not make, auth.revision. (list $ KEYS) */}}
{{- define "tabella.secretChecksum" -}}
{{- $ctx := index . 0 -}}
{{- $own := dict "revision" $ctx.Values.auth.revision -}}
{{- range index . 1 }}{{ $_ := set $own . (get $ctx.Values.auth.data . | toString) }}{{ end -}}
{{- toJson $own | sha256sum -}}
{{- end }}

{{- /* (list $ VARIABLE KEY [optional]): an environment variable from the secret. */}}
{{- define "tabella.fromSecret" -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ include "tabella.secret" (index . 0) }}
      key: {{ index . 2 }}
      {{- if gt (len .) 3 }}
      optional: true
      {{- end }}
{{- end }}

{{- /* A program's secrets as files that only its user reads, called as the variables of its configuration: no
     process listing, crash report or `kubectl describe` shows them, and a daemon reads them again on SIGHUP.
     (list $ REQUIRED OPTIONAL), lists of VARIABLE:KEY */}}
{{- define "tabella.secretFiles" -}}
{{- $name := include "tabella.secret" (index . 0) -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ $name }}
          items:
            {{- range index . 1 }}
            - { key: {{ splitList ":" . | last }}, path: {{ splitList ":" . | first }} }
            {{- end }}
      {{- range index . 2 }}
      - secret:
          name: {{ $name }}
          optional: true
          items: [{ key: {{ splitList ":" . | last }}, path: {{ splitList ":" . | first }} }]
      {{- end }}
{{- end }}

{{- define "tabella.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- /* The host part of a pod, from its settings. (list $ COMPONENT SETTINGS UID) */}}
{{- define "tabella.podSpec" -}}
{{- $ctx := index . 0 -}}{{- $component := index . 1 -}}{{- $s := index . 2 -}}{{- $uid := index . 3 -}}
serviceAccountName: {{ $s.serviceAccountName | default (include "tabella.serviceAccount" $ctx) }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $uid }}
  runAsGroup: {{ $uid }}
  fsGroup: {{ $uid }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with concat $ctx.Values.global.imagePullSecrets $ctx.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $s.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $s.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "tabella.tolerations" (list $ctx $component $s) }}
{{- with $s.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Taints that it bears. A pod on a lost node is made elsewhere soon: all but a trial's servers keep nothing
     that another could not have. Tolerations of one's own for the same taints hold. */}}
{{- define "tabella.tolerations" -}}
{{- $component := index . 1 -}}{{- $s := index . 2 -}}{{- $own := $s.tolerations -}}
{{- $named := list -}}
{{- range $own }}{{- $named = append $named (.key | default "*") }}{{- end }}
{{- $added := list -}}
{{- range list "node.kubernetes.io/not-ready" "node.kubernetes.io/unreachable" }}
{{- if not (or (has . $named) (has "*" $named) (has $component (list "postgres" "redis"))) }}
{{- $added = append $added . }}
{{- end }}
{{- end }}
{{- if or $own $added }}
tolerations:
{{- with $own }}{{- toYaml . | nindent 2 }}{{- end }}
{{- range $added }}
  - key: {{ . }}
    operator: Exists
    effect: NoExecute
    tolerationSeconds: {{ int $s.lostNodeSeconds }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Over hosts, then zones, as well as can be. (list $ COMPONENT SETTINGS) */}}
{{- define "tabella.spread" -}}
{{- $ctx := index . 0 -}}{{- $component := index . 1 -}}{{- $s := index . 2 -}}
topologySpreadConstraints:
{{- if $s.topologySpreadConstraints }}
{{- toYaml $s.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "tabella.selector" (list $ctx $component) | nindent 8 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tabella.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "tabella.name" .) }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- /* Probes of a pod: the kubelet asks the health port. (list SETTINGS READY) */}}
{{- define "tabella.probes" -}}
{{- $p := (index . 0).probes -}}
startupProbe: {{- toYaml (merge (dict "httpGet" (dict "path" "/livez" "port" "health")) $p.startup) | nindent 2 }}
livenessProbe: {{- toYaml (merge (dict "httpGet" (dict "path" "/livez" "port" "health")) $p.liveness) | nindent 2 }}
readinessProbe: {{- toYaml (merge (dict "httpGet" (dict "path" (index . 1) "port" "health")) $p.readiness) | nindent 2 }}
{{- end }}

{{- /* A component's further environment: `env` as a map, `extraEnv` as Kubernetes has it. */}}
{{- define "tabella.extraEnv" -}}
{{- range $k, $v := .env }}
- { name: {{ $k }}, value: {{ $v | quote }} }
{{- end }}
{{- with .extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Annotations of a pod: what is given, and the checksums that roll it. (list $ SETTINGS CHECKSUMS) */}}
{{- define "tabella.podAnnotations" -}}
{{- toYaml (mergeOverwrite (deepCopy (index . 0).Values.commonAnnotations) (index . 1).annotations (index . 2)) -}}
{{- end }}

{{- /* The authorities of all servers, from the secret's key ca.crt: a file for libpq's sslrootcert. */}}
{{- define "tabella.caVolume" -}}
- name: ca
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ include "tabella.secret" . }}
          optional: true
          items: [{ key: ca.crt, path: ca.crt }]
{{- end }}

{{- /* The NATS of the chart, or the one that is there already. */}}
{{- define "tabella.ownNats" -}}{{ if or .Values.nats.enabled .Values.trial.enabled }}yes{{ end }}{{- end }}

{{- define "tabella.redisAddress" -}}
{{- if .Values.trial.enabled }}{{ include "tabella.name" . }}-redis:6379{{ else }}{{ .Values.redis.address }}{{ end -}}
{{- end }}
