import { Anchor, Checkbox, Fieldset, Group, Stack, Text, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { AgentsChoicesDocument, type AgentsChoicesQuery } from './agents.gql';
import { Risk } from './Risk';

type Tool = AgentsChoicesQuery['agentTools'][number];

interface Props {
  // Names of tools.
  value: string[];
  onChange: (value: string[]) => void;
  error?: string;
}

// ToolPicker selects the tools of an agent, with what each can do and why some cannot be called now.
export function ToolPicker({ value, onChange, error }: Props) {
  const [{ data, error: problem }] = useQuery({ query: AgentsChoicesDocument });
  const [text, setText] = useState('');
  if (problem && !data) return <ProblemNotice error={problem} />;
  const tools = data?.agentTools ?? [];
  const wanted = text.trim().toLocaleLowerCase();
  const unknown = data ? value.filter((name) => !tools.some((tool) => tool.name === name)) : [];
  const shown = tools.filter((tool) => `${tool.name} ${tool.title} ${tool.description}`.toLocaleLowerCase().includes(wanted));
  const groups = [...new Set(shown.map(groupOf))];
  const toggle = (name: string) => onChange(value.includes(name) ? value.filter((one) => one !== name) : [...value, name]);
  return (
    <Fieldset legend={t('agents.tools')}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('agents.toolsHelp')}{' '}
          <Anchor component={Link} to="/integrations" size="sm" underline="always">
            {t('agents.toolsMore')}
          </Anchor>
        </Text>
        {error && (
          <Text size="sm" c="red" role="alert">
            {error}
          </Text>
        )}
        {tools.length > 12 && (
          <TextInput
            aria-label={t('agents.toolsFind')}
            placeholder={t('agents.toolsFind')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') event.preventDefault();
            }}
            leftSection={<Icon name="search" size={16} />}
          />
        )}
        {groups.map((group) => (
          <Stack key={group} gap={8}>
            {groups.length > 1 && (
              <Text size="xs" fw={600} c="dimmed">
                {group === '' ? t('agents.toolsBuiltIn') : group}
              </Text>
            )}
            {shown
              .filter((tool) => groupOf(tool) === group)
              .map((tool) => (
                <Checkbox
                  key={tool.name}
                  checked={value.includes(tool.name)}
                  onChange={() => toggle(tool.name)}
                  label={
                    <Group gap={6}>
                      <span>{tool.title}</span>
                      <Text span size="xs" c="dimmed" className="mono wrap">
                        {tool.name}
                      </Text>
                      {tool.risk && <Risk value={tool.risk} />}
                      {tool.policy === 'DENY' && (
                        <Text span size="xs" c="red">
                          {t('agents.policy.DENY')}
                        </Text>
                      )}
                    </Group>
                  }
                  description={
                    tool.unavailable
                      ? `${tool.description} — ${t('agents.toolUnavailable', { reason: tool.unavailable })}`
                      : tool.description
                  }
                />
              ))}
          </Stack>
        ))}
        {unknown.map((name) => (
          <Checkbox key={name} checked onChange={() => toggle(name)} label={name} description={t('agents.toolUnknown')} />
        ))}
      </Stack>
    </Fieldset>
  );
}

// groupOf returns the integration that a tool belongs to, as its name shows it.
const groupOf = (tool: Tool) => (tool.integrationId && tool.name.includes('.') ? (tool.name.split('.')[0] as string) : '');
