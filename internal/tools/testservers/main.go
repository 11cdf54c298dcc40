// Command testservers stops the shared PostgreSQL of this checkout's tests unless a test is using it. With -remove it stops
// it in any case and deletes its data. It does nothing when there is none.
package main

import (
	"context"
	"flag"
	"log"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
)

func main() {
	log.SetFlags(0)
	remove := flag.Bool("remove", false, "stop it even when in use, and delete its data")
	flag.Parse()
	stop := testkit.Shutdown
	if *remove {
		stop = testkit.Remove
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := stop(ctx); err != nil {
		log.Fatalf("stop the test servers: %v", err)
	}
}
