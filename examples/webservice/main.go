// Command webservice is a small shop whose HTTP service and background work live in one process and one SQLite file.
//
// POST /orders writes the order and enqueues the job that ships it in one transaction: there is never one without the
// other. The job's handler writes the shipment and the job's end in one transaction: an order is never shipped twice,
// whatever process dies when. On SIGTERM the service answers what it has begun, lets running jobs finish, and ends.
//
//	go run ./examples/webservice -db shop.db
//	curl -d '{"customer": "Ada", "item": "gears"}' http://127.0.0.1:8080/orders
//	curl http://127.0.0.1:8080/orders/1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	address := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	database := flag.String("db", "shop.db", "SQLite database of the orders and of the queue")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := serve(ctx, *address, *database, log); err != nil {
		log.Error("webservice", "error", err)
		stop()
		os.Exit(1)
	}
}

func serve(ctx context.Context, address, database string, log *slog.Logger) (err error) {
	shop, err := openShop(ctx, database, label, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.close()) }()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	return shop.run(ctx, listener, 10*time.Second)
}
