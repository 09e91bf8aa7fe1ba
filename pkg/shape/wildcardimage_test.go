package shape_test

var wildcardImageCases = []change{
	{name: "any image", of: policies, old: "  matchConditions", new: "  images: [ghcr.io/acme/*, '*']\n  matchConditions", want: []string{"10 wildcard-image spec.images[1]"}},
	{name: "any value", of: policies, old: "  matchConditions", new: "  allowedValues: ['**']\n  matchConditions", want: []string{"10 wildcard-image spec.allowedValues[0]"}},
	{name: "some images", of: policies, old: "  matchConditions", new: "  images: [ghcr.io/acme/*]\n  matchConditions"},
	{name: "any image of a control", of: legacy, old: "  match:\n", new: "  podSecurity: [{controlName: Capabilities, images: ['*']}]\n  match:\n", want: []string{"13 wildcard-image spec.podSecurity[0].images[0] (warning)"}},
	{name: "some images of a control", of: legacy, old: "  match:\n", new: "  podSecurity: [{controlName: Capabilities, images: [nginx*]}]\n  match:\n"},
}
