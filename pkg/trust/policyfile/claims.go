package policyfile

// Claims are the names of the extensions of Fulcio certificates that a policy can require, sorted
// (Fulcio's docs/oid-info.md, 1.3.6.1.4.1.57264.1.2 to .24).
var Claims = []string{
	"buildConfigDigest", "buildConfigURI", "buildSignerDigest", "buildSignerURI", "buildTrigger",
	"deploymentEnvironment", "githubWorkflowName", "githubWorkflowRef", "githubWorkflowRepository",
	"githubWorkflowSHA", "githubWorkflowTrigger", "runInvocationURI", "runnerEnvironment", "sourceRepositoryDigest",
	"sourceRepositoryIdentifier", "sourceRepositoryOwnerIdentifier", "sourceRepositoryOwnerURI",
	"sourceRepositoryRef", "sourceRepositoryURI", "sourceRepositoryVisibilityAtSigning", "tokenSubject",
}
