import { ActionIcon, Badge, Button, Group, Modal, Select, Slider, Stack, Switch, Text, Textarea } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { useClient, useQuery } from 'urql';
import type { AgentMemoryKind } from '../../gql/schema';
import { formatPercent, t } from '../../i18n';
import { type Column, DataTable } from '../../kit/DataTable';
import { deleteLater, useDeleted, without } from '../../kit/deletions';
import { Empty } from '../../kit/Empty';
import { FilterText } from '../../kit/FilterText';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { type Paged, usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import {
  AgentsCreateMemoryDocument,
  AgentsDeleteMemoryDocument,
  AgentsFoundMemoriesDocument,
  AgentsMemoriesDocument,
  AgentsUpdateMemoryDocument,
  type AgentMemoryFieldsFragment as Memory,
} from './agents.gql';
import { memoryKinds as kinds } from './search';

const route = getRouteApi('/shell/agents/$agentId');

// Memories has what an agent keeps: what everybody shares, and what is the person's own.
export function Memories({ agentId }: { agentId: string }) {
  const isEditor = useMay('EDITOR');
  const { q: query = '', kind = null } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useClient();
  const [form, setForm] = useState<Memory | 'new' | null>(null);
  const all = usePaged(AgentsMemoriesDocument, { agentId, kind }, (data) => data.agentMemories);
  const [found, search] = useQuery({ query: AgentsFoundMemoriesDocument, variables: { agentId, query, kind }, pause: query === '' });
  const results = found.data?.searchAgentMemories ?? [];
  const reload = () => {
    all.reload();
    if (query !== '') search({ requestPolicy: 'network-only' });
  };
  const shown: Paged<Memory> =
    query === ''
      ? all
      : {
          rows: results.map(({ memory }) => memory),
          total: null,
          loading: !found.data && !found.error,
          fetching: found.fetching,
          error: found.error,
          hasMore: false,
          more: () => {},
          reload,
        };
  const list = without(shown, useDeleted());
  const del = ({ id, content }: Memory) => deleteLater(client, AgentsDeleteMemoryDocument, { id, agentId }, { name: content });
  const columns: Column<Memory>[] = [
    {
      key: 'content',
      title: t('agents.memory.content'),
      cell: (memory) => (
        <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
          {memory.content}
        </Text>
      ),
    },
    { key: 'kind', title: t('agents.memory.kind'), from: 'sm', cell: (memory) => t(`agents.memory.kind.${memory.kind}`) },
    {
      key: 'shared',
      title: t('agents.memory.whose'),
      cell: (memory) => (
        <Badge variant="light" color={memory.shared ? 'blue' : 'gray'} tt="none">
          {memory.shared ? t('agents.memory.shared') : t('agents.memory.own')}
        </Badge>
      ),
    },
    {
      key: 'importance',
      title: t('agents.memory.importance'),
      from: 'md',
      align: 'right',
      cell: (memory) => formatPercent(memory.importance),
    },
    { key: 'recalled', title: t('agents.memory.recalled'), from: 'md', cell: (memory) => <When at={memory.recalledAt} /> },
    {
      key: 'actions',
      title: t('common.actions'),
      align: 'right',
      cell: (memory) =>
        (!memory.shared || isEditor) && (
          <Group gap={4} justify="flex-end" wrap="nowrap">
            <ActionIcon variant="subtle" color="gray" aria-label={`${t('common.edit')}: ${memory.content}`} onClick={() => setForm(memory)}>
              <Icon name="edit" size={16} />
            </ActionIcon>
            <ActionIcon variant="subtle" color="gray" aria-label={`${t('common.delete')}: ${memory.content}`} onClick={() => del(memory)}>
              <Icon name="trash" size={16} />
            </ActionIcon>
          </Group>
        ),
    },
  ];
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('agents.memory.help')}
      </Text>
      <Group align="flex-end">
        <FilterText
          label={t('agents.memory.find')}
          value={query}
          onChange={(q) => void navigate({ search: (old) => ({ ...old, q }), replace: true })}
        />
        <Select
          label={t('agents.memory.kind')}
          data={kinds.map((value) => ({ value, label: t(`agents.memory.kind.${value}`) }))}
          value={kind}
          onChange={(next) =>
            void navigate({ search: (old) => ({ ...old, kind: (next as AgentMemoryKind | null) ?? undefined }), replace: true })
          }
          placeholder={t('common.all')}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          w="11rem"
        />
        <Button onClick={() => setForm('new')} leftSection={<Icon name="plus" size={16} />}>
          {t('agents.memory.new')}
        </Button>
      </Group>
      <DataTable
        label={t('agents.tab.memories')}
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        empty={
          <Empty icon="agent" title={query ? t('agents.memory.noneFound') : t('agents.memory.none')}>
            {t('agents.memory.noneHelp')}
          </Empty>
        }
      />
      {form && (
        <MemoryForm
          agentId={agentId}
          memory={form === 'new' ? null : form}
          close={(saved) => {
            setForm(null);
            if (saved) reload();
          }}
        />
      )}
    </Stack>
  );
}

function MemoryForm({ agentId, memory, close }: { agentId: string; memory: Memory | null; close: (saved: boolean) => void }) {
  const isEditor = useMay('EDITOR');
  const [content, setContent] = useState(memory?.content ?? '');
  const [kind, setKind] = useState<AgentMemoryKind>(memory?.kind ?? 'FACT');
  const [importance, setImportance] = useState(memory?.importance ?? 0.5);
  const [shared, setShared] = useState(isEditor);
  const create = useAction(AgentsCreateMemoryDocument, { success: t('common.saved'), quiet: true });
  const update = useAction(AgentsUpdateMemoryDocument, { success: t('common.saved'), quiet: true });
  const error = create.error ?? update.error;
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const fields = { content, kind, importance };
    const saved = memory
      ? await update.run({ id: memory.id, agentId, input: fields })
      : await create.run({ agentId, input: { ...fields, shared } });
    if (saved) close(true);
  };
  return (
    <Modal
      opened
      onClose={() => close(false)}
      title={memory ? t('agents.memory.edit') : t('agents.memory.new')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <form ref={form} onSubmit={submit}>
        <Stack>
          {error && <ProblemNotice error={error} />}
          <Textarea
            label={t('agents.memory.content')}
            value={content}
            onChange={(event) => setContent(event.currentTarget.value)}
            required
            maxLength={4000}
            autosize
            minRows={3}
            maxRows={12}
            error={fieldError(error, 'content')}
            data-autofocus
          />
          <Select
            label={t('agents.memory.kind')}
            data={kinds.map((value) => ({ value, label: t(`agents.memory.kind.${value}`) }))}
            value={kind}
            onChange={(next) => setKind((next as AgentMemoryKind | null) ?? 'FACT')}
            allowDeselect={false}
          />
          <div>
            <Text size="sm" fw={500}>
              {t('agents.memory.importance')}: {formatPercent(importance)}
            </Text>
            <Slider
              thumbLabel={t('agents.memory.importance')}
              min={0}
              max={1}
              step={0.05}
              label={null}
              value={importance}
              onChange={setImportance}
            />
            <Text size="xs" c="dimmed" mt={4}>
              {t('agents.memory.importanceHelp')}
            </Text>
          </div>
          {!memory && (
            <Switch
              label={t('agents.memory.share')}
              description={isEditor ? t('agents.memory.shareHelp') : t('agents.memory.shareEditors')}
              checked={shared}
              disabled={!isEditor}
              onChange={(event) => setShared(event.currentTarget.checked)}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(false)}>
              {t('common.cancel')}
            </Button>
            <Button type="submit" loading={create.running || update.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
