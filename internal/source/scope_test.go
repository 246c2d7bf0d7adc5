package source_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/source"
)

func TestScope(t *testing.T) {
	base := source.Config{Root: "s3://pictures", Allow: []string{"a.example", "b.example"}}
	tests := map[string]struct {
		change func(*source.Config)
		same   bool
	}{
		"the order of hosts means nothing":        {func(c *source.Config) { c.Allow = []string{"b.example", "a.example"} }, true},
		"a time limit means nothing":              {func(c *source.Config) { c.TotalTimeout = 1 }, true},
		"another root is another meaning":         {func(c *source.Config) { c.Root = "s3://others" }, false},
		"a host less forbids something":           {func(c *source.Config) { c.Allow = c.Allow[:1] }, false},
		"private networks are another permission": {func(c *source.Config) { c.AllowPrivate = true }, false},
		"another store has other objects":         {func(c *source.Config) { c.S3.Endpoint = "https://store.example" }, false},
		"another region may have the name, too":   {func(c *source.Config) { c.S3.Region = "eu-central-1" }, false},
		"names that run together are told apart":  {func(c *source.Config) { c.Allow = []string{"a.example b.example"} }, false},
		"a bucket in the path is another store's": {func(c *source.Config) { c.S3.PathStyle = true }, false},
		"a secret is not part of it":              {func(c *source.Config) { c.S3.SecretKey = "secret" }, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			changed := base
			tt.change(&changed)
			if same := changed.Scope() == base.Scope(); same != tt.same {
				t.Errorf("the same: %t", same)
			}
		})
	}
}
