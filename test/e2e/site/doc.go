// Package site holds the test of the documentation as a site.
package site
