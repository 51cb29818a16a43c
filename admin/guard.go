package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// leastToken is the least number of characters of a token: less can be guessed.
const leastToken = 16

// admit refuses requests that may not be served.
func (h *Handler) admit(r *http.Request) error {
	if !h.knowsHost(r) {
		return &problem{Status: http.StatusForbidden, Code: "host",
			Detail: "this server does not answer to that name: it has to be allowed as one of its hosts"}
	}
	if err := h.authorize(r); err != nil {
		return err
	}
	if err := h.crossing.Check(r); err != nil {
		return &problem{Status: http.StatusForbidden, Code: "cross-origin", Detail: "another site may not send this: " + err.Error()}
	}
	return nil
}

// authorize finds out whether somebody asks who may.
func (h *Handler) authorize(r *http.Request) error {
	switch {
	case h.config.Authorize != nil:
		if _, err := h.config.Authorize(r); err != nil {
			h.log.Info("a request is refused", "method", r.Method, "path", r.URL.Path, "error", err)
			return unauthorized("the credentials are not accepted")
		}
	case h.config.Token != "":
		if !sameSecret(credentials(r), h.config.Token) {
			return unauthorized("a token is needed")
		}
	case !isLocal(r):
		return unauthorized("without a token only the machine itself is served")
	}
	return nil
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
