import { Loader, Text, Timeline } from '@mantine/core';
import { useQuery } from 'urql';
import { t } from '../../../i18n';
import { ProblemNotice } from '../../../kit/Problem';
import { Ago } from '../../../kit/Time';
import { DocumentsHistoryDocument } from './documents.gql';

// History is what happened to a document, the newest first.
export function History({ id }: { id: string }) {
  const [{ data, error }, again] = useQuery({ query: DocumentsHistoryDocument, variables: { id } });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { history } = data.document;
  if (history.length === 0) return <Text c="dimmed">{t('search.doc.noHistory')}</Text>;
  return (
    <Timeline bulletSize={12} lineWidth={2}>
      {history.map(({ at, kind, actor, reason }) => (
        <Timeline.Item key={`${at} ${kind}`} title={t(`search.event.${kind}`)}>
          <Text size="xs" c="dimmed" component="div" className="wrap">
            <Ago at={at} />
            {actor && ` · ${t('search.doc.by', { actor })}`}
          </Text>
          {reason && (
            <Text size="sm" className="wrap">
              {reason}
            </Text>
          )}
        </Timeline.Item>
      ))}
    </Timeline>
  );
}
