import { Fieldset, NumberInput, Radio, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useQuery } from 'urql';
import type { Problem } from '../../api/errors';
import { t } from '../../i18n';
import { dayOf } from '../../i18n/zone';
import { CollectionField, CollectionsField } from './CollectionsField';
import { isHostEntry } from './hosts';
import type { KeyDraft } from './keyDraft';
import { KeysModelsDocument } from './keys.gql';

interface Props {
  draft: KeyDraft;
  onChange: (draft: KeyDraft) => void;
  problem: Problem | null;
}

// KeyForm has the settings of a pair of keys, each with what it does.
export function KeyForm({ draft, onChange, problem }: Props) {
  const [{ data }] = useQuery({ query: KeysModelsDocument });
  const set = (change: Partial<KeyDraft>) => onChange({ ...draft, ...change });
  const error = (field: string) => (problem?.field === field ? problem.message : undefined);
  const badHost = draft.allowedHosts.find((entry) => !isHostEntry(entry));
  const models = (data?.chatModels ?? []).map(({ name }) => name);
  if (draft.widgetModelId && !models.includes(draft.widgetModelId)) models.push(draft.widgetModelId);
  return (
    <Stack>
      <TextInput
        label={t('common.name')}
        description={t('people.keys.nameHelp')}
        required
        maxLength={200}
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        error={error('name')}
        data-autofocus
      />
      <Radio.Group
        label={t('people.keys.reach')}
        description={t('people.keys.reachHelp')}
        value={draft.allowAllCollections ? 'all' : 'some'}
        onChange={(value) => set({ allowAllCollections: value === 'all' })}
      >
        <Stack gap={6} mt="xs">
          <Radio value="all" label={t('people.keys.reachAll')} />
          <Radio value="some" label={t('people.keys.reachSome')} />
        </Stack>
      </Radio.Group>
      {!draft.allowAllCollections && (
        <CollectionsField
          label={t('people.keys.collections')}
          required
          value={draft.allowedCollections}
          onChange={(ids) =>
            set({
              allowedCollections: ids,
              defaultCollection: draft.defaultCollection && ids.includes(draft.defaultCollection) ? draft.defaultCollection : null,
            })
          }
          error={error('allowedCollections')}
        />
      )}
      <CollectionField
        label={t('people.keys.defaultCollection')}
        description={t('people.keys.defaultCollectionHelp')}
        placeholder={t('people.keys.defaultCollectionNone')}
        value={draft.defaultCollection}
        onChange={(defaultCollection) => set({ defaultCollection })}
        among={draft.allowAllCollections ? undefined : draft.allowedCollections}
        error={error('defaultCollection')}
      />
      <Fieldset legend={t('people.keys.browser')}>
        <Stack gap="sm">
          <TagsInput
            label={t('people.keys.hosts')}
            description={t('people.keys.hostsHelp')}
            placeholder={draft.allowedHosts.length === 0 ? 'www.example.com' : undefined}
            required
            splitChars={[',', ' ']}
            data={[window.location.hostname, 'localhost', '*'].filter((host, n, all) => all.indexOf(host) === n)}
            value={draft.allowedHosts}
            onChange={(allowedHosts) => set({ allowedHosts })}
            error={error('allowedHosts') ?? (badHost ? t('people.keys.hostsBad', { entry: badHost }) : undefined)}
          />
          <TagsInput
            label={t('people.keys.referers')}
            description={t('people.keys.referersHelp')}
            placeholder={draft.allowedReferers.length === 0 ? 'https://www.example.com/docs' : undefined}
            splitChars={[',', ' ']}
            value={draft.allowedReferers}
            onChange={(allowedReferers) => set({ allowedReferers })}
            error={error('allowedReferers')}
          />
        </Stack>
      </Fieldset>
      <Fieldset legend={t('people.keys.server')}>
        <Stack gap="sm">
          <Switch
            label={t('people.keys.signature')}
            description={t('people.keys.signatureHelp')}
            checked={draft.requireSignature}
            onChange={(event) => set({ requireSignature: event.currentTarget.checked })}
          />
          <Switch
            label={t('people.keys.databases')}
            description={t('people.keys.databasesHelp')}
            checked={draft.databaseTools}
            onChange={(event) => set({ databaseTools: event.currentTarget.checked })}
          />
        </Stack>
      </Fieldset>
      <Fieldset legend={t('people.keys.answers')}>
        <Stack gap="sm">
          <Select
            label={t('people.keys.model')}
            description={models.length === 0 ? t('people.keys.modelNone') : t('people.keys.modelHelp')}
            placeholder={t('people.keys.modelDefault')}
            data={models}
            value={draft.widgetModelId}
            onChange={(widgetModelId) => set({ widgetModelId })}
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            disabled={models.length === 0}
            error={error('widgetModelId')}
          />
          <Textarea
            label={t('people.keys.context')}
            description={t('people.keys.contextHelp')}
            autosize
            minRows={2}
            maxRows={8}
            maxLength={8000}
            value={draft.widgetContext}
            onChange={(event) => set({ widgetContext: event.currentTarget.value })}
            error={error('widgetContext')}
          />
        </Stack>
      </Fieldset>
      <Fieldset legend={t('people.keys.limits')}>
        <Stack gap="sm">
          <NumberInput
            label={t('people.keys.rate')}
            description={t('people.keys.rateHelp')}
            placeholder={t('people.keys.rateDefault')}
            min={0}
            max={1_000_000}
            allowDecimal={false}
            hideControls
            value={draft.rateLimitPerMinute ?? ''}
            onChange={(value) => set({ rateLimitPerMinute: value === '' ? null : Number(value) })}
            error={error('rateLimitPerMinute')}
          />
          <TextInput
            type="date"
            label={t('people.keys.expires')}
            description={t('people.keys.expiresHelp')}
            min={dayOf(Date.now())}
            value={draft.expiresOn}
            onChange={(event) => set({ expiresOn: event.currentTarget.value })}
            error={error('expiresAt')}
          />
        </Stack>
      </Fieldset>
    </Stack>
  );
}
