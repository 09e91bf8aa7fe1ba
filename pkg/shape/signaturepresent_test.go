package shape_test

var sealedCases = []change{
	{name: "a seal", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/signature: x\n    cosign.sigstore.dev/message: x\n",
		want: []string{`8 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
	{name: "what only begins like one", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/note: x\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/note"]`}},
	{name: "another prefix", of: legacy, old: "  annotations:\n", new: "  annotations:\n    sigstore.dev/signature: x\n"},
	{name: "with both lifetimes, as signing leaves it", of: legacy, old: "  annotations:\n",
		new:  "  annotations:\n    cosign.sigstore.dev/message: x\n    polex.dev/expires-at: \"2026-06-08T12:00:00Z\"\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
}
