package rest_test

import "strings"

// IDs of agents of the fixture.
const (
	agentID    = "018f0000-0000-8000-8000-00000000a9e7"
	templateID = "00000000-0001-8010-8000-000000000000"
	memoryID   = "018f0000-0000-8000-8000-0000000003e3"
	runID      = "018f0000-0000-8000-8000-00000000040c"
)

// agentRows returns the results of the root fields of agents.
func agentRows() map[string]any {
	agent := object{
		"id": agentID, "name": "Guide", "description": nil, "systemPrompt": "You help.", "tools": []any{"search_documents", "calculate"},
		"collections": []any{collectionID}, "allCollections": false, "startMessage": "Hello!", "model": nil, "toolPolicy": object{"risks": object{"delete": "deny"}}, "createdAt": early, "updatedAt": late,
	}
	template := object{
		"id": templateID, "name": "Research assistant", "description": "Looks into a question.", "category": "research", "systemPrompt": "You research.",
		"tools": []any{"search_documents"}, "startMessage": "What is the question?", "builtIn": true, "createdAt": nil, "updatedAt": nil,
	}
	own := object{
		"id": otherID, "name": "Ours", "description": "", "category": "custom", "systemPrompt": "You help.", "tools": []any{}, "startMessage": nil,
		"builtIn": false, "createdAt": early, "updatedAt": late,
	}
	memory := object{
		"id": memoryID, "agentId": agentID, "kind": "PREFERENCE", "content": "Likes tables.", "importance": 0.5, "shared": false, "runId": runID,
		"recalledAt": late, "createdAt": early, "updatedAt": early,
	}
	return map[string]any{
		"agents": page("end+of/agents", agent), "agent": agent, "createAgent": agent, "updateAgent": agent, "deleteAgent": agentID,
		"agentTemplates": page("", template, own), "agentTemplate": template, "createAgentFromTemplate": agent,
		"agentMemories": page("", memory), "agentMemory": memory, "createAgentMemory": memory, "updateAgentMemory": memory, "deleteAgentMemory": memoryID,
		"searchAgentMemories": []any{object{"memory": memory, "score": 0.75}},
	}
}

// agentExamples returns the requests of the transcripts of agents.
func agentExamples() map[string][]example {
	const agents, agent, templates = "/api/v1/agents", "/api/v1/agents/" + agentID, "/api/v1/agent-templates"
	const memories, memory = agent + "/memories", agent + "/memories/" + memoryID
	return map[string][]example{
		"GET /api/v1/agents": {{target: agents}, {target: agents + "?limit=1"}, {target: agents + "?limit=0"}, {target: agents, bare: true}},
		"POST /api/v1/agents": {
			{target: agents, body: `{"name":"Guide","description":"Helps","systemPrompt":"You help.","tools":["search_documents"],"collections":["` + collectionID + `"],"startMessage":"Hello!","model":"large"}`},
			{target: agents, body: `{"name":"Guide","systemPrompt":"You help.","collections":[],"description":null}`},
			{target: agents, body: `{"systemPrompt":"You help."}`},
			{target: agents, body: `{"name":" ","systemPrompt":"You help."}`},
			{target: agents, body: `{"name":"Guide"}`},
			{target: agents, body: `{"name":"Guide","systemPrompt":"You help.","tools":"calculate"}`},
			{target: agents, body: `{"name":"Guide","systemPrompt":"You help.","tools":["calculate",7]}`},
			{target: agents, body: `{"name":"Guide","systemPrompt":"You help.","collections":["` + collectionID + `","7"]}`},
			{target: agents, body: `{"name":"` + strings.Repeat("ä", 201) + `","systemPrompt":"x"}`},
		},
		"GET /api/v1/agents/{id}": {{target: agent}, {target: agents + "/" + missingID}, {target: agents + "/from-template"}},
		"PUT /api/v1/agents/{id}": {
			{target: agent, body: `{"name":"Other","tools":["calculate"]}`},
			{target: agent, body: `{"description":null,"tools":null,"collections":null,"startMessage":null,"model":null,"name":null,"systemPrompt":null}`},
			{target: agent, body: `{"allCollections":true}`},
			{target: agent, body: `{"toolPolicy":{"risks":{"delete":"deny"}}}`},
			{target: agent},
			{target: agent, body: `{"systemPrompt":""}`},
			{target: agents + "/" + missingID, body: `{"name":"Other"}`},
		},
		"DELETE /api/v1/agents/{id}": {{target: agent}, {target: agents + "/" + missingID}, {target: agents + "/x"}},
		"GET /api/v1/agent-templates": {
			{target: templates}, {target: templates + "?category=research&limit=1"}, {target: templates + "?cursor=AAAA"},
		},
		"GET /api/v1/agent-templates/{id}": {{target: templates + "/" + templateID}, {target: templates + "/" + missingID}, {target: templates + "/x"}},
		"POST /api/v1/agents/from-template/{templateId}": {
			{target: agents + "/from-template/" + templateID},
			{target: agents + "/from-template/" + templateID, body: `{"name":"Ours","collections":["` + collectionID + `"],"tools":[]}`},
			{target: agents + "/from-template/" + templateID, body: `{"name":7}`},
			{target: agents + "/from-template/x"},
		},
		"GET /api/v1/agents/{id}/memories": {
			{target: memories + "?kind=preference&limit=2"}, {target: memories + "?kind=PREFERENCE"}, {target: agents + "/" + missingID + "/memories"},
		},
		"POST /api/v1/agents/{id}/memories": {
			{target: memories, body: `{"kind":"preference","content":"Likes tables.","importance":1,"shared":false}`},
			{target: memories, body: `{"content":"Likes tables."}`},
			{target: memories, body: `{"kind":"rumour","content":"x"}`},
			{target: memories, body: `{"content":" "}`},
			{target: memories, body: `{"content":"` + strings.Repeat("ä", 4001) + `"}`},
			{target: memories, body: `{"content":"x","importance":1.5}`},
			{target: memories, body: `{"content":"x","shared":"no"}`},
			{target: memories},
		},
		"GET /api/v1/agents/{id}/memories/search": {
			{target: memories + "/search?q=how+to+show+numbers&limit=5&kind=preference"}, {target: memories + "/search?q=tables"},
			{target: memories + "/search"}, {target: memories + "/search?q=+"}, {target: memories + "/search?q=x&limit=101"}, {target: memories + "/search?q=x&limit=0"},
		},
		"GET /api/v1/agents/{id}/memories/{memoryId}": {{target: memory}, {target: memories + "/" + missingID}, {target: memories + "/x"}},
		"PUT /api/v1/agents/{id}/memories/{memoryId}": {
			{target: memory, body: `{"importance":0}`}, {target: memory, body: `{"kind":"fact","content":"Likes charts."}`}, {target: memory, body: `{"content":""}`},
			{target: memories + "/" + missingID, body: `{}`},
		},
		"DELETE /api/v1/agents/{id}/memories/{memoryId}": {{target: memory}, {target: memories + "/" + missingID}},
	}
}
