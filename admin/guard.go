package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/sqluice/sqluice/jobs"
)

// leastToken is the least number of characters of a token: less can be guessed.
const leastToken = 16

// admit refuses requests that may not be served, and returns who asks.
func (h *Handler) admit(r *http.Request) (actor string, err error) {
	if !h.knowsHost(r) {
		return "", &problem{Status: http.StatusForbidden, Code: "host",
			Detail: "this server does not answer to that name: it has to be allowed as one of its hosts"}
	}
	if actor, err = h.authorize(r); err != nil {
		return "", err
	}
	if err := h.checkOrigin(r); err != nil {
		return "", &problem{Status: http.StatusForbidden, Code: "cross-origin", Detail: "another site may not send this: " + err.Error()}
	}
	return actor, nil
}

// checkOrigin refuses what pages of other sites send, reads too: they could not see the answers, but have costly ones made,
// and learn from the time that these take. Only a link may lead here from anywhere.
func (h *Handler) checkOrigin(r *http.Request) error {
	as := *r
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if r.Method == http.MethodGet && !isLink || r.Method == http.MethodHead {
		as.Method = http.MethodPost // which is what is checked
	}
	return h.crossing.Check(&as)
}

// authorize finds out whether somebody asks who may, and who that is.
func (h *Handler) authorize(r *http.Request) (actor string, err error) {
	switch {
	case h.config.Authorize != nil:
		user, err := h.config.Authorize(r)
		if err != nil {
			h.log.Info("a request is refused", "method", r.Method, "path", r.URL.Path, "error", err)
			return "", unauthorized("the credentials are not accepted")
		}
		return actorName(user), nil
	case h.config.Token != "":
		if !sameSecret(credentials(r), h.config.Token) {
			return "", unauthorized("a token is needed")
		}
		return "token", nil
	case !isLocal(r):
		return "", unauthorized("without a token only the machine itself is served")
	}
	return "local", nil
}

// actorName is a user as the notes of changes can have it: a name that they cannot is no reason to refuse what its owner may
// do.
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

// credentials are the bearer token of a request, or the password of its basic authentication.
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

// sameSecret takes the same time whatever the texts are.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// proxies are the header fields, beside X-Forwarded-For and its like, by which proxies and tunnels tell of themselves.
func proxies() []string {
	return []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Host", "X-Envoy-External-Address",
		"True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Cdn-Loop", "Fastly-Client-Ip"}
}

// isLocal reports whether a request comes from the machine itself, and not by way of a proxy on it. A proxy that adds no
// header field cannot be told from any other program of the machine.
func isLocal(r *http.Request) bool {
	for header := range r.Header {
		// An empty one says so too: who asks may have put it before the one that a proxy added.
		if strings.HasPrefix(header, "X-Forwarded") || slices.Contains(proxies(), header) {
			return false
		}
	}
	switch local := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		remote, err := netip.ParseAddrPort(r.RemoteAddr)
		return err == nil && local.IP.IsLoopback() && remote.Addr().Unmap().IsLoopback()
	}
	return false
}

// knowsHost reports whether the handler answers to the name of a request. A site elsewhere can make its own name point
// here, and a browser then takes this server for that site; an address cannot be made to.
func (h *Handler) knowsHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || slices.ContainsFunc(h.config.Hosts, func(known string) bool { return strings.EqualFold(known, host) }) {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	if address.Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap() == address.Unmap()
}
