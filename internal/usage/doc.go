// Package usage answers from the policy reports of Kyverno whether an exception is still needed.
//
//  1. Kyverno writes the names of the exceptions that apply to a resource into the result of a report,
//     without their namespaces. A result counts for each exception of that name, group and policy whose
//     scope can contain the resource: two exceptions of one name can both be in use, and neither is idle
//     by mistake.
//  2. An exception that no result names is idle only if its policies report on resources of its kinds,
//     after it was created. Otherwise its usage is unknown, with the reason.
//  3. Whether its resources would pass without it is asked of Kyverno's own command line.
//
// The package changes nothing and reads no clock. Reports are untrusted: their writers decide
// about the answer. So nothing is removed because of them without a review.
package usage
