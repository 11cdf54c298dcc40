import { Alert, Anchor, Badge, Button, Group, Loader, Stack, Tabs, Text } from '@mantine/core';
import { Link, useNavigate, useParams, useRouterState, useSearch } from '@tanstack/react-router';
import { useRef } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../../api/errors';
import { useLive } from '../../../api/live';
import { formatBytes, formatNumber, t, tValue } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { Facts } from '../../../kit/Facts';
import { Icon } from '../../../kit/Icon';
import { JSONView } from '../../../kit/JSONView';
import { Page } from '../../../kit/Page';
import { ProblemNotice } from '../../../kit/Problem';
import { Status } from '../../../kit/Status';
import { When } from '../../../kit/Time';
import { offerUndo } from '../../../kit/undo';
import { useAction } from '../../../kit/useAction';
import { useMay } from '../../../session/Me';
import { DocumentText } from './DocumentText';
import {
  DocumentsDeleteDocument,
  type DocumentsFieldsFragment,
  DocumentsLiveDocument,
  DocumentsPageDocument,
  DocumentsRestoreDocument,
  DocumentsTextDocument,
} from './documents.gql';
import { History } from './History';
import { Passages } from './Passages';
import { Readers } from './Readers';
import { Summary } from './Summary';
import type { Tab } from './state';

// DocumentPage shows one document, and follows its state.
export function DocumentPage() {
  const { documentId: id } = useParams({ from: '/shell/documents/$documentId' });
  const isPassage = useRouterState({ select: (state) => state.location.hash.startsWith('passage-') });
  const { tab = isPassage ? 'passages' : 'text' } = useSearch({ from: '/shell/documents/$documentId' });
  const navigate = useNavigate({ from: '/documents/$documentId' });
  const isAdmin = useMay('ADMIN');
  const [{ data, error }, again] = useQuery({ query: DocumentsPageDocument, variables: { id } });
  const cursor = useRef<string | null>(null);
  const known = data?.document;
  useLive(known ? id : null, {
    document: DocumentsLiveDocument,
    variables: () => ({ documentId: id, after: cursor.current }),
    onData: ({ documentStatus }) => {
      cursor.current = documentStatus.cursor;
      if (documentStatus.documents.some((document) => document.id === id)) again({ requestPolicy: 'network-only' });
    },
  });
  const above = [{ label: t('search.doc.documents'), to: '/documents' }];
  if (!known)
    return (
      <Page title={t('search.doc.document')} above={above}>
        {error ? (
          <>
            <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />
            {isAdmin && problemOf(error).code === 'not_found' && (
              <Text size="sm">
                {t('search.doc.maybeRestricted')}{' '}
                <Anchor component={Link} to="/documents?view=restrictions" inherit underline="always">
                  {t('search.doc.restrictions')}
                </Anchor>
              </Text>
            )}
          </>
        ) : (
          <Loader aria-label={t('common.loading')} />
        )}
      </Page>
    );
  const edition = known.indexedAt ?? known.updatedAt; // what is shown of another one is asked for anew
  return (
    <Page title={known.title || known.path} above={above} actions={<Actions document={known} />}>
      <Group gap="xs" role="status">
        <Status value={known.status} />
        {known.restricted && (
          <Badge variant="default" tt="none" leftSection={<Icon name="lock" size={12} />}>
            {t('search.doc.restrictedShort')}
          </Badge>
        )}
        <Text size="sm" c="dimmed" className="wrap">
          {[known.collectionName, known.connector.name, known.path].join(' · ')}
        </Text>
      </Group>
      <State document={known} />
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ search: { tab: next === 'text' ? undefined : (next as Tab) }, replace: true })}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="text">{t('search.doc.text')}</Tabs.Tab>
          <Tabs.Tab value="passages">{t('search.doc.passages')}</Tabs.Tab>
          <Tabs.Tab value="details">{t('common.details')}</Tabs.Tab>
          {isAdmin && <Tabs.Tab value="readers">{t('search.doc.readers')}</Tabs.Tab>}
          <Tabs.Tab value="history">{t('search.doc.history')}</Tabs.Tab>
        </Tabs.List>
        <Stack pt="md" maw="60rem">
          <Tabs.Panel value="text">
            <Stack>
              {known.status === 'INDEXED' && <Summary id={id} edition={edition} />}
              <Content key={edition} id={id} />
            </Stack>
          </Tabs.Panel>
          <Tabs.Panel value="details">
            <Details document={known} />
          </Tabs.Panel>
          {isAdmin && (
            <Tabs.Panel value="readers">
              <Readers documentId={id} connectorId={known.connectorId} onChanged={() => again({ requestPolicy: 'network-only' })} />
            </Tabs.Panel>
          )}
          <Tabs.Panel value="passages">
            <Passages key={edition} id={id} />
          </Tabs.Panel>
          <Tabs.Panel value="history">
            <History key={edition} id={id} />
          </Tabs.Panel>
        </Stack>
      </Tabs>
    </Page>
  );
}

function Content({ id }: { id: string }) {
  const [{ data, error }, again] = useQuery({ query: DocumentsTextDocument, variables: { id } });
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  return <DocumentText content={data.document.content} />;
}

// State says what the state of a document means, where it is not just indexed.
function State({ document }: { document: DocumentsFieldsFragment }) {
  const { status, failure } = document;
  if (failure)
    return (
      <Alert variant="light" color="red" icon={<Icon name="warning" />} title={t('search.doc.failed')}>
        <Text size="sm" className="wrap">
          {failure}
        </Text>
        {status !== 'FAILED' && <Text size="sm">{t('search.doc.former')}</Text>}
      </Alert>
    );
  return null;
}

function Actions({ document }: { document: DocumentsFieldsFragment }) {
  const mayChange = useMay('EDITOR');
  const navigate = useNavigate();
  const { id, connectorId, title, path, url } = document;
  const remove = useAction(DocumentsDeleteDocument);
  const restore = useAction(DocumentsRestoreDocument, { success: t('search.doc.restored') });
  const deleteIt = async () => {
    const question = {
      title: t('search.doc.delete'),
      body: t('search.doc.deleteHelp', { title: title || path }),
      action: t('common.delete'),
    };
    if (!(await confirm(question)) || !(await remove.run({ id, connectorId }))) return;
    await navigate({ to: '/documents' });
    offerUndo(t('common.deletedOne', { name: title || path }), () => {
      void restore.run({ id, connectorId }).then((data) => data && navigate({ to: `/documents/${id}` }));
    });
  };
  return (
    <>
      {url && (
        <Button
          component="a"
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          variant="default"
          leftSection={<Icon name="external" size={16} />}
        >
          {t('search.openSource')}
        </Button>
      )}
      {mayChange && (
        <Button variant="default" leftSection={<Icon name="trash" size={16} />} onClick={() => void deleteIt()} loading={remove.running}>
          {t('common.delete')}
        </Button>
      )}
    </>
  );
}

function Details({ document }: { document: DocumentsFieldsFragment }) {
  return (
    <Stack>
      <Facts
        items={[
          { label: t('search.doc.path'), value: document.path },
          { label: t('search.field.section'), value: document.section },
          { label: t('search.field.version'), value: document.version },
          { label: t('search.field.type'), value: document.docType && tValue(`search.type.${document.docType}`, document.docType) },
          { label: t('search.field.language'), value: document.language },
          { label: t('search.field.tag'), value: document.tags?.length ? document.tags.join(', ') : null },
          { label: t('search.doc.author'), value: document.author },
          { label: t('search.doc.pages'), value: document.pages == null ? null : formatNumber(document.pages) },
          { label: t('search.doc.size'), value: formatBytes(document.bytes) },
          { label: t('search.doc.passages'), value: formatNumber(document.passageCount) },
          { label: t('search.doc.sourceCreated'), value: document.sourceCreatedAt && <When at={document.sourceCreatedAt} /> },
          { label: t('search.doc.sourceChanged'), value: document.sourceUpdatedAt && <When at={document.sourceUpdatedAt} /> },
          { label: t('search.doc.added'), value: <When at={document.createdAt} /> },
          { label: t('search.doc.indexed'), value: <When at={document.indexedAt} /> },
        ]}
      />
      <Text size="sm" fw={600}>
        {t('search.doc.metadata')}
      </Text>
      <JSONView value={document.allMetadata} label={t('search.doc.metadata')} />
    </Stack>
  );
}
