import { Alert, Button, Group, List, Loader, Modal, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { formatTime, t } from '../../../i18n';
import { confirm } from '../../../kit/confirm';
import { Facts } from '../../../kit/Facts';
import { Icon } from '../../../kit/Icon';
import { ProblemNotice } from '../../../kit/Problem';
import { When } from '../../../kit/Time';
import { useAction } from '../../../kit/useAction';
import { WhyVisible } from '../WhyVisible';
import { type DocumentsReaderFragment, DocumentsReadersDocument, DocumentsUnrestrictDocument } from './documents.gql';
import { RestrictForm } from './RestrictForm';

interface Props {
  documentId: string;
  connectorId: string;
  onChanged: () => void;
}

// Readers shows to administrators who may read a document: at its source and by a restriction, which they make and end here.
export function Readers({ documentId, connectorId, onChanged }: Props) {
  const [first, setFirst] = useState(50);
  const [editing, setEditing] = useState(false);
  const [{ data, error, fetching }, again] = useQuery({ query: DocumentsReadersDocument, variables: { documentId, first } });
  const end = useAction(DocumentsUnrestrictDocument, { success: t('search.doc.unrestricted') });
  const changed = () => {
    again({ requestPolicy: 'network-only' });
    onChanged();
  };
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const { mode, everyone, readers, readerCount, restriction, readersReadAt, groupsReadAt } = data.documentReaders;
  const unrestrict = async () => {
    const question = { title: t('search.doc.unrestrict'), body: t('search.doc.unrestrictHelp'), action: t('search.doc.unrestrict') };
    if ((await confirm(question)) && (await end.run({ id: documentId }))) changed();
  };
  return (
    <Stack gap="lg">
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('search.doc.restriction')}
        </Title>
        {restriction ? (
          <Alert variant="light" color="yellow" icon={<Icon name="lock" />} title={t('search.doc.isRestricted')}>
            <Stack gap="xs">
              <ReaderList readers={restriction.readers} />
              <Text size="sm" className="wrap">
                {t('search.doc.restrictedBy', { actor: restriction.restrictedBy ?? '–', time: formatTime(restriction.restrictedAt) })}
              </Text>
            </Stack>
          </Alert>
        ) : (
          <Text size="sm">{t('search.doc.notRestricted')}</Text>
        )}
        <Group gap="xs">
          <Button variant="default" leftSection={<Icon name="lock" size={16} />} onClick={() => setEditing(true)}>
            {restriction ? t('search.doc.changeRestriction') : t('search.doc.restrict')}
          </Button>
          {restriction && (
            <Button variant="default" onClick={() => void unrestrict()} loading={end.running}>
              {t('search.doc.unrestrict')}
            </Button>
          )}
        </Group>
      </Stack>
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('search.doc.atSource')}
        </Title>
        <Text size="sm">
          {everyone
            ? t('search.doc.everyone')
            : readerCount === 0
              ? t('search.doc.nobody')
              : t('search.doc.readerCount', { count: readerCount })}
        </Text>
        <ReaderList readers={readers} />
        {readers.length < readerCount && first < 200 && (
          <Button size="xs" variant="default" loading={fetching} onClick={() => setFirst(200)} style={{ alignSelf: 'flex-start' }}>
            {t('common.more')}
          </Button>
        )}
        <Facts
          items={[
            { label: t('search.doc.mode'), value: mode },
            { label: t('search.visible.readersRead'), value: readersReadAt && <When at={readersReadAt} /> },
            { label: t('search.visible.groupsRead'), value: groupsReadAt && <When at={groupsReadAt} /> },
          ]}
        />
      </Stack>
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('search.readers')}
        </Title>
        <WhyVisible documentId={documentId} />
      </Stack>
      <Modal
        opened={editing}
        onClose={() => setEditing(false)}
        title={t('search.doc.restrict')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {editing && (
          <RestrictForm
            documentId={documentId}
            connectorId={connectorId}
            readers={restriction?.readers ?? []}
            onDone={() => {
              setEditing(false);
              changed();
            }}
          />
        )}
      </Modal>
    </Stack>
  );
}

// ReaderList names people, domains and groups.
export function ReaderList({ readers }: { readers: DocumentsReaderFragment[] }) {
  if (readers.length === 0) return null;
  return (
    <List size="sm">
      {readers.map(({ kind, id, name, members }) => (
        <List.Item key={`${kind} ${id}`} className="wrap">
          {kind === 'USER' ? name : t(`search.reader.${kind}`, { name })}
          {members != null && ` (${t('search.doc.members', { count: members })})`}
        </List.Item>
      ))}
    </List>
  );
}
