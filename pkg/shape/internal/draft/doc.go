// Package draft reads an exception that is to be judged: what its spec and the
// filters of its match say, and where that stands in the document.
package draft
