// Package webhook posts the payloads of jobs to a URL, signed as the Standard Webhooks specification says
// (https://www.standardwebhooks.com), for sqluice work --post.
//
// It knows requests and answers; what an answer means for a job is the command's affair.
package webhook
