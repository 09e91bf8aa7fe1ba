// Package policyfile reads and checks the written trust policy. It reads neither keys nor a trusted
// root, so that a command can check the policy without Sigstore's packages. Package trust makes a
// policy of it.
package policyfile
