package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/sqluice/sqluice/jobs"
)

// minTokenLength is the minimum number of characters of a token. Shorter ones can be guessed.
const minTokenLength = 16

// Guard returns a handler that calls next for the requests that h would serve: with the same credentials, hosts and origins.
// It protects other handlers, such as the one of metrics. The path does not matter.
func (h *Handler) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r, ok := h.prepare(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// prepare sets the header fields of every answer, and refuses forbidden requests. It returns an allowed request with the name of the user,
// which the audit log records with each change.
func (h *Handler) prepare(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	actor, err := h.admit(r)
	if err != nil {
		h.refuse(w, r, err)
		return nil, false
	}
	return r.WithContext(jobs.WithActor(r.Context(), actor)), true
}

// admit returns the name of the user of a request, or a problem if the request is forbidden.
func (h *Handler) admit(r *http.Request) (actor string, err error) {
	if !h.knowsHost(r) {
		return "", &problem{Status: http.StatusForbidden, Code: "host", Detail: unknownHost(r.Host)}
	}
	if actor, err = h.authorize(r); err != nil {
		return "", err
	}
	if err := h.checkOrigin(r); err != nil {
		return "", &problem{Status: http.StatusForbidden, Code: "cross-origin", Detail: "another site may not send this: " + err.Error() +
			": behind a proxy, pass the Host header field on; allow another site's pages with --origin or in Config.Origins"}
	}
	return actor, nil
}

func unknownHost(host string) string {
	if host == "" {
		return "the request has no Host header field: send one with a name that --host or Config.Hosts allows"
	}
	return fmt.Sprintf("the request is for the host %q, which this server does not answer to: allow its name with --host or in Config.Hosts; behind a proxy, pass the Host header field on", host)
}

// checkOrigin refuses requests from pages of other sites, also reads: such a page cannot see the answers, but it could cause load and
// measure their times. It allows links from other sites.
func (h *Handler) checkOrigin(r *http.Request) error {
	as := *r
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if r.Method == http.MethodGet && !isLink || r.Method == http.MethodHead {
		as.Method = http.MethodPost // Check allows every GET
	}
	return h.crossOrigin.Check(&as)
}

// authorize returns the name of the user of a request, or a problem if the user may not use the handler.
func (h *Handler) authorize(r *http.Request) (actor string, err error) {
	switch {
	case h.config.Authorize != nil:
		user, err := h.config.Authorize(r)
		if err != nil {
			h.log.Info("refused a request", "method", r.Method, "path", r.URL.Path, "error", err)
			return "", unauthorized("the credentials are not accepted")
		}
		return actorName(user), nil
	case h.config.Token != "":
		if !sameSecret(credentials(r), h.config.Token) {
			return "", unauthorized("a token is needed")
		}
		return "token", nil
	}
	if why := notLocal(r); why != "" {
		return "", unauthorized("without a token only direct requests from this machine are served, and this one " + why +
			": start the server with a token (SQLUICE_TOKEN, --token-file or Config.Token), and send it as a bearer token or as the password")
	}
	return "local", nil
}

// actorName returns a user's name in the form that the audit log accepts: without control characters, short, and not empty.
func actorName(user string) string {
	name := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(user, string(unicode.ReplacementChar))))
	if len(name) == 0 {
		return "unnamed"
	}
	return string(name[:min(len(name), jobs.MaxNameLength)])
}

func unauthorized(detail string) *problem {
	return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Detail: detail}
}

// credentials returns the bearer token of a request, or the password of its basic authentication, or "".
func credentials(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// sameSecret reports whether two secrets are equal, in a time that does not depend on them.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
