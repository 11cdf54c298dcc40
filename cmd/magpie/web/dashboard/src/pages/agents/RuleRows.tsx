import { Button, Group, Paper, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';

// Rule is a rule about a value of a call or of an event. Conditions have no policy.
export interface Rule {
  tool?: string;
  path: string;
  op: string;
  value: unknown;
  policy?: string;
}

const ops = ['eq', 'neq', 'contains', 'matches', 'in', 'exists', 'gt', 'lt'] as const;

interface Props {
  rules: Rule[];
  onChange: (rules: Rule[]) => void;
  // The policies to choose from; none for conditions.
  policies?: string[];
  // Whether each rule names a tool.
  withTool?: boolean;
  // Names that a path may have, for suggestions.
  paths?: string[];
  addLabel?: string;
  // What the service said about a rule, by its number.
  errorOf?: (n: number) => string | undefined;
}

// RuleRows edits a list of rules, each in words: what is looked at, how it is compared, with what.
export function RuleRows({ rules, onChange, policies = [], withTool, paths = [], addLabel, errorOf }: Props) {
  const set = (n: number, part: Partial<Rule>) => onChange(rules.map((rule, at) => (at === n ? { ...rule, ...part } : rule)));
  const add = () =>
    onChange([
      ...rules,
      { ...(withTool ? { tool: '' } : {}), path: '', op: 'eq', value: '', ...(policies[0] ? { policy: policies[0] } : {}) },
    ]);
  const listId = `paths-${paths.join('-')}`;
  return (
    <Stack gap="xs">
      {paths.length > 0 && (
        <datalist id={listId}>
          {paths.map((path) => (
            <option key={path} value={path} />
          ))}
        </datalist>
      )}
      {rules.map((rule, n) => (
        <Paper key={n} p="xs" role="group" aria-label={t('agents.rule.number', { n: n + 1 })}>
          <Group align="flex-end" gap="xs">
            {withTool && (
              <TextInput
                label={t('agents.policy.tool')}
                value={rule.tool ?? ''}
                onChange={(event) => set(n, { tool: event.currentTarget.value })}
                style={{ flex: '1 1 8rem' }}
              />
            )}
            <TextInput
              label={withTool || policies.length > 0 ? t('agents.rule.argument') : t('agents.rule.path')}
              value={rule.path}
              list={paths.length > 0 ? listId : undefined}
              onChange={(event) => set(n, { path: event.currentTarget.value })}
              error={errorOf?.(n)}
              style={{ flex: '1 1 8rem' }}
            />
            <Select
              label={t('agents.rule.op')}
              data={ops.map((op) => ({ value: op, label: t(`agents.rule.op.${op}`) }))}
              value={rule.op}
              onChange={(next) => set(n, { op: next ?? 'eq', value: next === 'exists' ? true : next === 'in' ? [] : '' })}
              allowDeselect={false}
              style={{ flex: '1 1 9rem' }}
            />
            <ValueField op={rule.op} value={rule.value} onChange={(value) => set(n, { value })} />
            {policies.length > 0 && (
              <Select
                label={t('agents.policy.what')}
                data={policies.map((policy) => ({ value: policy, label: t(`agents.policy.${policy.toUpperCase() as 'ASK'}`) }))}
                value={rule.policy ?? null}
                onChange={(next) => set(n, { policy: next ?? policies[0] })}
                allowDeselect={false}
                style={{ flex: '1 1 8rem' }}
              />
            )}
            <Button
              variant="default"
              onClick={() => onChange(rules.filter((_, at) => at !== n))}
              aria-label={`${t('common.remove')}: ${t('agents.rule.number', { n: n + 1 })}`}
            >
              <Icon name="close" size={16} />
            </Button>
          </Group>
        </Paper>
      ))}
      <Group>
        <Button variant="default" size="xs" leftSection={<Icon name="plus" size={14} />} onClick={add}>
          {addLabel ?? t('agents.rule.add')}
        </Button>
      </Group>
    </Stack>
  );
}

// ValueField edits what is compared with. Texts that are numbers, true or false count as such.
function ValueField({ op, value, onChange }: { op: string; value: unknown; onChange: (value: unknown) => void }) {
  const style = { flex: '1 1 8rem' };
  const label = t('agents.rule.value');
  if (op === 'exists') {
    return (
      <Select
        label={label}
        data={[
          { value: 'true', label: t('common.yes') },
          { value: 'false', label: t('common.no') },
        ]}
        value={String(value !== false)}
        onChange={(next) => onChange(next !== 'false')}
        allowDeselect={false}
        style={style}
      />
    );
  }
  if (op === 'in') {
    return (
      <TagsInput label={label} value={Array.isArray(value) ? value.map(String) : []} onChange={onChange} acceptValueOnBlur style={style} />
    );
  }
  const isNumber = op === 'gt' || op === 'lt';
  return (
    <TextInput
      label={label}
      value={String(value ?? '')}
      inputMode={isNumber ? 'decimal' : undefined}
      onChange={(event) => onChange(op === 'matches' || op === 'contains' ? event.currentTarget.value : typed(event.currentTarget.value))}
      style={style}
    />
  );
}

// typed returns the value that a text stands for.
function typed(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text)) return Number(text);
  return text;
}
