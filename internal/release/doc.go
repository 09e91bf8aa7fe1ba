// Command release builds the published files. The same commit and Go version give the same bytes on
// every machine:
//
//	go run ./internal/release -version v1.2.3 -out dist
//
// For each command and platform it writes the program (OUT/linux_amd64/polex-verify) and an archive
// with it, its SBOM and the licences of its modules (OUT/polex-verify_1.2.3_linux_amd64.tar.gz; a
// zip for Windows, which extracts no other format everywhere). The archive of polex has the
// completions and all man pages, that of another command its own pages.
//
// OUT/polex-guard-1.2.3.tgz is the Helm chart, OUT/polex.yaml a manifest for krew, OUT/polex.rb a
// formula for Homebrew, and OUT/ca-certificates.crt are the certificate authorities of the images.
// OUT/checksums.txt lists the archives, the chart and the two manifests, for sha256sum --check.
package main
