import { Badge, type MantineColor } from '@mantine/core';
import { tValue } from '../../i18n';

const colors: Record<string, MantineColor> = { READ: 'gray', WRITE: 'blue', SEND: 'yellow', DELETE: 'red' };

// Risk shows what a call can do at most.
export function Risk({ value }: { value: string }) {
  return (
    <Badge variant="light" color={colors[value] ?? 'gray'} tt="none" style={{ flex: 'none' }}>
      {tValue(`agents.risk.${value}`, value.toLowerCase())}
    </Badge>
  );
}
