import { Button, Group, MultiSelect, Stack, TagsInput, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../../api/errors';
import { t } from '../../../i18n';
import { ProblemNotice } from '../../../kit/Problem';
import { useAction } from '../../../kit/useAction';
import {
  DocumentsDirectoryGroupsDocument,
  DocumentsGroupsDocument,
  type DocumentsReaderFragment,
  DocumentsRestrictDocument,
} from './documents.gql';

interface Props {
  documentId: string;
  connectorId: string;
  // Who is named now.
  readers: DocumentsReaderFragment[];
  onDone: () => void;
}

// RestrictForm names the people, domains and groups to whom a document is restricted.
export function RestrictForm({ documentId, connectorId, readers, onDone }: Props) {
  const named = (kind: DocumentsReaderFragment['kind']) => readers.filter((reader) => reader.kind === kind);
  const [users, setUsers] = useState(named('USER').map(({ id }) => id));
  const [domains, setDomains] = useState(named('DOMAIN').map(({ id }) => id));
  const [groups, setGroups] = useState(named('GROUP').map(({ id }) => id));
  const [typed, setTyped] = useState('');
  const [matching] = useDebouncedValue(typed.trim(), 250);
  const [{ data }] = useQuery({ query: DocumentsGroupsDocument, variables: { connectorId, matching: matching || null } });
  const [directoryGroups, setDirectoryGroups] = useState(named('DIRECTORY_GROUP').map(({ id }) => id));
  const [typedDirectory, setTypedDirectory] = useState('');
  const [matchingDirectory] = useDebouncedValue(typedDirectory.trim(), 250);
  const [{ data: directory }] = useQuery({ query: DocumentsDirectoryGroupsDocument, variables: { matching: matchingDirectory || null } });
  const restrict = useAction(DocumentsRestrictDocument, { success: t('common.saved'), quiet: true });
  const [missing, setMissing] = useState(false);
  const problem = restrict.error ? problemOf(restrict.error) : null;
  const wrong = (field: string) => (problem?.field === field || problem?.field === `input.${field}` ? problem.message : undefined);
  const known = new Map([...named('GROUP'), ...(data?.sourceGroups.edges.map(({ node }) => node) ?? [])].map(({ id, name }) => [id, name]));
  const ofDirectory = new Map(
    [...named('DIRECTORY_GROUP'), ...(directory?.directoryGroups.edges.map(({ node }) => node) ?? [])].map(({ id, name }) => [id, name]),
  );
  const isShown = wrong('users') ?? wrong('domains') ?? wrong('groups') ?? wrong('directoryGroups');
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault();
        const isEmpty = users.length + domains.length + groups.length + directoryGroups.length === 0;
        setMissing(isEmpty);
        if (!isEmpty && (await restrict.run({ id: documentId, input: { users, domains, groups, directoryGroups } }))) onDone();
      }}
    >
      <Stack>
        <Text size="sm">{t('search.doc.restrictHelp')}</Text>
        <TagsInput
          data-autofocus
          label={t('search.doc.people')}
          description={t('search.doc.peopleHelp')}
          value={users}
          onChange={setUsers}
          maxTags={200}
          acceptValueOnBlur
          splitChars={[',', ' ', ';']}
          error={missing ? t('search.doc.nameOne') : wrong('users')}
        />
        <TagsInput
          label={t('search.doc.domains')}
          description={t('search.doc.domainsHelp')}
          value={domains}
          onChange={setDomains}
          maxTags={200}
          acceptValueOnBlur
          splitChars={[',', ' ', ';']}
          error={wrong('domains')}
        />
        {(known.size > 0 || typed !== '') && (
          <MultiSelect
            label={t('search.doc.groups')}
            searchable
            data={[...known].map(([value, label]) => ({ value, label }))}
            value={groups}
            onChange={setGroups}
            onSearchChange={setTyped}
            nothingFoundMessage={t('common.none')}
            error={wrong('groups')}
          />
        )}
        {(ofDirectory.size > 0 || typedDirectory !== '') && (
          <MultiSelect
            label={t('search.doc.directoryGroups')}
            searchable
            data={[...ofDirectory].map(([value, label]) => ({ value, label }))}
            value={directoryGroups}
            onChange={setDirectoryGroups}
            onSearchChange={setTypedDirectory}
            nothingFoundMessage={t('common.none')}
            error={wrong('directoryGroups')}
          />
        )}
        {restrict.error && !isShown && <ProblemNotice error={restrict.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={restrict.running}>
            {t('search.doc.restrict')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
