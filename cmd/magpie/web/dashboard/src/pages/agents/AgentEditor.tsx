import { Button, Group, Loader, MultiSelect, Select, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import {
  type AgentFieldsFragment,
  AgentsChoicesDocument,
  AgentsCreateDocument,
  AgentsCreateFromTemplateDocument,
  AgentsOneDocument,
  AgentsTemplateDocument,
  AgentsUpdateDocument,
  type AgentTemplateFieldsFragment,
} from './agents.gql';
import { cleanPolicy, PolicyFields, type ToolPolicy } from './PolicyFields';
import { PromptField } from './PromptField';
import { ToolPicker } from './ToolPicker';

const newRoute = getRouteApi('/shell/agents/new');
const editRoute = getRouteApi('/shell/agents/$agentId/edit');

// NewAgentPage makes an agent, from a template or from scratch.
export function NewAgentPage() {
  const { template } = newRoute.useSearch();
  const [{ data, error }] = useQuery({ query: AgentsTemplateDocument, variables: { id: template ?? '' }, pause: !template });
  const above = [{ label: t('agents.title'), to: '/agents' }];
  const isReady = !template || data || error;
  return (
    <Page title={t('agents.new')} above={above} narrow>
      {error && <ProblemNotice error={error} />}
      {isReady ? (
        <AgentForm agent={null} template={data?.agentTemplate ?? null} />
      ) : (
        <Loader role="status" aria-label={t('common.loading')} />
      )}
    </Page>
  );
}

// EditAgentPage changes an agent.
export function EditAgentPage() {
  const { agentId } = editRoute.useParams();
  const [{ data, error }, again] = useQuery({ query: AgentsOneDocument, variables: { id: agentId } });
  const name = data?.agent.name ?? '';
  const above = [
    { label: t('agents.title'), to: '/agents' },
    { label: name, to: `/agents/${agentId}` },
  ];
  return (
    <Page title={t('common.edit')} above={above} narrow>
      {error && !data && <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {data && <AgentForm key={data.agent.id} agent={data.agent} template={null} />}
    </Page>
  );
}

function AgentForm({ agent, template }: { agent: AgentFieldsFragment | null; template: AgentTemplateFieldsFragment | null }) {
  const isEditor = useMay('EDITOR');
  const navigate = useNavigate();
  const start = agent ?? template;
  const [name, setName] = useState(start?.name ?? '');
  const [description, setDescription] = useState(start?.description ?? '');
  const [systemPrompt, setSystemPrompt] = useState(start?.systemPrompt ?? '');
  const [tools, setTools] = useState(start?.tools ?? ['search_documents', 'get_document']);
  const [isAll, setAll] = useState(agent?.allCollections ?? true);
  const [collections, setCollections] = useState(agent?.collections ?? []);
  const [startMessage, setStartMessage] = useState(start?.startMessage ?? '');
  const [model, setModel] = useState(agent?.model ?? null);
  const [policy, setPolicy] = useState<ToolPolicy>((agent?.toolPolicy as ToolPolicy | undefined) ?? {});
  const [{ data }] = useQuery({ query: AgentsChoicesDocument });
  const create = useAction(AgentsCreateDocument, { success: t('common.saved'), quiet: true });
  const instance = useAction(AgentsCreateFromTemplateDocument, { success: t('common.saved'), quiet: true });
  const update = useAction(AgentsUpdateDocument, { success: t('common.saved'), quiet: true });
  const error = create.error ?? instance.error ?? update.error;
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const reach = isAll ? { allCollections: true } : { collections };
    const fields = { name, systemPrompt, tools, ...reach };
    const toolPolicy = cleanPolicy(policy);
    let id: string | undefined;
    if (agent) {
      const saved = await update.run({
        id: agent.id,
        input: { ...fields, description: description || null, startMessage: startMessage || null, model, toolPolicy },
      });
      id = saved?.updateAgent.id;
    } else if (template && Object.keys(toolPolicy).length === 0) {
      const saved = await instance.run({
        templateId: template.id,
        input: { ...fields, description, startMessage, model: model ?? undefined },
      });
      id = saved?.createAgentFromTemplate.id;
    } else {
      const saved = await create.run({
        input: { ...fields, description: description || null, startMessage: startMessage || null, model, toolPolicy },
      });
      id = saved?.createAgent.id;
    }
    if (!id) return;
    await navigate({ to: `/agents/${id}` });
  };
  const models = data?.chatModels ?? [];
  const choices = (data?.collections.edges ?? []).flatMap((edge) => (edge?.node ? [{ value: edge.node.id, label: edge.node.name }] : []));
  const usual = models.find(({ isDefault }) => isDefault)?.name;
  return (
    <form ref={form} onSubmit={submit}>
      <fieldset disabled={!isEditor} style={{ border: 0, margin: 0, padding: 0, minWidth: 0 }}>
        <Stack>
          {error && <ProblemNotice error={error} />}
          <TextInput
            label={t('common.name')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
            maxLength={200}
            error={fieldError(error, 'name')}
          />
          <Textarea
            label={t('common.description')}
            description={t('agents.descriptionHelp')}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            maxLength={4000}
            autosize
            minRows={2}
            error={fieldError(error, 'description')}
          />
          <PromptField value={systemPrompt} onChange={setSystemPrompt} error={fieldError(error, 'systemPrompt')} />
          <ToolPicker value={tools} onChange={setTools} error={fieldError(error, 'tools')} />
          <Switch
            label={t('agents.allCollections')}
            description={t('agents.allCollectionsHelp')}
            checked={isAll}
            onChange={(event) => setAll(event.currentTarget.checked)}
          />
          {!isAll && (
            <MultiSelect
              label={t('agents.collections')}
              description={t('agents.collectionsHelp')}
              data={choices}
              value={collections}
              onChange={setCollections}
              searchable
              clearable
              clearButtonProps={{ 'aria-label': t('common.clear') }}
              error={fieldError(error, 'collections')}
            />
          )}
          <Textarea
            label={t('agents.greeting')}
            description={t('agents.greetingHelp')}
            value={startMessage}
            onChange={(event) => setStartMessage(event.currentTarget.value)}
            maxLength={4000}
            autosize
            minRows={2}
            error={fieldError(error, 'startMessage')}
          />
          <Select
            label={t('agents.model')}
            description={models.length === 0 ? t('agents.noModels') : undefined}
            data={models.map(({ name: one }) => one)}
            value={model}
            onChange={setModel}
            placeholder={usual ? t('agents.modelDefaultNamed', { name: usual }) : t('agents.modelDefault')}
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            error={fieldError(error, 'model')}
          />
          <PolicyFields value={policy} onChange={setPolicy} error={fieldError(error, 'toolPolicy')} />
          <Group>
            <Button type="submit" loading={create.running || instance.running || update.running}>
              {agent ? t('common.save') : t('common.create')}
            </Button>
            <Button variant="default" onClick={() => void navigate({ to: agent ? `/agents/${agent.id}` : '/agents' })}>
              {t('common.cancel')}
            </Button>
          </Group>
        </Stack>
      </fieldset>
    </form>
  );
}
