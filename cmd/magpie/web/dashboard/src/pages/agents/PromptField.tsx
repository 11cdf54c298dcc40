import { Group, Text, Textarea } from '@mantine/core';
import { formatNumber, t } from '../../i18n';

const most = 32_000; // characters

// PromptField edits a system prompt, and counts its characters.
export function PromptField({ value, onChange, error }: { value: string; onChange: (value: string) => void; error?: string }) {
  const length = [...value].length;
  return (
    <div>
      <Textarea
        label={t('agents.prompt')}
        description={t('agents.promptHelp')}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        required
        autosize
        minRows={8}
        maxRows={24}
        error={error ?? (length > most ? t('agents.promptTooLong') : undefined)}
      />
      <Group justify="flex-end">
        <Text size="xs" c={length > most ? 'red' : 'dimmed'}>
          {t('agents.promptCount', { count: formatNumber(length), most: formatNumber(most) })}
        </Text>
      </Group>
    </div>
  );
}
