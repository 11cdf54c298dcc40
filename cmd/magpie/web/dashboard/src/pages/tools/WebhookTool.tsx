import { Button, Group, Modal, NumberInput, Select, SimpleGrid, Stack, TagsInput, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import type { IntegrationToolRisk } from '../../gql/schema';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { ProblemNotice } from '../../kit/Problem';
import { JSONField } from '../../kit/SchemaForm';
import { useAction } from '../../kit/useAction';
import { type IntegrationToolFieldsFragment as Tool, ToolsSaveWebhookDocument } from './integrations.gql';

interface Props {
  integrationId: string;
  // The tool to replace; null for a new one.
  tool: Tool | null;
  close: (saved: boolean) => void;
}

// WebhookTool describes a tool of an address: the request that a call makes, and its arguments.
export function WebhookTool({ integrationId, tool, close }: Props) {
  const [name, setName] = useState(tool?.name ?? '');
  const [title, setTitle] = useState(tool?.title ?? '');
  const [description, setDescription] = useState(tool?.description ?? '');
  const [method, setMethod] = useState('POST');
  const [path, setPath] = useState('/');
  const [risk, setRisk] = useState<IntegrationToolRisk | null>(tool?.risk ?? null);
  const [query, setQuery] = useState<string[]>([]);
  const [body, setBody] = useState<string[]>([]);
  const [schema, setSchema] = useState<unknown>(
    tool?.inputSchema ?? { type: 'object', properties: { text: { type: 'string', description: '' } }, required: ['text'] },
  );
  const [result, setResult] = useState('');
  const [timeout, setTimeout] = useState<number | string>(tool?.timeout ?? '');
  const save = useAction(ToolsSaveWebhookDocument, { success: t('common.saved'), quiet: true });
  const { error } = save;
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const input = {
      name,
      title: title || null,
      description,
      risk,
      method,
      path,
      query: query.length > 0 ? query : null,
      body: body.length > 0 ? body : null,
      inputSchema: (schema ?? {}) as Record<string, unknown>,
      result: result || null,
      timeout: Number(timeout) || null,
    };
    if (await save.run({ integrationId, input })) close(true);
  };
  return (
    <Modal
      opened
      onClose={() => close(false)}
      size="lg"
      title={tool ? t('tools.webhook.replace') : t('tools.webhook.new')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <form ref={form} onSubmit={submit}>
        <Stack gap="sm">
          {error && <ProblemNotice error={error} />}
          {tool && <Text size="sm">{t('tools.webhook.replaceHelp')}</Text>}
          <TextInput
            label={t('common.name')}
            description={t('tools.webhook.nameHelp')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            readOnly={tool !== null}
            required
            error={fieldError(error, 'name')}
            data-autofocus
          />
          <TextInput
            label={t('tools.webhook.title')}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
            error={fieldError(error, 'title')}
          />
          <Textarea
            label={t('common.description')}
            description={t('tools.webhook.descriptionHelp')}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            required
            autosize
            minRows={2}
            error={fieldError(error, 'description')}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <Select
              label={t('tools.webhook.method')}
              data={['GET', 'POST', 'PUT', 'PATCH', 'DELETE']}
              value={method}
              onChange={(next) => setMethod(next ?? 'POST')}
              allowDeselect={false}
              error={fieldError(error, 'method')}
            />
            <TextInput
              label={t('tools.webhook.path')}
              description={t('tools.webhook.pathHelp')}
              value={path}
              onChange={(event) => setPath(event.currentTarget.value)}
              required
              error={fieldError(error, 'path')}
            />
            <Select
              label={t('agents.approval.risk')}
              data={(['READ', 'WRITE', 'SEND', 'DELETE'] as const).map((value) => ({ value, label: t(`agents.risk.${value}`) }))}
              value={risk}
              onChange={(next) => setRisk(next as IntegrationToolRisk | null)}
              placeholder={t('tools.webhook.riskUsual')}
              clearable
              clearButtonProps={{ 'aria-label': t('common.clear') }}
            />
            <NumberInput
              label={t('tools.timeout')}
              value={timeout}
              onChange={setTimeout}
              min={1}
              max={30}
              error={fieldError(error, 'timeout')}
            />
          </SimpleGrid>
          <JSONField
            label={t('tools.webhook.schema')}
            description={t('tools.webhook.schemaHelp')}
            value={schema}
            onChange={setSchema}
            error={fieldError(error, 'inputSchema')}
          />
          <TagsInput
            label={t('tools.webhook.query')}
            value={query}
            onChange={setQuery}
            acceptValueOnBlur
            error={fieldError(error, 'query')}
          />
          <TagsInput
            label={t('tools.webhook.body')}
            description={t('tools.webhook.bodyHelp')}
            value={body}
            onChange={setBody}
            acceptValueOnBlur
            error={fieldError(error, 'body')}
          />
          <TextInput
            label={t('tools.webhook.result')}
            description={t('tools.webhook.resultHelp')}
            value={result}
            onChange={(event) => setResult(event.currentTarget.value)}
            error={fieldError(error, 'result')}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(false)}>
              {t('common.cancel')}
            </Button>
            <Button type="submit" loading={save.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
