import { Anchor, Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { type Column, DataTable } from '../../../kit/DataTable';
import { Empty } from '../../../kit/Empty';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { usePaged } from '../../../kit/usePaged';
import { DocumentsRestrictionsDocument, type DocumentsRestrictionsQuery, DocumentsUnrestrictDocument } from './documents.gql';
import { ReaderList } from './Readers';

type Row = DocumentsRestrictionsQuery['documentRestrictions']['edges'][number]['node'];

// Restrictions are the documents that administrators restricted, also those that this one may not read: they contain nothing
// of the documents.
export function Restrictions() {
  const list = usePaged(DocumentsRestrictionsDocument, {}, (data) => data.documentRestrictions);
  const end = useAction(DocumentsUnrestrictDocument, { success: t('search.doc.unrestricted') });
  const unrestrict = async (id: string) => {
    const question = { title: t('search.doc.unrestrict'), body: t('search.doc.unrestrictHelp'), action: t('search.doc.unrestrict') };
    if ((await confirm(question)) && (await end.run({ id }))) list.reload();
  };
  const columns: Column<Row>[] = [
    {
      key: 'document',
      title: t('search.doc.document'),
      cell: ({ documentId }) => (
        <Anchor component={Link} to={`/documents/${documentId}`} size="sm" className="mono wrap">
          {documentId}
        </Anchor>
      ),
    },
    { key: 'readers', title: t('search.doc.readers'), cell: ({ readers }) => <ReaderList readers={readers} /> },
    { key: 'by', title: t('search.doc.restrictedByTitle'), cell: ({ restrictedBy }) => restrictedBy ?? '–', from: 'md' },
    { key: 'at', title: t('search.doc.since'), cell: ({ restrictedAt }) => <When at={restrictedAt} />, from: 'sm' },
    {
      key: 'actions',
      title: t('common.actions'),
      cell: ({ documentId }) => (
        <Button size="xs" variant="default" onClick={() => void unrestrict(documentId)}>
          {t('search.doc.unrestrict')}
        </Button>
      ),
    },
  ];
  return (
    <DataTable
      label={t('search.doc.restrictions')}
      columns={columns}
      list={list}
      rowKey={({ documentId }) => documentId}
      empty={
        <Empty icon="lock" title={t('search.doc.noRestrictions')}>
          {t('search.doc.noRestrictionsHelp')}
        </Empty>
      }
    />
  );
}
