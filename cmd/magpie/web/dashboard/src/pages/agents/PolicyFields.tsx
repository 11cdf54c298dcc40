import { Button, Fieldset, Group, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { type Rule, RuleRows } from './RuleRows';

export interface ToolPolicy {
  risks?: Record<string, string>;
  tools?: Record<string, string>;
  rules?: Rule[];
}

const risks = ['read', 'write', 'send', 'delete'] as const;

interface Props {
  value: ToolPolicy;
  onChange: (value: ToolPolicy) => void;
  error?: string;
}

// PolicyFields edits which calls ask or are denied on top of other policies: by risk, by tool, by argument.
export function PolicyFields({ value, onChange, error }: Props) {
  const tools = Object.entries(value.tools ?? {});
  const choices = [
    { value: 'ask', label: t('agents.policy.ASK') },
    { value: 'deny', label: t('agents.policy.DENY') },
  ];
  const setTools = (next: [string, string][]) => onChange({ ...value, tools: Object.fromEntries(next) });
  return (
    <Fieldset legend={t('agents.policy.title')}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('agents.policy.help')}
        </Text>
        {error && (
          <Text size="sm" c="red" role="alert">
            {error}
          </Text>
        )}
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
          {risks.map((risk) => (
            <Select
              key={risk}
              label={t(`agents.policy.risk.${risk}`)}
              data={[{ value: '', label: t('agents.policy.unchanged') }, ...choices]}
              value={value.risks?.[risk] ?? ''}
              onChange={(next) => {
                const { [risk]: _, ...rest } = value.risks ?? {};
                onChange({ ...value, risks: next ? { ...rest, [risk]: next } : rest });
              }}
              allowDeselect={false}
            />
          ))}
        </SimpleGrid>
        {tools.map(([name, policy], n) => (
          <Group key={n} align="flex-end" gap="xs">
            <TextInput
              label={t('agents.policy.tool')}
              description={n === 0 ? t('agents.policy.toolHelp') : undefined}
              value={name}
              onChange={(event) => setTools(tools.map((one, at) => (at === n ? [event.currentTarget.value, policy] : one)))}
              style={{ flex: '1 1 10rem' }}
            />
            <Select
              label={t('agents.policy.what')}
              data={choices}
              value={policy}
              onChange={(next) => setTools(tools.map((one, at) => (at === n ? [name, next ?? 'ask'] : one)))}
              allowDeselect={false}
              w="10rem"
            />
            <Button
              variant="default"
              onClick={() => setTools(tools.filter((_, at) => at !== n))}
              aria-label={`${t('common.remove')}: ${name || t('agents.policy.tool')}`}
            >
              <Icon name="close" size={16} />
            </Button>
          </Group>
        ))}
        <Group>
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => setTools([...tools, ['', 'ask']])}
            disabled={tools.some(([name]) => name === '')}
          >
            {t('agents.policy.addTool')}
          </Button>
        </Group>
        <RuleRows withTool rules={value.rules ?? []} policies={['ask', 'deny']} onChange={(rules) => onChange({ ...value, rules })} />
      </Stack>
    </Fieldset>
  );
}

// cleanPolicy leaves out what says nothing.
export function cleanPolicy({ risks, tools, rules }: ToolPolicy): Record<string, unknown> {
  const named = Object.entries(tools ?? {}).filter(([name]) => name.trim() !== '');
  return {
    ...(risks && Object.keys(risks).length > 0 ? { risks } : {}),
    ...(named.length > 0 ? { tools: Object.fromEntries(named) } : {}),
    ...(rules && rules.length > 0 ? { rules } : {}),
  };
}
