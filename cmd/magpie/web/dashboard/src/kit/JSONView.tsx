import { Code } from '@mantine/core';
import { t } from '../i18n';

// JSONView shows a value as formatted JSON.
export function JSONView({ value, label }: { value: unknown; label?: string }) {
  return (
    <Code block tabIndex={0} aria-label={label ?? t('common.details')} style={{ maxHeight: '24rem', overflow: 'auto' }}>
      {JSON.stringify(value, null, 2)}
    </Code>
  );
}
