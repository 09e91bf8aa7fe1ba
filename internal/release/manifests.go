package main

import (
	"bytes"
	"embed"
	"strings"
	"text/template"
)

// templates are the formula for Homebrew and the manifest for krew, which links the program to the name
// kubectl-polex.
//
//go:embed *.tmpl
var templates embed.FS

// manifests publishes the manifests of package managers. archives are those of polex by platform.
func manifests(out, version string, archives map[string]archive, sums map[string]string) {
	all := template.Must(template.New("").Option("missingkey=error").ParseFS(templates, "*.tmpl"))
	for _, name := range []string{"polex.rb", "polex.yaml"} {
		var text bytes.Buffer
		check(all.ExecuteTemplate(&text, name+".tmpl",
			map[string]any{"Version": version, "Number": strings.TrimPrefix(version, "v"), "Archives": archives}))
		publish(out, name, text.Bytes(), sums)
	}
}
