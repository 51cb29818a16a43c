// Package webhook posts the payloads of jobs to a URL, signed as the Standard Webhooks specification says
// (https://www.standardwebhooks.com), for sqluice work --post.
//
// It knows requests and answers. The command decides the outcome of a job from the answer.
package webhook
