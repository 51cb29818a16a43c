package admin

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// The cookies of the pages. They hold nothing secret and prove nothing.
const (
	flashCookie = "sqluice_flash"
	themeCookie = "sqluice_theme"
)

// mostFlash is how long a message may be: a cookie has some four thousand bytes.
const mostFlash = 500

// flash is what the next page says of what a form has done.
type flash struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

func (h *Handler) setCookie(w http.ResponseWriter, r *http.Request, name, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: h.config.Prefix + "/", MaxAge: int(age / time.Second), HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// leaveFlash keeps a message for the next page.
func (h *Handler) leaveFlash(w http.ResponseWriter, r *http.Request, f flash) error {
	f.Text = clip(straight(f.Text), mostFlash)
	text, err := json.Marshal(f)
	if err == nil {
		h.setCookie(w, r, flashCookie, base64.RawURLEncoding.EncodeToString(text), time.Minute)
	}
	return err
}

// takeFlash is the message that was left, which is shown once.
func (h *Handler) takeFlash(w http.ResponseWriter, r *http.Request) *flash {
	cookie, err := r.Cookie(flashCookie)
	if err != nil {
		return nil
	}
	h.setCookie(w, r, flashCookie, "", -time.Second)
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	f := &flash{}
	if err != nil || json.Unmarshal(text, f) != nil { // somebody else's
		return nil
	}
	f.Text = clip(f.Text, mostFlash)
	return f
}
