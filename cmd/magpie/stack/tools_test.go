package stack_test

import "net/http"

// equip creates an integration with a tool.
func (s *service) equip(name string) (integration, tool string) {
	s.t.Helper()
	made := s.call(http.MethodPost, "/api/v1/tool-integrations", map[string]any{
		"provider": "webhook", "name": "The " + canary + " of " + name, "config": map[string]any{"url": "https://api.example.com"},
	})
	integration, _ = made.data["id"].(string)
	saved := s.call(http.MethodPut, "/api/v1/tool-integrations/"+integration+"/tools", aTool(name))
	tool, _ = saved.data["id"].(string)
	if tool == "" {
		s.t.Fatalf("created: %s\nsaved: %s", made.body, saved.body)
	}
	return integration, tool
}

func aTool(name string) map[string]any {
	return map[string]any{
		"name": "ping", "description": "The " + canary + " of " + name, "method": "GET", "path": "/ping", "input_schema": map[string]any{"type": "object"},
	}
}

// toolIntrusions has one case for each route of integrations with tools.
func toolIntrusions(ada belongings) map[string]intrusion {
	const all, tools = "/api/v1/tool-integrations", "/api/v1/tools/"
	one, tool := all+"/"+ada.tools, tools+ada.tool
	return map[string]intrusion{
		"GET " + all:                         {all, nil, 200},
		"GET " + all + "/providers":          {all + "/providers", nil, 200},
		"POST " + all:                        {all, map[string]any{"provider": "webhook", "name": "Mine", "slug": "mine", "config": map[string]any{"url": "https://api.example.com"}}, 201},
		"GET " + all + "/{id}":               {one, nil, 404},
		"PUT " + all + "/{id}":               {one, map[string]any{"name": "Mine"}, 404},
		"DELETE " + all + "/{id}":            {one, nil, 404},
		"PUT " + all + "/{id}/connection":    {one + "/connection", map[string]any{"credentials": map[string]any{"auth_secret": "mine"}}, 404},
		"DELETE " + all + "/{id}/connection": {one + "/connection", nil, 404},
		"POST " + all + "/{id}/authorize":    {one + "/authorize", map[string]any{}, 404},
		"POST " + all + "/{id}/test":         {one + "/test", nil, 404},
		"POST " + all + "/{id}/refresh":      {one + "/refresh", nil, 404},
		"PUT " + all + "/{id}/tools":         {one + "/tools", aTool("eve"), 404},
		"POST " + all + "/{id}/import":       {one + "/import", map[string]any{"spec": "openapi: 3.0.3"}, 404},
		"PUT /api/v1/tools/{id}":             {tool, map[string]any{"enabled": false}, 404},
		"DELETE /api/v1/tools/{id}":          {tool, nil, 404},
		"POST /api/v1/tools/{id}/accept":     {tool + "/accept", nil, 404},
		"POST /api/v1/tools/{id}/call":       {tool + "/call", map[string]any{"arguments": map[string]any{}, "confirm": true}, 404},
	}
}
