// Command testservers stops the PostgreSQL that the tests of this checkout
// share. It is harmless when none is running.
package main

import (
	"context"
	"log"
	"time"

	"magpie/internal/testkit"
)

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := testkit.Shutdown(ctx); err != nil {
		log.Fatalf("stop the tests' servers: %v", err)
	}
}
