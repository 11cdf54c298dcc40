package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

func TestAnAgentRunsOverHTTPAndOnTheStores(t *testing.T) {
	t.Parallel()
	chats := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"It is ", "forty-two."}, Usage: &[2]int{100, 7}})
	m := stacktest.Start(t, "LLM_BASE_URL", chats.URL, "LLM_API_KEY", "hunter3", "LLM_MODEL", "small")
	over := as(t, m, personalToken(m))
	on := &shell{t: t, flags: []string{"--config", settingsFile(t, m.Settings()...)}}
	over.ok("agents", "create", "Helper", "--prompt", "You help.")
	for name, s := range map[string]*shell{"over HTTP": over, "on the stores": on} {
		o := s.run("agents", "run", "Helper", "How", "much?")
		if o.code != 0 || strings.TrimSpace(o.out) != "It is forty-two." || !strings.Contains(o.err, "conversation ") {
			t.Errorf("%s: %+v", name, o)
		}
		o = s.run("agents", "run", "Helper", "How much?", "--json")
		kinds := ""
		for line := range strings.Lines(o.out) {
			var event struct{ Type string }
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Errorf("%s: %q: %v", name, line, err)
			}
			kinds += event.Type + " "
		}
		if o.code != 0 || !strings.HasPrefix(kinds, "AgentRunStart ") || !strings.HasSuffix(kinds, "AgentRunComplete ") {
			t.Errorf("%s: %s %+v", name, kinds, o)
		}
	}
	if o := over.run("agents", "run", "Helper", "Hello", "--decide"); o.code != 2 {
		t.Errorf("%+v", o)
	}
	on.fails("no such member", "agents", "run", "Helper", "Hello", "--as", "eve@example.com")
}
