package admin

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// The cookies of the pages. They hold no secret and are not used for authorization.
const (
	flashCookie = "sqluice_flash"
	themeCookie = "sqluice_theme"
)

// maxFlashLength bounds a message, in characters: a cookie has about 4,000 bytes.
const maxFlashLength = 500

// flash is a message about the result of a form. The next page shows it once.
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

// setFlash stores a message for the next page in a cookie.
func (h *Handler) setFlash(w http.ResponseWriter, r *http.Request, f flash) error {
	f.Text = clip(withoutBidi(f.Text), maxFlashLength)
	text, err := json.Marshal(f)
	if err == nil {
		h.setCookie(w, r, flashCookie, base64.RawURLEncoding.EncodeToString(text), time.Minute)
	}
	return err
}

// takeFlash returns the stored message, if any, and deletes its cookie.
func (h *Handler) takeFlash(w http.ResponseWriter, r *http.Request) *flash {
	cookie, err := r.Cookie(flashCookie)
	if err != nil {
		return nil
	}
	h.setCookie(w, r, flashCookie, "", -time.Second)
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	f := &flash{}
	if err != nil || json.Unmarshal(text, f) != nil { // not a cookie of this handler
		return nil
	}
	f.Text = clip(f.Text, maxFlashLength)
	return f
}
