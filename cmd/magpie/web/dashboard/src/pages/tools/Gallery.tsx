import { SimpleGrid, Stack, Text, TextInput, Title, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';

export interface Choice {
  name: string;
  title: string;
  summary: string;
  group: string;
  note?: string;
}

const box = { border: '1px solid var(--mantine-color-default-border)', borderRadius: 'var(--mantine-radius-md)' };

// Gallery lets a person choose a provider, by group and with a search.
export function Gallery({ choices, onChoose }: { choices: Choice[]; onChoose: (name: string) => void }) {
  const [text, setText] = useState('');
  const wanted = text.trim().toLocaleLowerCase();
  const shown = choices.filter(({ title, summary, name }) => `${title} ${summary} ${name}`.toLocaleLowerCase().includes(wanted));
  const groups = [...new Set(shown.map(({ group }) => group))];
  return (
    <Stack>
      <TextInput
        label={t('tools.find')}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        leftSection={<Icon name="search" size={16} />}
        maw="24rem"
      />
      {shown.length === 0 && <Empty icon="tool" title={t('tools.noneFound')} />}
      {groups.map((group) => (
        <Stack key={group} gap="xs">
          <Title order={2} size="h5">
            {group}
          </Title>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
            {shown
              .filter((choice) => choice.group === group)
              .map(({ name, title, summary, note }) => (
                <UnstyledButton key={name} p="md" onClick={() => onChoose(name)} className="row" style={box}>
                  <Text fw={600} className="wrap">
                    {title}
                  </Text>
                  <Text size="sm" c="dimmed" className="wrap">
                    {summary}
                  </Text>
                  {note && (
                    <Text size="xs" c="dimmed" mt={4}>
                      {note}
                    </Text>
                  )}
                </UnstyledButton>
              ))}
          </SimpleGrid>
        </Stack>
      ))}
    </Stack>
  );
}
