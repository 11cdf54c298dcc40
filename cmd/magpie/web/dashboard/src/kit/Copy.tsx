import { ActionIcon, Alert, Code, CopyButton, Group, Stack, Text, Tooltip } from '@mantine/core';
import { t } from '../i18n';
import { Icon } from './Icon';

// Copy is a button that copies a text.
export function Copy({ text, label }: { text: string; label?: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t('common.copied') : (label ?? t('common.copy'))}>
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={label ?? t('common.copy')}>
            <Icon name={copied ? 'check' : 'copy'} size={16} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

// CodeBlock shows lines of code with a button to copy them.
export function CodeBlock({ children, label }: { children: string; label?: string }) {
  return (
    <Group wrap="nowrap" align="flex-start" gap={4}>
      <Code block style={{ flex: 1, minWidth: 0, overflowX: 'auto' }} tabIndex={0} aria-label={label}>
        {children}
      </Code>
      <Copy text={children} label={label ? `${t('common.copy')}: ${label}` : undefined} />
    </Group>
  );
}

// ShownOnce shows a secret that no later page shows again.
export function ShownOnce({ values }: { values: { label: string; value: string }[] }) {
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="key" />} title={t('common.shownOnce')}>
      <Stack gap="xs">
        {values.map(({ label, value }) => (
          <div key={label}>
            <Text size="sm" fw={500}>
              {label}
            </Text>
            <Group gap={4} wrap="nowrap">
              <Code className="wrap">{value}</Code>
              <Copy text={value} label={`${t('common.copy')}: ${label}`} />
            </Group>
          </div>
        ))}
      </Stack>
    </Alert>
  );
}
