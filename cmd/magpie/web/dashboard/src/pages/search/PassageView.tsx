import { Button, Group, Loader, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { DocumentText } from './documents/DocumentText';
import { DocumentsTextDocument } from './documents/documents.gql';

// PassageView shows a passage in its document, with ways to open the document and its source.
export function PassageView({ documentId, url }: { documentId: string; passageId: string | null; url: string | null | undefined }) {
  const [{ data, error }] = useQuery({ query: DocumentsTextDocument, variables: { id: documentId } });
  return (
    <Stack>
      <Group gap="xs">
        <Button
          component={Link}
          to={`/documents/${documentId}`}
          variant="default"
          size="xs"
          leftSection={<Icon name="document" size={16} />}
        >
          {t('search.openDocument')}
        </Button>
        {url && (
          <Button
            component="a"
            href={url}
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
      {error && <ProblemNotice error={error} />}
      {!data && !error && <Loader aria-label={t('common.loading')} />}
      {data && <DocumentText content={data.document.content} />}
    </Stack>
  );
}
