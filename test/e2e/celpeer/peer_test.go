package celpeer

import (
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// peerEnv returns the environment of Kyverno's webhook for PolicyException: the base of Kubernetes
// with four variables.
func peerEnv(t *testing.T) *cel.Env {
	t.Helper()
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	stored, err := base.Env(environment.StoredExpressions)
	if err != nil {
		t.Fatal(err)
	}
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	for _, name := range []string{"object", "oldObject"} {
		request.Fields[name] = apiservercel.NewDeclField(name, apiservercel.DynType, false, nil, nil)
	}
	types, err := apiservercel.NewDeclTypeProvider(namespace, request).EnvOptions(stored.CELTypeProvider())
	if err != nil {
		t.Fatal(err)
	}
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: append([]cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
			cel.Variable("request", request.CelType()), cel.Variable("namespaceObject", namespace.CelType()),
		}, types...),
	})
	if err != nil {
		t.Fatal(err)
	}
	env, err := extended.Env(environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// peerTakes reports whether Kyverno accepts an expression as a condition.
func peerTakes(env *cel.Env, expression string) bool {
	checked, issues := env.Compile(expression)
	return issues.Err() == nil && checked.OutputType().IsExactType(cel.BoolType)
}
