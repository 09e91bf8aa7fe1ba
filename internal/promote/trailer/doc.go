// Package trailer is what the commits of promotions and prunings say about
// themselves, for whoever looks for them later.
package trailer
