// Package notify tells webhooks of the ends of jobs: signed, and again until
// they have heard.
//
// Start in sender.go (the loop), then post.go (one request) and signature.go;
// retry.go says what an answer means, silence.go whom not to ask.
// State: the outbox is the store's; a Sender owns what it sends at the moment,
// which hosts are silent, and counters.
// Run blocks on the store and on other people's servers, each within its time.
// It never follows a redirect, never calls a private network unless that was
// allowed, and never lets a URL's path or query into a log or a row.
// Limits: notices at a time, the time of one request, tries and their spacing.
package notify
