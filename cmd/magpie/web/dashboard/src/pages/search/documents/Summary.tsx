import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../../i18n';
import { Icon } from '../../../kit/Icon';
import { Markdown } from '../../../kit/Markdown';
import { ProblemNotice } from '../../../kit/Problem';
import { DocumentsSummaryDocument } from './documents.gql';

// Summary is a short summary of an edition of a document, which is made on request, since it costs a call of the model.
export function Summary({ id, edition }: { id: string; edition: string }) {
  const [asked, setAsked] = useState<string | null>(null);
  const wanted = asked === edition;
  const [{ data, error, fetching }, again] = useQuery({
    query: DocumentsSummaryDocument,
    variables: { id },
    pause: !wanted,
    requestPolicy: 'network-only',
  });
  if (!wanted || (fetching && !data))
    return (
      <Group gap="sm">
        <Button
          variant="default"
          size="xs"
          loading={wanted}
          leftSection={<Icon name="document" size={16} />}
          onClick={() => setAsked(edition)}
        >
          {t('search.doc.summarize')}
        </Button>
        <Text size="xs" c="dimmed">
          {t('search.doc.summarizeHelp')}
        </Text>
      </Group>
    );
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  return (
    <Paper p="md" aria-live="polite">
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          {t('search.doc.summary')}
        </Text>
        <Markdown>{data?.document.summary || t('search.doc.noSummary')}</Markdown>
      </Stack>
    </Paper>
  );
}
