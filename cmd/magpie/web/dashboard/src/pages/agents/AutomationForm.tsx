import { Alert, Button, Group, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import type { AutomationKind, AutomationRunAs } from '../../gql/schema';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { ProblemNotice } from '../../kit/Problem';
import { JSONField } from '../../kit/SchemaForm';
import { ApprovalFields, DeliveryFields, LimitFields, TriggerFields } from './AutomationFields';
import { blank, type Draft, eventFields, kinds } from './automationDraft';
import { useAgentNames } from './Names';
import { RuleRows } from './RuleRows';

interface Props {
  start: Draft;
  error: unknown;
  running: boolean;
  // Whether the person may change it.
  mayChange: boolean;
  action: string;
  onSave: (draft: Draft) => void;
}

// AutomationForm edits an automation: when it starts, what the agent does, what people approve, and where the answer goes.
export function AutomationForm({ start, error, running, mayChange, action, onSave }: Props) {
  const { agents } = useAgentNames();
  const [draft, setDraft] = useState(start);
  const [raw, setRaw] = useState(false);
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, error);
  const fields = eventFields[draft.kind];
  const { trigger, conditions, approval, delivery, limits } = draft;
  const part = { draft, change, error };
  return (
    <form
      ref={form}
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        onSave(draft);
      }}
    >
      <fieldset disabled={!mayChange} style={{ border: 0, margin: 0, padding: 0, minWidth: 0 }}>
        <Stack>
          {Boolean(error) && <ProblemNotice error={error} />}
          <TextInput
            label={t('common.name')}
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            required
            error={fieldError(error, 'name')}
          />
          <TextInput
            label={t('common.description')}
            value={draft.description}
            onChange={(event) => change({ description: event.currentTarget.value })}
            error={fieldError(error, 'description')}
          />
          <Switch
            label={t('agents.auto.enabled')}
            checked={draft.enabled}
            onChange={(event) => change({ enabled: event.currentTarget.checked })}
          />
          <Group justify="flex-end">
            <Switch label={t('agents.asJSON')} checked={raw} onChange={(event) => setRaw(event.currentTarget.checked)} />
          </Group>
          <Select
            label={t('agents.auto.trigger')}
            data={kinds.map((value) => ({ value, label: t(`agents.auto.kind.${value}`) }))}
            value={draft.kind}
            onChange={(next) => {
              const kind = (next ?? 'MANUAL') as AutomationKind;
              change({ kind, trigger: kind === 'SCHEDULE' ? blank.trigger : {} });
            }}
            allowDeselect={false}
          />
          {raw ? (
            <JSONField
              label={t('agents.auto.settings')}
              value={{ trigger, conditions, approval, delivery, limits }}
              error={undefined}
              onChange={(next) => change((next as Partial<Draft> | undefined) ?? {})}
            />
          ) : (
            <>
              <TriggerFields {...part} />
              {draft.kind !== 'SCHEDULE' && (
                <div>
                  <Text size="sm" fw={500}>
                    {t('agents.auto.conditions')}
                  </Text>
                  <Text size="xs" c="dimmed" mb={6}>
                    {t('agents.auto.conditionsHelp')}
                  </Text>
                  <RuleRows
                    rules={conditions}
                    onChange={(next) => change({ conditions: next })}
                    paths={fields}
                    addLabel={t('agents.auto.addCondition')}
                    errorOf={(n) => fieldError(error, `conditions[${n}]`)}
                  />
                </div>
              )}
            </>
          )}
          <Select
            label={t('agents.agent')}
            data={agents.map(({ id, name }) => ({ value: id, label: name }))}
            value={draft.agentId}
            onChange={(agentId) => change({ agentId })}
            required
            searchable
            error={fieldError(error, 'agentId')}
          />
          <Select
            label={t('agents.auto.runAs')}
            description={t(`agents.auto.runAsHelp.${draft.runAs}`)}
            data={(['OWNER', 'SERVICE'] as const).map((value) => ({ value, label: t(`agents.auto.runAs.${value}`) }))}
            value={draft.runAs}
            onChange={(next) => change({ runAs: (next ?? 'OWNER') as AutomationRunAs })}
            allowDeselect={false}
            error={fieldError(error, 'runAs')}
          />
          <div>
            <Textarea
              label={t('agents.prompt')}
              description={t('agents.auto.instructionsHelp')}
              value={draft.instructions}
              onChange={(event) => change({ instructions: event.currentTarget.value })}
              required
              maxLength={12_000}
              autosize
              minRows={6}
              maxRows={20}
              error={fieldError(error, 'instructions')}
            />
            {fields.length > 0 && (
              <Group gap={4} mt={6}>
                {fields.map((field) => (
                  <Button
                    key={field}
                    size="compact-xs"
                    variant="default"
                    aria-label={t('agents.auto.insert', { field })}
                    onClick={() => change({ instructions: `${draft.instructions}{{event.${field}}}` })}
                  >
                    {field}
                  </Button>
                ))}
              </Group>
            )}
          </div>
          {!raw && (
            <>
              <ApprovalFields {...part} />
              <DeliveryFields {...part} />
              <LimitFields {...part} />
            </>
          )}
          {draft.kind !== 'SCHEDULE' && draft.kind !== 'MANUAL' && (
            <TextInput
              label={t('agents.auto.dedupe')}
              description={t('agents.auto.dedupeHelp')}
              value={draft.dedupeKey}
              onChange={(event) => change({ dedupeKey: event.currentTarget.value })}
              error={fieldError(error, 'dedupeKey')}
            />
          )}
          {mayChange ? (
            <Group>
              <Button type="submit" loading={running}>
                {action}
              </Button>
            </Group>
          ) : (
            <Alert variant="light">{t('agents.auto.notYours')}</Alert>
          )}
        </Stack>
      </fieldset>
    </form>
  );
}
