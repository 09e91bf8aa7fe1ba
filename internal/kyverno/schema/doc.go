// Package schema has the fields of PolicyException as the custom resource definitions of Kyverno 1.19.1 have them, and
// compares documents with them. The API server drops an unknown field and a null, and the live object would then
// differ from the signed one.
package schema

//go:generate go test -run ^TestSchemaIsKyvernos$ . -update
