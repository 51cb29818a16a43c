package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	// mostRedirects is the maximum number of redirects that a request follows.
	mostRedirects = 5

	// dialTimeout and idleConnection have the values of http.DefaultTransport.
	dialTimeout    = 30 * time.Second
	idleConnection = 90 * time.Second
)

// Poster posts payloads. Make one with [New]; it may be used concurrently.
type Poster struct {
	config    Config
	proxy     func(*http.Request) (*url.URL, error)
	initial   *http.Transport // for the URL of the operator
	redirects *http.Transport // for redirects: only to public addresses, unless Config.Private is set
}

// Config configures a Poster. Agent and Secrets are required. A Timeout of 0 means none, and 0 Conns the default of package http.
type Config struct {
	Agent   string        // the header User-Agent
	Secrets [][]byte      // sign each request: see [ParseSecrets]
	Timeout time.Duration // for a request, its redirects and the answer
	Private bool          // allow redirects to private addresses
	Conns   int           // the maximum number of idle connections
}

// New returns a Poster.
func New(c Config) *Poster { return newPoster(c, http.ProxyFromEnvironment) }

func newPoster(c Config, proxy func(*http.Request) (*url.URL, error)) *Poster {
	p := &Poster{config: c, proxy: proxy, initial: newTransport(proxy, nil, c.Conns)}
	p.redirects = p.initial
	if !c.Private {
		p.redirects = newTransport(nil, onlyPublic, c.Conns) // without a proxy: it would look up names itself
	}
	return p
}

// newTransport returns a transport for use without an http.Client: the errors of a client have the URL of a redirect.
func newTransport(proxy func(*http.Request) (*url.URL, error), control func(network, address string, _ syscall.RawConn) error, conns int) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: control}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: conns, MaxIdleConnsPerHost: conns,
		IdleConnTimeout: idleConnection, TLSHandshakeTimeout: dialTimeout, MaxResponseHeaderBytes: 64 << 10,
	}
}

// Close closes idle connections.
func (p *Poster) Close() {
	p.initial.CloseIdleConnections()
	p.redirects.CloseIdleConnections()
}

// Post posts a job's payload and returns the answer, after redirects that keep the method: 307 and 308. The caller closes its body. The error
// has no part of a URL that may be secret.
func (p *Poster) Post(ctx context.Context, to *url.URL, job jobs.Job, payload []byte) (*http.Response, error) {
	cancel := context.CancelFunc(func() {})
	if timeout := p.config.Timeout; timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	}
	answer, err := p.follow(ctx, to, job, payload)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel()
		return nil, err
	}
	answer.Body = &cancelledBody{answer.Body, cancel}
	return answer, nil
}

func (p *Poster) follow(ctx context.Context, to *url.URL, job jobs.Job, payload []byte) (*http.Response, error) {
	transport := p.initial
	for range mostRedirects + 1 {
		request, err := p.request(ctx, to, job, payload)
		if err != nil {
			return nil, err
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			return nil, p.aboutProxy(request, transport, err)
		}
		if answer.StatusCode != http.StatusTemporaryRedirect && answer.StatusCode != http.StatusPermanentRedirect {
			return answer, nil
		}
		from := to
		to, err = answer.Location()
		switch closed := answer.Body.Close(); {
		case errors.Is(err, http.ErrNoLocation):
			return nil, errors.New("the receiver redirects without a Location")
		case err != nil: // its text has the URL
			return nil, errors.New("the receiver redirects to a Location that is not a URL")
		case closed != nil:
			return nil, closed
		}
		if from.Scheme == "https" && to.Scheme != "https" {
			return nil, errors.New("the receiver redirects from https to another scheme")
		}
		transport = p.redirects
	}
	return nil, fmt.Errorf("the receiver redirects more than %d times", mostRedirects)
}

// aboutProxy adds a hint to the error of a redirect's connection if a proxy is configured: redirects do not use it.
func (p *Poster) aboutProxy(request *http.Request, transport *http.Transport, err error) error {
	if transport == p.initial || errors.As(err, new(notPublicError)) || !errors.As(err, new(*net.OpError)) {
		return err
	}
	if proxy, fault := p.proxy(request); fault != nil || proxy == nil {
		return err
	}
	return fmt.Errorf("%w (a redirect is followed without the proxy: allow it to use the proxy, and private addresses, with --post-private)", err)
}

// request returns a request with the signature of the Standard Webhooks specification. Package http may send it twice, if the receiver
// closes an idle connection at that moment: its id lets the receiver notice that.
func (p *Poster) request(ctx context.Context, to *url.URL, job jobs.Job, payload []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(payload))
	if err != nil { // its text has the URL
		return nil, errors.New("no request can be sent to the URL")
	}
	id, now := job.IdempotencyKey(), time.Now()
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": p.config.Agent,
		headerID: id, headerTime: strconv.FormatInt(now.Unix(), 10), headerSignature: signature(p.config.Secrets, id, now, payload),
		"Sqluice-Job-Id": strconv.FormatInt(job.ID, 10), "Sqluice-Attempt": strconv.Itoa(job.Attempt),
		"Sqluice-Payload-Version": strconv.Itoa(job.PayloadVersion()),
		"Sqluice-Kind":            url.PathEscape(job.Kind), "Sqluice-Queue": url.PathEscape(job.Queue),
	} {
		request.Header.Set(name, value)
	}
	request.Header["Idempotency-Key"] = []string{} // not sent: it allows package http to repeat the request
	if user := to.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	return request, nil
}

// cancelledBody is a body whose Close also ends the context of the request.
type cancelledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
