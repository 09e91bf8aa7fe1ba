package pending

import "github.com/polex-dev/polex/pkg/exception"

// The reasons to reject a pending file.
const (
	ReasonBadName        = "bad-file-name"
	ReasonNotRegular     = "not-a-regular-file"
	ReasonTooLarge       = "too-large"
	ReasonNoDocuments    = "no-documents"
	ReasonTargetExists   = "target-exists"
	ReasonAlreadySigned  = "already-signed"
	ReasonPartlyReplaced = "partly-replaced"
	ReasonNotARenewal    = "not-a-renewal"
)

// Reasons returns all of them.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonBadName, Doc: "the name of the file is not one that a signed file can have"},
		{Name: ReasonNotRegular, Doc: "only regular files (mode 100644) are signed"},
		{Name: ReasonTooLarge, Doc: "the file, or its signed form, is larger than polex reads"},
		{Name: ReasonNoDocuments, Doc: "the file holds no document"},
		{Name: ReasonTargetExists, Doc: "another file has the name that the signed file would have"},
		{Name: ReasonAlreadySigned, Doc: "the signed folder holds an exception of this name already, or held it " +
			"before and the exception is grandfathered"},
		{Name: ReasonPartlyReplaced,
			Doc: "the file would replace some exceptions of a signed file, and not all of them"},
		{Name: ReasonNotARenewal, Doc: "it states that it renews another exception, and does not"},
	}
}
