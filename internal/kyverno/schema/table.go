package schema

// The fields of PolicyException in Kyverno 1.19.1. A test compares them with the custom resource
// definitions of that release.

func exceptionOf(spec *schema) *schema {
	return object(
		must("apiVersion", text()),
		must("kind", text()),
		must("metadata", metadata()),
		must("spec", spec),
	)
}

// metadata has the fields that an author may write. The API server and controllers write the
// others.
func metadata() *schema {
	return object(
		must("name", text().as(subdomainName)),
		must("namespace", text().as(labelName)),
		may("labels", textMap().as(labelMap)),
		may("annotations", textMap().as(annotationMap)),
	).as(objectMeta)
}

// policiesSpec is the spec of policies.kyverno.io v1alpha1, v1beta1 and v1.
func policiesSpec() *schema {
	return object(
		must("policyRefs", list(object(
			must("kind", filledText()),
			must("name", filledText()),
		))),
		may("matchConditions", list(object(
			must("expression", filledText()),
			must("name", filledText()),
		))),
		may("images", list(text())),
		may("allowedValues", list(text())),
		may("reportResult", &schema{kind: textKind, enum: []string{"skip", "pass"}, preset: "skip"}),
		may("expiresAt", &schema{kind: textKind, format: "date-time"}),
		may("evaluationMode", text()),
		may("properties", textMap()),
	)
}

// kyvernoSpec is the spec of kyverno.io v2alpha1, v2beta1 and v2.
func kyvernoSpec() *schema {
	return object(
		must("exceptions", list(object(
			must("policyName", filledText()),
			must("ruleNames", list(text())),
		))),
		must("match", object(
			may("any", list(resourceFilter())),
			may("all", list(resourceFilter())),
		).notBoth("any", "all")),
		may("conditions", object(
			may("any", list(condition())),
			may("all", list(condition())),
		)),
		may("background", &schema{kind: boolKind}),
		may("podSecurity", list(object(
			must("controlName", oneOf(
				"HostProcess", "Host Namespaces", "Privileged Containers", "Capabilities",
				"HostPath Volumes", "Host Ports", "AppArmor", "SELinux", "/proc Mount Type",
				"Seccomp", "Sysctls", "Volume Types", "Privilege Escalation",
				"Running as Non-root", "Running as Non-root user")),
			may("images", list(text())),
			may("restrictedField", text()),
			may("values", list(text())),
		))),
	)
}

func resourceFilter() *schema {
	return object(
		may("resources", object(
			may("kinds", list(text())),
			may("name", text()),
			may("names", list(text())),
			may("namespaces", list(text())),
			may("annotations", textMap()),
			may("selector", labelSelector()),
			may("namespaceSelector", labelSelector()),
			may("operations", list(oneOf("CREATE", "CONNECT", "UPDATE", "DELETE"))),
		).notBoth("name", "names")),
		may("roles", list(text())),
		may("clusterRoles", list(text())),
		may("subjects", list(object(
			must("kind", text()),
			must("name", text()),
			may("apiGroup", text()),
			may("namespace", text()),
		))),
	)
}

func labelSelector() *schema {
	return object(
		may("matchLabels", textMap()),
		may("matchExpressions", list(object(
			must("key", text()),
			must("operator", text()),
			may("values", list(text())),
		))),
	)
}

func condition() *schema {
	return object(
		may("key", anything()),
		may("operator", oneOf(
			"Equals", "NotEquals", "AnyIn", "AllIn", "AnyNotIn", "AllNotIn",
			"GreaterThanOrEquals", "GreaterThan", "LessThanOrEquals", "LessThan",
			"DurationGreaterThanOrEquals", "DurationGreaterThan",
			"DurationLessThanOrEquals", "DurationLessThan")),
		may("value", anything()),
		may("message", text()),
	)
}
