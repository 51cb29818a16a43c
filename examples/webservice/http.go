package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs/sqlite"
)

// orderReceipt is the answer to a new order.
type orderReceipt struct {
	order
	Job int64 `json:"job"`
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.postOrder)
	mux.HandleFunc("GET /orders/{id}", s.getOrder)
	return http.NewCrossOriginProtection().Handler(mux)
}

// postOrder writes the order and enqueues its job in one transaction of the shop's own pool.
func (s *shop) postOrder(w http.ResponseWriter, r *http.Request) {
	var o order
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
	body.DisallowUnknownFields()
	if err := body.Decode(&o); err != nil {
		http.Error(w, "the body must be an order as JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !between(o.Customer, 1, 200) || !between(o.Item, 1, 200) || o.ID != 0 || o.Tracking != "" {
		http.Error(w, "customer and item must have 1 to 200 characters each; nothing else can be given", http.StatusBadRequest)
		return
	}
	answer := orderReceipt{order: o}
	ctx := r.Context()
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		if err := insertOrder(ctx, tx, &answer.order); err != nil {
			return err
		}
		receipt, err := shipOrder.Enqueue(ctx, s.client.With(sqlite.Tx(tx)), shipArgs{Order: answer.ID})
		answer.Job = receipt.ID
		return err
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.reply(w, r, http.StatusCreated, answer)
}

func (s *shop) getOrder(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, "an order's id is a number", http.StatusBadRequest)
		return
	}
	o, err := getOrder(r.Context(), s.db, id)
	if errors.Is(err, sql.ErrNoRows) {
		http.Error(w, "no such order", http.StatusNotFound)
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.reply(w, r, http.StatusOK, o)
}

func between(text string, least, most int) bool {
	n := utf8.RuneCountInString(text)
	return utf8.ValidString(text) && n >= least && n <= most
}

func (s *shop) reply(w http.ResponseWriter, r *http.Request, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Warn("answer not sent", "path", r.URL.Path, "error", err)
	}
}

// fail answers without the details, which are for the log.
func (s *shop) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.log.Error("request failed", "path", r.URL.Path, "error", err)
	http.Error(w, "internal error", http.StatusInternalServerError)
}
