import { Alert, Button, Group, Stack, Switch } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { fieldsOf, missing, type SchemaValues } from '../../kit/jsonSchema';
import { Markdown } from '../../kit/Markdown';
import { ProblemNotice } from '../../kit/Problem';
import { JSONField, SchemaForm } from '../../kit/SchemaForm';
import { useAction } from '../../kit/useAction';
import { type IntegrationToolFieldsFragment as Tool, ToolsCallDocument } from './integrations.gql';
import { ResultText } from './ToolList';

// TryTool calls a tool with the person's credentials. A tool that acts says first what it will do.
export function TryTool({ tool }: { tool: Tool }) {
  const [values, setValues] = useState<SchemaValues>({});
  const [raw, setRaw] = useState(false);
  const [lacking, setLacking] = useState<string[]>([]);
  const call = useAction(ToolsCallDocument, { quiet: true });
  const [result, setResult] = useState<{ ok: boolean; text: string; preview?: string | null } | null>(null);
  const [confirming, setConfirming] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, call.error ?? (lacking.length > 0 ? lacking : null));
  const errors: Record<string, string | undefined> = {};
  for (const { name } of fieldsOf(tool.inputSchema)) {
    errors[name] = lacking.includes(name) ? t('common.mistake.required') : fieldError(call.error, `arguments.${name}`, name);
  }
  const run = async (confirm: boolean) => {
    const absent = missing(tool.inputSchema, values);
    setLacking(absent);
    if (absent.length > 0) return;
    const data = await call.run({ id: tool.id, arguments: values, confirm });
    setResult(data?.callTool ?? null);
    setConfirming(data?.callTool.preview != null && !confirm);
  };
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void run(false);
      }}
    >
      <Stack gap="sm">
        <Group justify="flex-end">
          <Switch label={t('agents.asJSON')} checked={raw} onChange={(event) => setRaw(event.currentTarget.checked)} />
        </Group>
        {raw ? (
          <JSONField
            label={t('agents.approval.arguments')}
            value={values}
            error={undefined}
            onChange={(next) => setValues((next as SchemaValues | undefined) ?? {})}
          />
        ) : (
          <SchemaForm
            schema={tool.inputSchema}
            values={values}
            onChange={(next) => {
              setValues(next);
              setConfirming(false);
            }}
            errors={errors}
          />
        )}
        {call.error && <ProblemNotice error={call.error} />}
        {confirming && result?.preview ? (
          <Alert color="yellow" variant="light" title={t('tools.willDo')}>
            <Markdown>{result.preview}</Markdown>
            <Group mt="xs">
              <Button size="xs" onClick={() => void run(true)} loading={call.running}>
                {t('tools.doIt')}
              </Button>
            </Group>
          </Alert>
        ) : (
          <Group>
            <Button type="submit" size="xs" loading={call.running}>
              {t('tools.call')}
            </Button>
          </Group>
        )}
        {result && !confirming && (
          <Alert
            color={result.ok ? 'green' : 'red'}
            variant="light"
            title={result.ok ? t('tools.callDone') : t('tools.callFailed')}
            role="status"
          >
            <ResultText text={result.text} label={t('agents.run.result')} />
          </Alert>
        )}
      </Stack>
    </form>
  );
}
