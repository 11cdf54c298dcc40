// Command testservers stops the PostgreSQL that the tests of this checkout share, unless a test is using it this moment.
// With -remove it also deletes its data. It is harmless when there is none.
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
	remove := flag.Bool("remove", false, "delete the data too")
	flag.Parse()
	act := testkit.Shutdown
	if *remove {
		act = testkit.Remove
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := act(ctx); err != nil {
		log.Fatalf("stop the tests' servers: %v", err)
	}
}
