{{- /*
files/ holds copies of policies/, which kustomize applies too. The templates read them and change
only what a value says.
*/ -}}

{{- /* Objects of a file, as documents. (list $ "guard/base/rbac.yaml" (dict "namespace" …)) */ -}}
{{- define "polex-guard.print" -}}
{{- range splitList "\n---\n" ((index . 0).Files.Get (printf "files/%s" (index . 1))) }}
---
{{ toYaml (mergeOverwrite (fromYaml .) (deepCopy (index $ 2))) }}
{{- end }}
{{- end -}}

{{- /* Applies the JSON patches of a kustomization to an object. (list $ "guard/overlays/cert-manager" $object) */ -}}
{{- define "polex-guard.patch" -}}
{{- $object := index . 2 -}}
{{- $kustomization := (index . 0).Files.Get (printf "files/%s/kustomization.yaml" (index . 1)) | fromYaml -}}
{{- range $patch := $kustomization.patches -}}
{{- if eq $patch.target.kind $object.kind -}}
{{- range $operation := fromYamlArray $patch.patch -}}
{{- $keys := splitList "/" (trimPrefix "/" $operation.path) -}}
{{- $append := eq (last $keys) "-" -}}
{{- if $append }}{{ $keys = initial $keys }}{{ end -}}
{{- $at := $object -}}
{{- range $key := initial $keys -}}
{{- if kindIs "slice" $at }}{{ $at = index $at (int $key) }}{{ else }}{{ $at = index $at $key }}{{ end -}}
{{- end -}}
{{- $value := $operation.value -}}
{{- if $append }}{{ $value = append (index $at (last $keys)) $value }}{{ end -}}
{{- $_ := set $at (last $keys) $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "polex-guard.image" -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag }}{{ end }}
{{- end -}}

{{- define "polex-guard.overlay" -}}
{{- get (dict "selfManaged" "guard/overlays/self-managed" "certManager" "guard/overlays/cert-manager") .Values.certificates -}}
{{- end -}}

{{- /* NetworkPolicy peers of address ranges. */ -}}
{{- define "polex-guard.peers" -}}
{{- range . }}
- ipBlock: {cidr: {{ quote . }}}
{{- end }}
{{- end -}}
