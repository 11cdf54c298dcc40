package graph_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/graph"
)

// A trial is an attempt to read or change rows of another workspace.
type trial struct {
	query     string
	variables map[string]any
	// code is the expected error; empty for an answer that must not contain anything of
	// the owner's.
	code string
}

// trials returns a case for each root field, by eve with the ids of ada.
func trials(ada *tenant) map[string]trial {
	all := ownTrials(ada)
	maps.Copy(all, agentTrials(ada))
	maps.Copy(all, inboundTrials(ada))
	maps.Copy(all, automationTrials(ada))
	maps.Copy(all, toolTrials(ada))
	maps.Copy(all, approvalTrials(ada))
	maps.Copy(all, databaseTrials(ada))
	return all
}

func ownTrials(ada *tenant) map[string]trial {
	id := func(name string, v any) map[string]any { return map[string]any{name: v} }
	page := "{ edges { node { id } } totalCount }"
	return map[string]trial{
		"Query.node":           {"query($i: ID!) { node(id: $i) { id } }", id("i", ada.document), "not_found"},
		"Query.nodes":          {"query($i: [ID!]!) { nodes(ids: $i) { id } }", id("i", []any{ada.document, ada.collection}), "not_found"},
		"Query.me":             {"{ me { user { email } workspace { name } role } }", nil, ""},
		"Query.collections":    {"{ collections " + page + " }", nil, ""},
		"Query.collection":     {"query($i: ID!) { collection(id: $i) { name stats { documentCount } } }", id("i", ada.collection), "not_found"},
		"Query.connectors":     {"query($i: ID!) { connectors(collectionId: $i) " + page + " }", id("i", ada.collection), ""},
		"Query.connector":      {"query($i: ID!) { connector(id: $i) { name config } }", id("i", ada.connector), "not_found"},
		"Query.connectorKinds": {"{ connectorKinds { name } }", nil, ""},
		"Query.sourceFiles":    {"query($i: ID!) { sourceFiles(connectorId: $i) " + page + " }", id("i", ada.connector), "not_found"},
		"Query.documents":      {"query($i: ID!) { documents(connectorId: $i) " + page + " }", id("i", ada.connector), ""},
		"Query.passage":        {"query($i: ID!) { passage(id: $i) { passage { text } document { title } } }", id("i", ada.passage), "not_found"},
		"Query.document":       {"query($i: ID!) { document(id: $i) { title content summary } }", id("i", ada.document), "not_found"},
		"Query.syncJob":        {"query($i: ID!) { syncJob(id: $i) { status } }", id("i", ada.job), "not_found"},
		"Query.syncJobs":       {"query($i: ID!) { syncJobs(connectorId: $i) " + page + " }", id("i", ada.connector), "not_found"},
		"Query.syncItems":      {"query($i: ID!) { syncItems(connectorId: $i) " + page + " }", id("i", ada.connector), "not_found"},
		"Query.search": {"query($i: ID!) { search(input: {query: \"xylophone\", collection: $i, minScore: 0}) { results { title snippet } } }",
			id("i", ada.collection), "not_found"},
		"Query.searchFacets": {"query($i: ID!) { searchFacets(input: {filters: {collections: [$i]}}) { documents values { value label } } }",
			id("i", ada.collection), "not_found"},
		"Query.completions":       {"query($i: ID!) { completions(q: \"gui\", collectionId: $i) { completions titles { title } } }", id("i", ada.collection), "not_found"},
		"Query.searchSuggestions": {"query($i: ID!) { searchSuggestions(prefix: \"gui\", collectionId: $i) { text documentId } }", id("i", ada.collection), "not_found"},
		"Query.searchWhyNot": {"query($i: String!) { searchWhyNot(input: {query: \"xylophone\", document: $i, minScore: 0}) { documentId title place itemStatus } }",
			id("i", ada.document.String()), ""},
		"Query.conversations":      {"{ conversations(matching: \"answer\") { edges { node { id title messageCount } } totalCount } }", nil, ""},
		"Query.exportConversation": {"query($i: ID!) { exportConversation(id: $i) { content } }", id("i", ada.talk), "not_found"},
		"Query.conversation":       {"query($i: ID!) { conversation(id: $i) { title messages(first: 5) " + page + " } }", id("i", ada.talk), "not_found"},
		"Query.apiKey":             {"query($i: ID!) { apiKey(id: $i) { name status secretHint } }", id("i", ada.key), "not_found"},
		"Query.usage":              {"{ usage { queries limit remaining } }", nil, ""},
		"Query.chatModels":         {"{ chatModels { name isDefault } }", nil, ""},
		"Query.embeddingModels":    {"{ embeddingModels { name dimensions isDefault } }", nil, ""},
		"Query.limits":             {"{ limits { uploadFileBytes uploadFiles } }", nil, ""},
		"Query.apiKeys":            {"{ apiKeys { edges { node { id name } } totalCount } }", nil, ""},
		"Query.runs":               {"query($i: ID!) { runs(agentId: $i) { edges { node { id answer } } totalCount } }", id("i", ada.agent), "not_found"},
		"Query.run":                {"query($i: ID!) { run(id: $i) { answer message events { data } } }", id("i", ada.run), "not_found"},
		"Query.queryAnalytics": {"query($i: ID!) { queryAnalytics(collectionId: $i) { totals { searches } topQueries { query } } }",
			id("i", ada.collection), "not_found"},
		"Query.searchQuality":          {"query($i: ID!) { searchQuality(collectionId: $i) { questionCount questions { query } } }", id("i", ada.collection), "not_found"},
		"Query.searchQualityDocuments": {"query($i: ID!) { searchQualityDocuments(collectionId: $i, query: \"xylophone\") { documentId title } }", id("i", ada.collection), "not_found"},
		"Query.goldenQuestions":        {"query($i: ID!) { goldenQuestions(collectionId: $i) { query documents { documentId title } } }", id("i", ada.collection), "not_found"},
		"Mutation.judgeDocument": {"mutation($i: ID!, $d: ID!) { judgeDocument(input: {collectionId: $i, query: \"xylophone\", documentId: $d, grade: 3}) { query documents { title } } }",
			map[string]any{"i": ada.collection, "d": ada.document}, "not_found"},
		"Mutation.removeGoldenQuestion": {"mutation($i: ID!) { removeGoldenQuestion(collectionId: $i, query: \"xylophone\") }", id("i", ada.collection), "not_found"},
		"Mutation.measureSearchQuality": {"mutation($i: ID!) { measureSearchQuality(input: {collectionId: $i}) { questionCount questions { query } } }", id("i", ada.collection), "not_found"},
		"Query.whyVisible":              {"query($i: ID!) { whyVisible(documentId: $i, user: \"ada@example.com\") { visible rule } }", id("i", ada.document), "not_found"},
		"Query.documentReaders":         {"query($i: ID!) { documentReaders(documentId: $i) { mode readers { id } } }", id("i", ada.document), "not_found"},
		"Query.documentRestrictions":    {"query($i: ID!) { documentRestrictions(connectorId: $i) { totalCount edges { node { documentId readers { id } } } } }", id("i", ada.connector), ""},
		"Mutation.restrictDocument":     {"mutation($i: ID!) { restrictDocument(id: $i, input: {users: [\"eve@example.com\"]}) { mode restriction { readers { id } } } }", id("i", ada.document), "not_found"},
		"Mutation.unrestrictDocument":   {"mutation($i: ID!) { unrestrictDocument(id: $i) { mode } }", id("i", ada.document), "not_found"},
		"Query.auditLog": {"query($i: ID!) { auditLog(filter: {targetId: $i}) { edges { node { id action targetName actorName } } totalCount } }",
			id("i", ada.collection), ""},

		"Query.signUpAllowed":     {"{ signUpAllowed }", nil, ""},
		"Query.mySessions":        {"{ mySessions { id workspaceId current } }", nil, ""},
		"Query.myWorkspaces":      {"{ myWorkspaces { id name role } }", nil, ""},
		"Query.members":           {"{ members { edges { node { id role user { email } } } totalCount } }", nil, ""},
		"Query.member":            {"query($i: ID!) { member(id: $i) { role user { email } } }", id("i", ada.member), "not_found"},
		"Query.invitations":       {"{ invitations { edges { node { id email } } totalCount } }", nil, ""},
		"Query.invitation":        {"query($i: ID!) { invitation(id: $i) { email status } }", id("i", ada.invitation), "not_found"},
		"Query.invitationOfToken": {"{ invitationOfToken(token: \"guess\") { workspace email } }", nil, "not_found"},

		"Mutation.signUp":              {"mutation { signUp(input: {workspace: \"Mine\", name: \"Eve\", email: \"eve2@example.com\", password: \"guess guess guess\"}) { accessToken } }", nil, "forbidden"},
		"Mutation.signOutEverywhere":   {"mutation { signOutEverywhere }", nil, ""},
		"Mutation.endSession":          {"mutation($i: ID!) { endSession(id: $i) }", id("i", ada.viewer.Session), "not_found"},
		"Mutation.changePassword":      {"mutation { changePassword(input: {currentPassword: \"guess\", newPassword: \"guess guess guess\"}) }", nil, "invalid_credentials"},
		"Mutation.resetPassword":       {"mutation { resetPassword(input: {token: \"guess\", password: \"guess guess guess\"}) { accessToken } }", nil, "not_found"},
		"Mutation.updateProfile":       {"mutation { updateProfile(input: {name: \"Eve\"}) { id name } }", nil, ""},
		"Mutation.switchWorkspace":     {"mutation($i: ID!) { switchWorkspace(id: $i) { accessToken } }", id("i", ada.viewer.Workspace), "not_found"},
		"Mutation.createWorkspace":     {"mutation { createWorkspace(input: {name: \"Mine\"}) { id } }", nil, "forbidden"},
		"Mutation.inviteMember":        {"mutation { inviteMember(input: {email: \"new@example.com\", role: EDITOR}) { invitation { email status } url } }", nil, ""},
		"Mutation.resendInvitation":    {"mutation($i: ID!) { resendInvitation(id: $i) { token } }", id("i", ada.invitation), "not_found"},
		"Mutation.revokeInvitation":    {"mutation($i: ID!) { revokeInvitation(id: $i) { id } }", id("i", ada.invitation), "not_found"},
		"Mutation.acceptInvitation":    {"mutation { acceptInvitation(input: {token: \"guess\"}) { accessToken } }", nil, "not_found"},
		"Mutation.updateMember":        {"mutation($i: ID!) { updateMember(id: $i, input: {role: VIEWER}) { id } }", id("i", ada.member), "not_found"},
		"Mutation.removeMember":        {"mutation($i: ID!) { removeMember(id: $i) }", id("i", ada.member), "not_found"},
		"Mutation.createPasswordReset": {"mutation($i: ID!) { createPasswordReset(memberId: $i) { token } }", id("i", ada.member), "not_found"},
		"Mutation.leaveWorkspace":      {"mutation { leaveWorkspace }", nil, "conflict"},
		"Mutation.updateWorkspace":     {"mutation { updateWorkspace(input: {name: \"Eve's\"}) { id name } }", nil, ""},
		"Mutation.deleteWorkspace":     {"mutation { deleteWorkspace(input: {name: \"ada\"}) }", nil, "invalid_request"},
		"Query.oauthProviders":         {"{ oauthProviders { name configured } }", nil, ""},
		"Query.oauthGrants":            {"{ oauthGrants { edges { node { id account personId } } totalCount } }", nil, ""},
		"Query.signInMethods":          {"{ signInMethods { password oidc { issuer } saml { name } } }", nil, ""},

		"Mutation.startOAuth":       {"mutation($i: ID!) { startOAuth(input: {provider: \"google\", connectorId: $i}) { authorizationUrl } }", id("i", ada.connector), "not_found"},
		"Mutation.finishOAuth":      {"mutation { finishOAuth(input: {provider: \"google\", state: \"guess\", code: \"guess\"}) { grantId } }", nil, "invalid_request"},
		"Mutation.revokeOAuthGrant": {"mutation($i: ID!) { revokeOAuthGrant(id: $i) }", id("i", ada.grant), "not_found"},
		"Mutation.startSAMLSignIn":  {"mutation { startSAMLSignIn { authorizationUrl } }", nil, "invalid_request"},
		"Mutation.answerSAMLSignIn": {"mutation { answerSAMLSignIn(input: {response: \"guess\", relayState: \"guess\"}) { code } }", nil, "invalid_request"},
		"Mutation.finishSAMLSignIn": {"mutation { finishSAMLSignIn(code: \"guess\", binding: \"guess\") { accessToken } }", nil, "invalid_request"},
		"Mutation.startOIDCSignIn":  {"mutation { startOIDCSignIn { authorizationUrl } }", nil, "invalid_request"},
		"Mutation.answerOIDCSignIn": {"mutation { answerOIDCSignIn(input: {state: \"guess\", code: \"guess\"}) { code } }", nil, "invalid_request"},
		"Mutation.finishOIDCSignIn": {"mutation { finishOIDCSignIn(code: \"guess\", binding: \"guess\") { accessToken } }", nil, "invalid_request"},

		"Mutation.signIn":                 {"mutation($e: String!) { signIn(input: {email: $e, password: \"guess guess guess\"}) { accessToken } }", id("e", ada.email), "invalid_credentials"},
		"Mutation.refreshSession":         {"mutation { refreshSession(refreshToken: \"guess\") { accessToken } }", nil, "unauthorized"},
		"Mutation.signOut":                {"mutation { signOut }", nil, ""},
		"Mutation.createCollection":       {"mutation { createCollection(input: {name: \"Mine\"}) { id name stats { documentCount } } }", nil, ""},
		"Mutation.updateCollection":       {"mutation($i: ID!) { updateCollection(id: $i, input: {name: \"Mine\"}) { id } }", id("i", ada.collection), "not_found"},
		"Mutation.deleteCollection":       {"mutation($i: ID!) { deleteCollection(id: $i) }", id("i", ada.collection), "not_found"},
		"Mutation.refreshCollectionStats": {"mutation($i: ID!) { refreshCollectionStats(id: $i) { documentCount } }", id("i", ada.collection), "not_found"},
		"Mutation.createConnector":        {"mutation($i: ID!) { createConnector(input: {name: \"x\", type: \"file_upload\", collection: $i}) { id } }", id("i", ada.collection), "not_found"},
		"Mutation.updateConnector":        {"mutation($i: ID!) { updateConnector(id: $i, input: {name: \"x\"}) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.pauseConnector":         {"mutation($i: ID!) { pauseConnector(id: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.resumeConnector":        {"mutation($i: ID!) { resumeConnector(id: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.deleteConnector":        {"mutation($i: ID!) { deleteConnector(id: $i) }", id("i", ada.connector), "not_found"},
		"Mutation.testConnector":          {"mutation($i: ID!) { testConnector(id: $i) { ok } }", id("i", ada.connector), "not_found"},
		"Mutation.testConnection":         {"mutation { testConnection(input: {type: \"file_upload\"}) { ok } }", nil, ""},
		"Mutation.uploadFiles":            {"mutation($i: ID!) { uploadFiles(connectorId: $i, files: []) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.deleteFiles":            {"mutation($i: ID!) { deleteFiles(connectorId: $i, paths: [\"guide.md\"]) }", id("i", ada.connector), "not_found"},
		"Mutation.deleteDocument":         {"mutation($i: ID!, $c: ID!) { deleteDocument(id: $i, connectorId: $c) }", map[string]any{"i": ada.document, "c": ada.connector}, "not_found"},
		"Mutation.startSync":              {"mutation($i: ID!) { startSync(connectorId: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.retryItems":             {"mutation($i: ID!) { retryItems(connectorId: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.allowItem":              {"mutation($i: ID!) { allowItem(id: $i) { id path } }", id("i", ada.item), "not_found"},
		"Mutation.refreshPermissions":     {"mutation($i: ID!) { refreshPermissions(connectorId: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.cancelSync":             {"mutation($i: ID!) { cancelSync(jobId: $i) { id } }", id("i", ada.job), "not_found"},
		"Query.syncPlan":                  {"query($i: ID!) { syncPlan(jobId: $i) { counts { added } items(first: 5) { edges { node { path } } } } }", id("i", ada.plan), "not_found"},
		"Query.quarantinedDocuments":      {"query($i: ID!) { quarantinedDocuments(connectorId: $i) " + page + " }", id("i", ada.connector), "not_found"},
		"Mutation.planSync":               {"mutation($i: ID!) { planSync(connectorId: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.approveDeletion":        {"mutation($i: ID!) { approveDeletion(connectorId: $i) { id } }", id("i", ada.connector), "not_found"},
		"Mutation.dismissDeletion":        {"mutation($i: ID!) { dismissDeletion(connectorId: $i) { documents } }", id("i", ada.connector), "not_found"},
		"Mutation.restoreDocument":        {"mutation($i: ID!, $c: ID!) { restoreDocument(id: $i, connectorId: $c) { id } }", map[string]any{"i": ada.document, "c": ada.connector}, "not_found"},
		"Mutation.restoreDeletions":       {"mutation($i: ID!, $c: ID!) { restoreDeletions(jobId: $i, connectorId: $c) { id } }", map[string]any{"i": ada.job, "c": ada.connector}, "not_found"},
		"Mutation.createAPIKey": {"mutation($i: [ID!]!) { createAPIKey(input: {name: \"x\", allowedHosts: [\"*\"], allowedCollections: $i}) { secretKey } }",
			id("i", []any{ada.collection}), "not_found"},
		"Mutation.updateAPIKey": {"mutation($i: ID!) { updateAPIKey(id: $i, input: {name: \"Mine\"}) { id name } }", id("i", ada.key), "not_found"},
		"Mutation.rotateAPIKey": {"mutation($i: ID!) { rotateAPIKey(id: $i) { secretKey } }", id("i", ada.key), "not_found"},
		"Mutation.revokeAPIKey": {"mutation($i: ID!) { revokeAPIKey(id: $i) { id } }", id("i", ada.key), "not_found"},

		"Query.myTokens":               {"{ myTokens { id name hint } }", nil, ""},
		"Query.tokens":                 {"{ tokens { edges { node { id name userId } } totalCount } }", nil, ""},
		"Mutation.createPersonalToken": {"mutation { createPersonalToken(input: {name: \"Mine\"}) { secret } }", nil, ""},
		"Mutation.answerLogin":         {answerLogin + ` token: {name: "Mine"}}) { redirectUrl } }`, nil, ""},
		"Mutation.createServiceToken":  {"mutation { createServiceToken(input: {name: \"Mine\", role: ADMIN, groups: [SEARCH]}) { secret } }", nil, ""},
		"Mutation.revokeToken":         {"mutation($i: ID!) { revokeToken(id: $i) { id name } }", id("i", ada.token), "not_found"},

		"Mutation.renameConversation":  {"mutation($i: ID!) { renameConversation(id: $i, title: \"Mine\") { id title } }", id("i", ada.talk), "not_found"},
		"Mutation.deleteConversation":  {"mutation($i: ID!) { deleteConversation(id: $i) }", id("i", ada.talk), "not_found"},
		"Mutation.deleteConversations": {"mutation { deleteConversations }", nil, ""},
		"Mutation.setFeedback": {"mutation($i: ID!) { setFeedback(messageId: $i, input: {rating: NEGATIVE, comment: \"mine\"}) { rating } }",
			id("i", ada.message), "not_found"},
		"Mutation.removeFeedback": {"mutation($i: ID!) { removeFeedback(messageId: $i) }", id("i", ada.message), "not_found"},

		"Mutation.recordEvents": {"mutation($i: ID!) { recordEvents(input: {event: {type: CLICK, requestId: \"ada\", documentId: $i}}) { accepted } }",
			id("i", ada.document), "forbidden"},
		"Mutation.recordVisitorEvent": {"mutation($i: ID!) { recordVisitorEvent(input: {type: CLICK, requestId: \"3f0d5ac8-62a1-4f0e-9a77-0a4c1c1d9b11\", documentId: $i}) { accepted } }",
			id("i", ada.document), "forbidden"},

		"Subscription.syncProgress":   {"subscription($i: ID!) { syncProgress(jobId: $i) { status } }", id("i", ada.job), "not_found"},
		"Subscription.connectorSync":  {"subscription($i: ID!) { connectorSync(connectorId: $i) { job { status } } }", id("i", ada.connector), "not_found"},
		"Subscription.documentStatus": {"subscription($i: ID!) { documentStatus(collectionId: $i) { documents { title } } }", id("i", ada.collection), "not_found"},
		"Subscription.chatResume":     {"subscription($i: ID!) { chatResume(answerId: $i) { __typename } }", id("i", ada.answer), "not_found"},
		"Mutation.stopChat":           {"mutation($i: ID!) { stopChat(answerId: $i) }", id("i", ada.answer), "not_found"},
		"Mutation.cancelRun":          {"mutation($i: ID!) { cancelRun(id: $i) { id status } }", id("i", ada.run), "not_found"},
		"Subscription.runAgent":       {"subscription($i: ID!) { runAgent(input: {agentId: $i, message: \"xylophone\"}) { __typename } }", id("i", ada.agent), "not_found"},
		"Subscription.agentRun":       {"subscription($i: ID!) { agentRun(runId: $i) { __typename ... on AgentContent { content } } }", id("i", ada.run), "not_found"},
		"Subscription.chat": {"subscription($i: ID!) { chat(input: {message: \"What is the secret word?\", conversationId: $i}) { __typename } }",
			id("i", ada.talk), "not_found"},
	}
}

// rootFields lists the schema's root fields by reflection.
func rootFields(schema *ast.Schema) []string {
	var names []string
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		for _, f := range root.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				names = append(names, root.Name+"."+f.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestEveryRootFieldHasATwoTenantCase(t *testing.T) {
	t.Parallel()
	fields := rootFields(graph.NewSchema(&graph.Resolver{}).Schema())
	cases := slices.Sorted(maps.Keys(trials(&tenant{})))
	if !slices.Equal(fields, cases) {
		t.Errorf("the schema has the root fields\n%v\nand there are cases for\n%v", fields, cases)
	}
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func TestAnotherWorkspaceGetsNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	ran := 0
	run := func(name string, try trial) {
		got := h.ask(t, eve.viewer, try.query, try.variables)
		ran++
		if got.code() != try.code {
			t.Errorf("%s: the code is %q, not %q: %s", name, got.code(), try.code, got.body)
		}
		for _, secret := range []string{"ada", ada.collection.String(), ada.connector.String(), ada.job.String(), ada.key.String(), ada.talk.String(), ada.grant.String(), ada.integration.String(), ada.automation.String(), ada.automated.String(), ada.inbound.String(), ada.tools.String(), ada.tool.String(), ada.viewer.Workspace.String(),
			ada.agent.String(), ada.template.String(), ada.memory.String(), ada.run.String(), ada.approval.String(), ada.allowed.String()} {
			body := got.body
			if secret == "ada" {
				body = anyID.ReplaceAllString(body, "") // whose digits may say so by chance
			}
			if strings.Contains(body, secret) {
				t.Errorf("%s: the answer contains %q: %s", name, secret, got.body)
			}
		}
	}
	all := trials(ada)
	for name, try := range all {
		if !strings.HasPrefix(name, "Mutation.signOut") { // the session is needed by the others
			run(name, try)
		}
	}
	run("Mutation.signOut", all["Mutation.signOut"])
	run("Mutation.signOutEverywhere", all["Mutation.signOutEverywhere"])
	if want := len(rootFields(graph.NewSchema(h.resolver).Schema())); ran != want {
		t.Errorf("%d cases were run for %d root fields", ran, want)
	}
	got := h.ask(t, ada.viewer, "query($i: ID!) { document(id: $i) { title content collectionName source } }", map[string]any{"i": ada.document})
	if got.at("document.title") != "Guide of ada" || !strings.Contains(got.body, "xylophone") || got.at("document.source") != "file_upload" {
		t.Errorf("ada's own document: %s", got.body)
	}
}

func TestNobodyGetsNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	anonymous := ada.viewer
	anonymous.Kind = "anonymous"
	open := anonymousFields()
	for name, try := range trials(ada) {
		if slices.Contains(open, name) {
			continue
		}
		zero := anonymous
		zero.Kind = ""
		if got := h.ask(t, zero, try.query, try.variables); got.code() != "unauthorized" {
			t.Errorf("%s without a viewer: %s", name, got.body)
		}
		if got := h.ask(t, anonymous, try.query, try.variables); got.code() != "unauthorized" {
			t.Errorf("%s without credentials: %s", name, got.body)
		}
	}
}

// anonymousFields returns the root fields that anonymous callers may use.
func anonymousFields() []string {
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	var names []string
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		for _, f := range root.Fields {
			if d := f.Directives.ForName("surface"); d != nil && d.Arguments.ForName("anonymous") != nil && d.Arguments.ForName("anonymous").Value.Raw == "true" {
				names = append(names, root.Name+"."+f.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestAnonymousCallersHaveFewFields(t *testing.T) {
	t.Parallel()
	want := []string{"Mutation.acceptInvitation", "Mutation.answerOIDCSignIn", "Mutation.answerSAMLSignIn", "Mutation.finishOAuth", "Mutation.finishOIDCSignIn",
		"Mutation.finishSAMLSignIn", "Mutation.refreshSession", "Mutation.resetPassword", "Mutation.signIn", "Mutation.signUp", "Mutation.startOIDCSignIn",
		"Mutation.startSAMLSignIn", "Query.invitationOfToken", "Query.signInMethods", "Query.signUpAllowed"}
	if got := anonymousFields(); !slices.Equal(got, want) {
		t.Errorf("anonymous callers have %v", got)
	}
}

func TestEveryRootFieldNamesItsSurface(t *testing.T) {
	t.Parallel()
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	public := []string{}
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		for _, f := range root.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			d := f.Directives.ForName("surface")
			if d == nil {
				t.Errorf("%s.%s has no @surface", root.Name, f.Name)
				continue
			}
			for _, on := range d.Arguments.ForName("on").Value.Children {
				if on.Value.Raw == "PUBLIC" {
					public = append(public, f.Name)
				}
			}
			if root == schema.Mutation && f.Directives.ForName("role") == nil && d.Arguments.ForName("anonymous") == nil && f.Name != "recordEvents" && f.Name != "recordVisitorEvent" {
				t.Errorf("the mutation %s names no role", f.Name)
			}
		}
	}
	if !slices.Equal(public, []string{"search", "completions", "recordEvents", "recordVisitorEvent", "chat"}) {
		t.Errorf("the public surface is %v", public)
	}
}
