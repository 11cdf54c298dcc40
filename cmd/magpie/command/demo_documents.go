package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
	"github.com/magpie-search/magpie/cmd/magpie/web/dashboard"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/identity/authn"
)

// Names of what the demo makes.
const (
	demoCollection = "Demo documentation"
	bucketName     = "demo-docs"
	s3Collection   = "Demo documentation (S3)"
	devKeyName     = "Local"
)

// keepDemo syncs the demo documents and makes sure of the keys to them.
func keepDemo(ctx context.Context, api *client.Client, d *stack.Dev, docs string) error {
	say := d.Console()
	var synced client.FolderSync
	if err := say.Step("the demo documents are synced", func() (err error) {
		synced, err = api.SyncFolder(ctx, docs, demoCollection, "auto", nil, reporter{say})
		return err
	}); err != nil {
		return err
	}
	say.Note("  %s", summary(synced.Job))
	return describe(ctx, api, d, synced.Collection)
}

// describe makes sure of keys to a collection, and describes the running stack in dev.json.
func describe(ctx context.Context, api *client.Client, d *stack.Dev, collection uuid.UUID) error {
	secrets, err := devKeys(ctx, api, d, collection)
	if err != nil {
		return err
	}
	return d.Folder().SaveDev(local.Dev{
		BaseURL: d.BaseURL, GraphQLURL: d.BaseURL + "/graphql",
		AdminEmail: secrets.AdminEmail, AdminPassword: secrets.AdminPassword,
		PublishableKey: secrets.PublishableKey, SecretKey: secrets.SecretKey, CollectionID: collection,
	})
}

// devKeys returns the secrets with a pair of keys that reach a collection
// alone: the kept pair while it is valid, else a new one.
func devKeys(ctx context.Context, api *client.Client, d *stack.Dev, collection uuid.UUID) (local.Secrets, error) {
	secrets := d.Secrets
	if secrets.KeyCollection == collection && valid(ctx, d.App.Keys, secrets.PublishableKey) && valid(ctx, d.App.Keys, secrets.SecretKey) {
		return secrets, nil
	}
	created, err := api.CreateKey(ctx, client.Variables{
		"name": devKeyName, "allowedHosts": []string{"localhost", "127.0.0.1"},
		"allowedCollections": []uuid.UUID{collection}, "defaultCollection": collection,
	})
	if err != nil {
		return secrets, err
	}
	secrets.PublishableKey, secrets.SecretKey, secrets.KeyCollection = created.PublishableKey, created.SecretKey, collection
	if err := d.Folder().SaveSecrets(secrets); err != nil {
		return secrets, err
	}
	d.Secrets = secrets
	return secrets, nil
}

func valid(ctx context.Context, keys *authn.Keys, key string) bool {
	if key == "" {
		return false
	}
	_, err := keys.Authenticate(ctx, key)
	return err == nil
}

// address prints where a running Magpie is and how to sign in.
func address(c *console.Console, dev local.Dev) {
	c.Note("")
	inviteBrowser(c, dev.BaseURL)
	c.Note("  GraphQL       %s", dev.GraphQLURL)
	c.Note("  try GraphQL   %s/playground", dev.BaseURL)
	c.Note("  REST          %s/v1 (API key), %s/api/v1 (session)", dev.BaseURL, dev.BaseURL)
	c.Note("  sign in       %s  %s", dev.AdminEmail, dev.AdminPassword)
}

// inviteBrowser prints the address of the dashboard, if the program has it.
func inviteBrowser(c *console.Console, address string) {
	if _, ok := dashboard.Site(); ok {
		c.Note("  Open %s in a browser.", address)
		c.Note("")
	}
}

var errNotReady = errors.New("a Magpie runs and has not written dev.json")

// devOf reads what a running demo stack wrote about itself.
func devOf(folder *local.Folder) (local.Dev, error) {
	dev, found, err := folder.Dev()
	if err == nil && !found {
		err = fmt.Errorf("%w in %s", errNotReady, folder.Path())
	}
	return dev, err
}
