import { Button, Group, Loader, Radio, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import type { ApprovalAction, ApprovalMemory } from '../../gql/schema';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { missing, type SchemaValues } from '../../kit/jsonSchema';
import { ProblemNotice } from '../../kit/Problem';
import { JSONField, SchemaForm } from '../../kit/SchemaForm';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { type ApprovalFieldsFragment, ApprovalsDecideDocument, ApprovalsToolsDocument } from './approvals.gql';

interface Props {
  approval: ApprovalFieldsFragment;
  onDecided?: () => void;
}

const read = (text: string): SchemaValues | null => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as SchemaValues) : null;
  } catch {
    return null;
  }
};

// useDecide sends a decision about what was shown.
function useDecide(approval: ApprovalFieldsFragment, onDecided?: () => void) {
  const action = useAction(ApprovalsDecideDocument, { success: t('agents.approval.decided'), quiet: true });
  const decide = async (
    what: ApprovalAction,
    more: { comment?: string; arguments?: SchemaValues; answer?: string; remember?: ApprovalMemory; confirm?: string },
  ) => {
    const data = await action.run({
      input: { id: approval.id, action: what, argumentsHash: approval.argumentsHash, ...more, comment: more.comment || null },
    });
    if (data) onDecided?.();
  };
  return { ...action, decide };
}

// ApprovalDecision is the form with which a person decides: it approves, changes or rejects a call, or answers a question.
export function ApprovalDecision({ approval, onDecided }: Props) {
  return approval.kind === 'QUESTION' ? (
    <Answer approval={approval} onDecided={onDecided} />
  ) : (
    <Consent approval={approval} onDecided={onDecided} />
  );
}

function Consent({ approval, onDecided }: Props) {
  const { decide, running, error } = useDecide(approval, onDecided);
  const isEditor = useMay('EDITOR');
  const [comment, setComment] = useState('');
  const [remember, setRemember] = useState<ApprovalMemory>('ONCE');
  const [typed, setTyped] = useState('');
  const [editing, setEditing] = useState(false);
  const given = read(approval.arguments);
  const isConsent = approval.kind === 'CONSENT';
  const isDeletion = approval.risk === 'DELETE';
  const memories: ApprovalMemory[] = ['ONCE', 'RUN', ...(approval.selfApproval ? (['CONVERSATION'] as const) : [])];
  if (isEditor) memories.push('AGENT');
  const confirm = isDeletion ? typed : undefined;
  if (editing && given) return <Edit approval={approval} given={given} close={() => setEditing(false)} onDecided={onDecided} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void decide('APPROVE', { comment, remember, confirm });
      }}
    >
      <Stack gap="sm">
        {error && <Refused error={error} />}
        <Textarea
          label={t('agents.approval.comment')}
          description={t('agents.approval.commentHelp')}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
          maxLength={4000}
          autosize
          minRows={1}
          maxRows={6}
        />
        {isConsent && !isDeletion && (
          <Select
            label={t('agents.approval.remember')}
            data={memories.map((value) => ({ value, label: t(`agents.approval.remember.${value}`) }))}
            value={remember}
            onChange={(next) => setRemember((next as ApprovalMemory | null) ?? 'ONCE')}
            allowDeselect={false}
          />
        )}
        {isDeletion && (
          <TextInput
            label={t('agents.approval.typeTool', { tool: approval.tool })}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            error={fieldError(error, 'confirm')}
            autoComplete="off"
          />
        )}
        <Group gap="xs">
          <Button type="submit" loading={running} disabled={isDeletion && typed !== approval.tool}>
            {approval.kind === 'UNKNOWN_EFFECT' ? t('agents.approval.repeat') : t('agents.approval.approve')}
          </Button>
          {isConsent && given && (
            <Button variant="default" onClick={() => setEditing(true)} disabled={running}>
              {t('agents.approval.edit')}
            </Button>
          )}
          <Button variant="default" onClick={() => void decide('REJECT', { comment })} disabled={running}>
            {approval.kind === 'UNKNOWN_EFFECT' ? t('agents.approval.doNotRepeat') : t('agents.approval.reject')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

// Edit approves a call with other arguments, which the service checks.
function Edit({ approval, given, close, onDecided }: Props & { given: SchemaValues; close: () => void }) {
  const { decide, running, error } = useDecide(approval, onDecided);
  const [{ data, error: unread }] = useQuery({ query: ApprovalsToolsDocument, requestPolicy: 'cache-first' });
  const [values, setValues] = useState(given);
  const [raw, setRaw] = useState(false);
  const [lacking, setLacking] = useState<string[]>([]);
  const [typed, setTyped] = useState('');
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, error ?? (lacking.length > 0 ? lacking : null));
  const schema = data?.agentTools.find(({ name }) => name === approval.tool)?.parameters ?? null;
  const isDeletion = approval.risk === 'DELETE';
  const errors: Record<string, string | undefined> = {};
  for (const name of lacking) errors[name] = t('common.mistake.required');
  for (const name of [...Object.keys(values), ...Object.keys(given)]) errors[name] ??= fieldError(error, `arguments.${name}`, name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const absent = missing(schema, values);
    setLacking(absent);
    if (absent.length === 0) void decide('EDIT', { arguments: values, confirm: isDeletion ? typed : undefined });
  };
  // Without its schema the form would drop an argument whose text is deleted.
  if (!data && !unread) return <Loader role="status" size="sm" aria-label={t('common.loading')} />;
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="sm">
        <Group justify="space-between">
          <Text fw={600} size="sm">
            {t('agents.approval.editTitle')}
          </Text>
          <Switch label={t('agents.asJSON')} checked={raw} onChange={(event) => setRaw(event.currentTarget.checked)} />
        </Group>
        {error && <Refused error={error} />}
        {raw ? (
          <JSONField
            label={t('agents.approval.arguments')}
            value={values}
            error={fieldError(error, 'arguments')}
            onChange={(next) => setValues((next as SchemaValues | undefined) ?? {})}
          />
        ) : (
          <SchemaForm schema={schema} values={values} onChange={setValues} errors={errors} />
        )}
        {isDeletion && (
          <TextInput
            label={t('agents.approval.typeTool', { tool: approval.tool })}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
          />
        )}
        <Group gap="xs">
          <Button type="submit" loading={running} disabled={isDeletion && typed !== approval.tool}>
            {t('agents.approval.approveChanged')}
          </Button>
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

// Answer answers a question of an agent, by one of the offered answers or another.
function Answer({ approval, onDecided }: Props) {
  const { decide, running, error } = useDecide(approval, onDecided);
  const [choice, setChoice] = useState('');
  const [text, setText] = useState('');
  const isFree = approval.options.length === 0 || choice === '';
  const answer = isFree ? text.trim() : choice;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (answer) void decide('ANSWER', { answer });
      }}
    >
      <Stack gap="sm">
        {error && <Refused error={error} />}
        {approval.options.length > 0 && (
          <Radio.Group label={t('agents.approval.offered')} value={choice} onChange={setChoice}>
            <Stack gap={6} mt={4}>
              {approval.options.map((option) => (
                <Radio key={option} value={option} label={option} />
              ))}
              <Radio value="" label={t('agents.approval.other')} />
            </Stack>
          </Radio.Group>
        )}
        {isFree && (
          <Textarea
            label={t('agents.approval.answer')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            maxLength={10_000}
            autosize
            minRows={2}
            maxRows={10}
          />
        )}
        <Group gap="xs">
          <Button type="submit" loading={running} disabled={answer === ''}>
            {t('agents.approval.sendAnswer')}
          </Button>
          <Button variant="default" onClick={() => void decide('REJECT', {})} disabled={running}>
            {t('agents.approval.noAnswer')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

// Refused says why a decision was not taken. A conflict names who has decided.
function Refused({ error }: { error: unknown }) {
  return <ProblemNotice error={error} title={problemOf(error).code === 'conflict' ? t('agents.approval.conflict') : undefined} />;
}
