// Package renewal compares an exception with the signed one that it renews.
package renewal
