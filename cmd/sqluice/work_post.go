package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"github.com/sqluice/sqluice/internal/webhook"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// receiver is a handler that posts the payload of each job of a kind to a URL.
type receiver struct {
	kind string
	url  *url.URL

	poster *webhook.Poster
	client *jobs.Client
	log    *slog.Logger
}

// answerLimit is the number of bytes that are read of an answer: one more than a result has, so that a longer answer is noticed.
const answerLimit = resultLimit + 1

// parsePost reads the value of --post, KIND=URL. The error is a phrase that follows "must", and has no part of the URL, which may hold a
// password.
func parsePost(text string) (*receiver, error) {
	kind, address, err := cutKind(text, "KIND=URL")
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.Fragment != "" {
		return nil, errors.New("have the form KIND=URL, with a URL such as https://example.com/hooks/mail")
	}
	return &receiver{kind: kind, url: parsed}, nil
}

// hostURL returns a URL for logs and errors: without its path and its query, which may be secret.
func hostURL(u *url.URL) string { return u.Scheme + "://" + u.Host }

// handle posts the payload; the answer decides the job's outcome.
func (w *receiver) handle(ctx context.Context, job jobs.Job, payload json.RawMessage) error {
	answer, err := w.poster.Post(ctx, w.url, job, payload)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return fmt.Errorf("%w: post to %s: %w", cause, hostURL(w.url), err)
		}
		err = fmt.Errorf("post to %s: %w", hostURL(w.url), err)
		if webhook.Unsent(err) {
			return jobs.Unable(err)
		}
		return err
	}
	defer answer.Body.Close()
	body := &head{limit: resultLimit}
	_, err = io.Copy(body, io.LimitReader(answer.Body, answerLimit))
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode < 300:
		if err != nil || body.dropped() > 0 { // the status means that the job is done
			w.log.Warn("the answer is cut off, or longer than a result: the rest is dropped", "job", job.ID, "kind", job.Kind, "kept", len(body.kept))
		}
		return setResult(job, body)
	case answer.StatusCode == http.StatusGone:
		return jobs.Discard(failure(answer, body))
	}
	if delay, asked := webhook.RetryAfter(answer, time.Now()); asked {
		w.log.Info("the receiver asks to wait", "kind", w.kind, "status", answer.StatusCode, "for", delay)
		if job.LimitKey != nil {
			return jobs.Throttle(delay)
		}
		return w.putOff(ctx, job, delay)
	}
	return failure(answer, body)
}

// putOff pauses a job's kind in its queue, and returns the outcome of the job: it waits for the end of the pause like all others of the kind.
// So they run at once if a user resumes the kind.
func (w *receiver) putOff(ctx context.Context, job jobs.Job, delay time.Duration) error {
	if err := w.pause(ctx, job, delay); err != nil {
		w.log.Warn("the kind could not be paused", "kind", job.Kind, "queue", job.Queue, "error", err)
		return jobs.Snooze(delay)
	}
	return jobs.Snooze(0)
}

// pause pauses a job's kind in its queue, unless a pause of the same length exists: other jobs of the kind may have had the same answer.
func (w *receiver) pause(ctx context.Context, job jobs.Job, delay time.Duration) error {
	queues, err := inspect.New(w.client).Queues(ctx)
	if err != nil {
		return err
	}
	least := time.Now().Add(delay - time.Second) // a difference of a second is no reason for another pause
	for _, q := range queues {
		if q.Name == job.Queue && slices.ContainsFunc(q.PausedKinds, func(p inspect.KindPause) bool {
			return p.Kind == job.Kind && (p.Until.IsZero() || p.Until.After(least))
		}) {
			return nil
		}
	}
	_, err = w.client.PauseKind(jobs.WithActor(ctx, "sqluice work --post"), job.Queue, job.Kind, jobs.PauseFor(delay),
		jobs.PauseReason("the receiver asks to wait"))
	return err
}

// failure returns the error of an answer.
func failure(answer *http.Response, body *head) error {
	return &jobs.OutputError{Err: errors.New("the receiver answered " + answer.Status), Output: string(bytes.ToValidUTF8(body.kept, nil))}
}

// postValue collects the receivers of --post, one for each kind.
type postValue struct{ flags *workFlags }

func (v *postValue) Set(text string) error {
	w, err := parsePost(text)
	if err != nil {
		return err
	}
	if err := v.flags.free(w.kind); err != nil {
		return err
	}
	v.flags.receivers = append(v.flags.receivers, w)
	return nil
}

func (v *postValue) String() string { return "" }
func (v *postValue) Type() string   { return "KIND=URL" }

// secretVariable names the environment variable that has the secret of --post.
const secretVariable = "SQLUICE_WEBHOOK_SECRET"

// postFlags holds the flags of work for the requests of --post.
type postFlags struct {
	secretFile string
	timeout    time.Duration
	private    bool
}

func newPostFlags() postFlags { return postFlags{timeout: 30 * time.Second} }

func (f *postFlags) add(flags *pflag.FlagSet) {
	textFlag(flags, &f.secretFile, "post-secret-file", "`FILE` with the secrets that --post signs with (default: the one in $"+secretVariable+")")
	flags.Var(&durationValue{value: &f.timeout, least: time.Millisecond, most: 24 * time.Hour}, "post-timeout", "how long --post waits for an answer")
	flags.BoolVar(&f.private, "post-private", false, "follow redirects to private addresses")
}

// poster returns the poster for all kinds of --post.
func (a *app) poster(f *workFlags) (poster *webhook.Poster, err error) {
	config := webhook.Config{Agent: "sqluice/" + programVersion(), Timeout: f.post.timeout, Private: f.post.private, Conns: f.concurrency}
	if len(f.receivers) == 0 {
		return webhook.New(config), nil
	}
	text := a.getenv(secretVariable)
	if f.post.secretFile != "" {
		if text, err = readSecret("secret", f.post.secretFile); err != nil {
			return nil, err
		}
	}
	if config.Secrets, err = webhook.ParseSecrets(text); err != nil {
		return nil, usagef("the secret of --post must %w", err)
	}
	if len(config.Secrets) == 0 {
		return nil, usagef("--post needs a secret to sign with, in $%s or --post-secret-file: whsec_ and 24 to 64 bytes in base64", secretVariable)
	}
	return webhook.New(config), nil
}
