// Package send sends notifications to webhooks.
//
//  1. It uses https, except on loopback. It follows no redirect to another host.
//  2. It retries temporary failures (internal/retry).
//  3. The address of a webhook is a secret. No error contains it, or the answer of a webhook, which may
//     repeat it.
//  4. A webhook cannot be asked for earlier notifications, so it gets each notification at least once.
package send
