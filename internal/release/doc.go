// Command release builds the published files: every command for every platform, an archive per
// platform, the Helm chart, and checksums. The same commit and Go version give the same bytes on every machine:
//
//	go run ./internal/release -version v1.2.3 -out dist
//
// It writes OUT/linux_amd64/polex-validate and so on, OUT/polex_1.2.3_linux_amd64.tar.gz,
// OUT/polex-guard-1.2.3.tgz and OUT/checksums.txt, which sha256sum --check reads.
package main
