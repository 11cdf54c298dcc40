import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

// Section is a part of a page with a title of its own.
export function Section({ id, title, about, children }: { id?: string; title: string; about?: ReactNode; children: ReactNode }) {
  return (
    <Paper p="md" component="section" id={id} aria-label={title}>
      <Stack gap="sm">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed" className="wrap">
              {about}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </Paper>
  );
}
