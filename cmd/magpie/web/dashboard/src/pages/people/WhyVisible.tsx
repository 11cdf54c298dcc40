import { Alert, Button, Group, List, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useQuery } from 'urql';
import { formatTime, t } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { PeopleDocumentDocument, PeopleDocumentsDocument, PeopleWhyVisibleDocument } from './people.gql';

const idForm = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

// WhyVisible says whether a person finds a document, and by which rule. Both are in the address.
export function WhyVisible() {
  const navigate = useNavigate();
  const search = useSearch({ from: '/shell/people' });
  const [user, setUser] = useState(search.user ?? '');
  const [document, setDocument] = useState<string | null>(search.document ?? null);
  const asked = search.user && search.document ? { user: search.user, documentId: search.document } : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (document) void navigate({ to: '/people', search: { tab: 'why', user: user.trim(), document } });
  };
  return (
    <Stack className="narrow" style={{ marginInline: 0 }}>
      <Text size="sm">{t('people.whyHelp')}</Text>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            type="email"
            label={t('people.whyPerson')}
            description={t('people.whyPersonHelp')}
            required
            value={user}
            onChange={(event) => setUser(event.currentTarget.value)}
          />
          <DocumentField value={document} onChange={setDocument} />
          <Group>
            <Button type="submit" disabled={!document}>
              {t('people.whyAsk')}
            </Button>
          </Group>
        </Stack>
      </form>
      {asked && <Reason {...asked} />}
    </Stack>
  );
}

// DocumentField chooses a document by its title or path, or takes an id: administrators may ask about documents that they
// cannot read themselves.
function DocumentField({ value, onChange }: { value: string | null; onChange: (id: string | null) => void }) {
  const [text, setText] = useState('');
  const [matching] = useDebouncedValue(text.trim(), 250);
  const [{ data }] = useQuery({ query: PeopleDocumentsDocument, variables: { matching: matching || null } });
  const [{ data: one }] = useQuery({ query: PeopleDocumentDocument, variables: { id: value ?? '' }, pause: !value });
  const choices = new Map<string, string>();
  for (const edge of data?.documents.edges ?? []) if (edge?.node) choices.set(edge.node.id, edge.node.title || edge.node.path);
  if (value && !choices.has(value)) choices.set(value, one?.document.id === value ? one.document.title || one.document.path : value);
  if (idForm.test(text.trim()) && !choices.has(text.trim())) choices.set(text.trim(), text.trim());
  return (
    <Select
      label={t('people.whyDocument')}
      description={t('people.whyDocumentHelp')}
      required
      allowDeselect={false}
      searchable
      searchValue={text}
      onSearchChange={setText}
      filter={({ options }) => options}
      data={[...choices].map(([id, label]) => ({ value: id, label }))}
      value={value}
      onChange={onChange}
      nothingFoundMessage={t('people.whyNoDocument')}
    />
  );
}

function Reason({ user, documentId }: { user: string; documentId: string }) {
  const [{ data, error, fetching }, again] = useQuery({
    query: PeopleWhyVisibleDocument,
    variables: { user, documentId },
    requestPolicy: 'network-only',
  });
  if (error) return <ProblemNotice error={error} retry={() => again()} />;
  const why = data?.whyVisible;
  if (!why || fetching) return <Text role="status">{t('common.loading')}</Text>;
  return (
    <Alert
      variant="light"
      color={why.visible ? 'green' : 'red'}
      icon={<Icon name={why.visible ? 'eye' : 'lock'} />}
      title={why.visible ? t('people.whyYes', { user: why.user }) : t('people.whyNo', { user: why.user })}
      role="status"
    >
      <Stack gap="xs">
        <Text size="sm">{t(`people.rule.${why.rule}`)}</Text>
        <Text size="sm" lang="en" className="wrap">
          {why.explanation}
        </Text>
        {why.groups.length > 0 && (
          <>
            <Text size="sm" fw={500}>
              {t('people.whyPath')}
            </Text>
            <List type="ordered" size="sm">
              {why.groups.map((group) => (
                <List.Item key={group.id}>{group.name || group.id}</List.Item>
              ))}
            </List>
          </>
        )}
        <Facts
          columns={2}
          items={[
            { label: t('people.readersRead'), value: why.readersReadAt ? formatTime(why.readersReadAt) : t('common.never') },
            { label: t('people.groupsRead'), value: why.groupsReadAt ? formatTime(why.groupsReadAt) : t('common.never') },
          ]}
        />
      </Stack>
    </Alert>
  );
}
