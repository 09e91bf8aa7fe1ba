// Package send sends notifications to webhooks, and as comments to pull requests on GitHub.
//
//  1. It uses https, except on loopback. It follows no redirect to another host.
//  2. It retries temporary failures (internal/retry), and limits the size of answers.
//  3. The address of a webhook and a token are secrets. No error contains one, or the answer of a
//     webhook, which may repeat one.
//  4. It finds its comment by the hidden marker. Everybody can write that marker, so only comments
//     of one account count. It updates a comment only if the text differs. A webhook cannot be
//     asked for earlier notifications, so it gets each notification at least once.
package send
