import { Paper, SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';

// Facts is a list of names and values. Values that are null or undefined are left out.
export function Facts({ items, columns = 3 }: { items: { label: string; value: ReactNode }[]; columns?: number }) {
  return (
    <SimpleGrid component="dl" m={0} cols={{ base: 1, xs: 2, md: columns }} spacing="sm">
      {items
        .filter(({ value }) => value !== null && value !== undefined)
        .map(({ label, value }) => (
          <div key={label} style={{ minWidth: 0 }}>
            <Text component="dt" size="xs" c="dimmed">
              {label}
            </Text>
            <Text component="dd" m={0} size="sm" className="wrap">
              {value}
            </Text>
          </div>
        ))}
    </SimpleGrid>
  );
}

// Figure is one number with its name.
export function Figure({ label, value, hint }: { label: string; value: ReactNode; hint?: ReactNode }) {
  return (
    <Paper p="sm">
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={650}>
        {value}
      </Text>
      {hint && (
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
      )}
    </Paper>
  );
}
