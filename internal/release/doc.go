// Command release builds what is published: every command for every platform, an
// archive of them for each, and their checksums. The same commit gives the same
// bytes, whoever builds it and wherever, as long as it is built with the same Go:
//
//	go run ./internal/release -version v1.2.3 -out dist
//
// It writes OUT/linux_amd64/polex-validate and so on, OUT/polex_1.2.3_linux_amd64.tar.gz,
// and OUT/checksums.txt, which sha256sum --check reads.
package main
