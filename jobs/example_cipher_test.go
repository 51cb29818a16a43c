package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// The data of jobs is encrypted before the database gets it. Handlers get it decrypted, and so does a revealed client with the key.
func ExampleWithCipher() {
	ctx := context.Background()
	plain, closeQueue := newClient(ctx)
	defer closeQueue()
	secret := bytes.Repeat([]byte{7}, 32) // from the program's store of secrets
	cipher, err := jobs.NewCipher(jobs.Key{ID: "2026-11", Secret: secret})
	check(err)
	client := jobs.New(plain.Store(), jobs.WithCipher(cipher))

	receipt, err := Thumbnail.Enqueue(ctx, client, Resize{"passport.png", 80})
	check(err)
	job, err := client.Get(ctx, receipt.ID)
	check(err)
	fmt.Println("shown:", string(job.Payload))
	job, err = client.Revealed().Get(ctx, receipt.ID)
	check(err)
	fmt.Println("revealed:", string(job.Payload))
	drain(ctx, client, func(_ context.Context, _ jobs.Job, args Resize) error {
		fmt.Println("handled:", args.Image)
		return nil
	})
	// Output:
	// shown: "[encrypted]"
	// revealed: {"Image":"passport.png","Width":80}
	// handled: passport.png
}

// A program without the key fails the attempt, and loses nothing.
func ExampleNewCipher() {
	_, err := jobs.NewCipher(jobs.Key{ID: "2026-11", Secret: []byte("too short")})
	fmt.Println(err)
	fmt.Println(errors.As(err, new(*jobs.InvalidError)))
	// Output:
	// new cipher: secret of key "2026-11" of 9 bytes must be of 32 bytes
	// true
}
