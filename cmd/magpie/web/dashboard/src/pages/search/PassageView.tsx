import { Button, Group, Loader, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { DocumentText } from './documents/DocumentText';
import { DocumentsPassageDocument, DocumentsTextDocument } from './documents/documents.gql';
import { PassageText } from './documents/Passages';

interface Props {
  documentId: string;
  // Null shows the document from its beginning.
  passageId: string | null;
  url: string | null | undefined;
}

// PassageView shows a passage between its neighbours, with ways to open the document and its source. Passages that are gone,
// because their document has changed, are replaced by the document.
export function PassageView({ documentId, passageId, url }: Props) {
  const [{ data, error, fetching }] = useQuery({
    query: DocumentsPassageDocument,
    variables: { id: passageId ?? '' },
    pause: passageId === null,
  });
  const found = data?.passage;
  const isGone = error !== undefined && problemOf(error).code === 'not_found';
  const at = found ? `/documents/${documentId}?tab=passages#passage-${found.passage.position + 1}` : `/documents/${documentId}`;
  return (
    <Stack>
      <Group gap="xs">
        <Button component={Link} to={at} variant="default" size="xs" leftSection={<Icon name="document" size={16} />}>
          {t('search.openDocument')}
        </Button>
        {url && (
          <Button
            component="a"
            href={found?.passage.anchor ? `${url.replace(/#.*/, '')}#${found.passage.anchor}` : url}
            target="_blank"
            rel="noopener noreferrer"
            variant="default"
            size="xs"
            leftSection={<Icon name="external" size={16} />}
          >
            {t('search.openSource')}
          </Button>
        )}
      </Group>
      {passageId !== null && fetching && !found && <Loader />}
      {error && !isGone && <ProblemNotice error={error} />}
      {found && (
        <Stack gap="sm">
          {found.before.map((passage) => (
            <PassageText key={passage.id} passage={passage} />
          ))}
          <PassageText passage={found.passage} isMarked />
          {found.after.map((passage) => (
            <PassageText key={passage.id} passage={passage} />
          ))}
        </Stack>
      )}
      {isGone && (
        <Text size="sm" c="dimmed" role="status">
          {t('search.passageGone')}
        </Text>
      )}
      {(passageId === null || isGone) && <Whole documentId={documentId} />}
    </Stack>
  );
}

function Whole({ documentId }: { documentId: string }) {
  const [{ data, error }] = useQuery({ query: DocumentsTextDocument, variables: { id: documentId } });
  if (error) return <ProblemNotice error={error} />;
  return data ? <DocumentText content={data.document.content} /> : <Loader aria-label={t('common.loading')} />;
}
