package admin

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/sqluice/sqluice/internal/newjob"
	"github.com/sqluice/sqluice/jobs"
)

// decode reads the body of a request, one JSON object, into the struct that v points to, with the rules of [newjob.Decode].
func decode(r *http.Request, v any) error {
	if err := noQuery(r); err != nil {
		return err
	}
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil || mediaType != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "media-type", Detail: "the body must be JSON in UTF-8, with the Content-Type application/json"}
	}
	err = newjob.Decode(r.Body, "body", v)
	if invalid := (*jobs.InvalidError)(nil); errors.As(err, &invalid) {
		// Its field has the name of the contract, not of package jobs.
		return invalidProblem(err, fault{invalid.Field, invalid.Value, invalid.Must})
	}
	return err
}

// badBody is the error of a body that cannot be read.
func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return &jobs.InvalidError{Field: "body", Must: "be one JSON document, an object: " + err.Error()}
}
